"""Compares an output with its input by what ffprobe and ffmpeg find in both, and with the notes that the program
printed. No code of the product is used. judge() returns faults as sentences. An empty list means that the output is
right.

The rules:

- A note must name each difference, and each note must name a difference. NAMED_BY has the words.
- The output has as many frames as ffmpeg decodes from the input, in the same order. Frames that an edit list hides do
  not count.
- All times count from the first frame that is shown. So a file may begin at 4 s and its output at 0. But
  sound, texts and chapters keep their distance from the picture. Times may differ by 1.1 ms: Matroska rounds to 1 ms.
- Jumps (more than 10 s forward, or backward) stay in picture and sound, or are closed in both with a note. Sound
  belongs to the frames around it: between two jumps it keeps its distance from them.
- A frame that has the time of its predecessor may be anywhere before the next frame. All others keep their times.
- Copied sound has the same packets. If headers within packets change (ADTS), it decodes to the same samples. Any sound
  must be where it was to 3 ms (8 ms if it is Opus or coded again, one packet and one picture after a jump). Correlation finds it. The
  lead-in of an encoder may precede it.
- Sizes and pixel aspects are those shown to viewers, upright. Added rows and columns are a difference.
- bt470bg and smpte170m are the same matrix. An unknown range is the usual one of the pixel format, an unknown place of
  chroma is "left". Colours of RGB are not compared with colours of YUV: the pixels are.
- The lossless profile keeps each bit of the pixels. Others keep a mean PSNR of at least 26 dB in RGB, or in luma if
  chroma is lost. If there is a reference encoding, they stay within 0.5 dB of it.
- An error is honest if ffmpeg complains when it plays the file, if fewer packets are there than the header announces,
  or if nothing can be decoded. What can be decoded must be in a partial output.
"""

import re

import numpy
from inspection import Inspection
from judge_picture import frame_differences, pixel_differences, quality_differences, shape_differences, side_differences
from judge_sound import sound_differences
from judge_streams import LEFT_OUT, stream_differences, text_differences

# Words of notes that name a kind of difference.
NAMED_BY = {
    "frames": r"first picture|cut off|damaged",
    "times": r"\btimes?\b",
    "jump": r"jump|gap|discontinu|go(es)? back|backward|forward",
    "size": r"\bsizes?\b|scaled|padd|black pixels|\b(rows?|columns?)\b|enlarged|border",
    "aspect": r"aspect|pixel shape",
    "rotation": r"rotat|display matrix|turned|degrees",
    "pixels": r"pixels are (coded|taken|converted)",
    "transparency": r"transparency|\b(BGRA|RGBA|ARGB|ABGR|AYUV|A420\w*|A4\w+|RGBA64_LE) pixels are",
    "range": r"range|\bpixels are (coded|taken)",
    "matrix": r"matrix|colou?r",
    "transfer": r"transfer|curve|colou?r",
    "primaries": r"primaries|colou?r",
    "chroma": r"chroma",
    "light": r"mastering display|light",
    "fields": r"\bfields?\b|interlac",
    "captions": r"caption|A53",
    "sound codec": r"sound is encoded",
    "sound": r"sound",
    "sound offset": r"^\b$",  # no note excuses it
    "chapters": r"chapter",
    "timecode": r"time ?code",
    "tags": r"\btags?\b|metadata",
    "text codec": r"track of subtitles is encoded|subtitle",
    "texts": r"subtitle",
    "quality": r"^\b$",
}


def differences(before, after, profile="mp4", notes=(), reference=None):
    """All differences, whether a note names them or not. The files may be names or Inspections."""
    before, after = (one if isinstance(one, Inspection) else Inspection(one) for one in (before, after))
    return [*frame_differences(before, after), *shape_differences(before, after), *pixel_differences(before, after,
                                                                                                     profile),
            *side_differences(before, after), *sound_differences(before, after), *stream_differences(before, after,
                                                                                                     notes),
            *text_differences(before, after), *quality_differences(before, after, profile, reference)]


def names_kind(note, kind):
    pattern = NAMED_BY.get(kind, re.escape(kind))
    return re.search(pattern, note, re.I) and ("left out" not in note or kind not in ("sound", "texts"))


def judge(before, after, notes=(), profile="mp4", reference=None):
    """Faults of an output: differences that no note names, and notes that name no difference."""
    before, after = (one if isinstance(one, Inspection) else Inspection(one) for one in (before, after))
    found = differences(before, after, profile, notes, reference)
    faults = [f"silent: {one.text}" for one in found if not any(names_kind(note, one.kind) for note in notes)]
    for note in notes:
        if not any(names_kind(note, one.kind) for one in found) and not is_true(note, before, after):
            faults.append(f"false note: {note}")
    return faults


def is_true(note, before, after):
    """Whether a note is right without a difference: of a stream that is left out (stream_differences counts them), of a
    header that announces more packets than there are, or of frames with equal times."""
    if "left out" in note and any(re.search(words, note) for words in LEFT_OUT.values()):
        return True
    stated = int(before.picture.get("nb_frames", 0))
    packets = sum(int(packet.get("size", 0)) > 0 for packet in before.packets(before.picture))
    if "header" in note and stated != packets:
        return True
    return bool(re.search(NAMED_BY["times"], note)) and bool((numpy.diff(before.times) < 1e-6).any())


def judge_refusal(before, problem, partial=None, holdable=True, whole=False):
    """Faults of an error: the input plays whole, or what can be decoded is not in the partial output. `holdable`: False
    where the profile may refuse the input. `whole`: nothing lacks, whatever ffmpeg complains of."""
    faults = []
    if re.search(r"Traceback|fault of this program|no frame within", problem):
        lines = [line for line in problem.replace("\\n", "\n").splitlines()
                 if re.match(r"\w+(\.\w+)*(Error|Exception)\b", line)]
        faults.append(f"no clear error: {(lines or [problem.strip()])[-1]}")
    if not before.frames:
        return faults
    lacks = int(before.picture.get("nb_frames", 0)) > len(before.packets(before.picture))
    if whole or holdable and not before.complaints and not lacks:
        faults.append(f"refused though ffmpeg plays it whole: {problem}")
    elif partial and holdable:
        written = len(Inspection(partial).frames)
        if written != len(before.frames):
            faults.append(f"the partial output has {written} of {len(before.frames)} frames")
    elif holdable:
        faults.append(f"no partial output, though {len(before.frames)} frames can be decoded")
    return faults
