"""The sound of a clip, taken over packet by packet by ffmpeg.

GStreamer 1.22 cannot: uritranscodebin encodes sound anew even with avoid-reencoding, and qtdemux holds
back packets that an MP4's edit list hides (the lead-in of AAC, and the last packet: 172 of 174), so no
muxer behind it can write them. ffmpeg copies all of them, and the edit list with them.
"""

import json
import subprocess

QUIET = {"stdin": subprocess.DEVNULL, "text": True, "errors": "replace"}


class SoundProblem(Exception):
    """The sound could not be kept; the message says why."""


def streams(path):
    """What ffprobe knows of a file: ([codec of each audio stream], seconds that the picture begins
    after the file does, seconds that the picture lasts or 0). No ffprobe, no knowledge: then a
    SoundProblem."""
    try:
        probe = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries",
             "stream=codec_type,codec_name,start_time,duration,nb_frames,avg_frame_rate"
             ":format=start_time", "-of", "json", input_of(path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **QUIET)
    except FileNotFoundError as missing:
        raise SoundProblem("ffmpeg, which copies the sound, is not installed") from missing
    if probe.returncode != 0:
        raise SoundProblem(f"ffprobe cannot read it: {last_line(probe.stderr)}")
    found = json.loads(probe.stdout)
    start = float(found.get("format", {}).get("start_time", 0))
    kinds = {"audio": [], "video": []}
    for stream in found.get("streams", []):
        kinds.setdefault(stream.get("codec_type"), []).append(stream)
    picture = kinds["video"][0] if kinds["video"] else {}
    delay = float(picture.get("start_time", start)) - start
    top, bottom = map(int, picture.get("avg_frame_rate", "0/0").split("/"))
    counted = int(picture.get("nb_frames", 0)) * bottom / top if top else 0.0
    length = max(counted, float(picture.get("duration", 0)))
    return [stream.get("codec_name", "unknown") for stream in kinds["audio"]], max(delay, 0.0), length


def input_of(path):
    """As ffmpeg takes a file whatever its name is: else `-x` is an option and `concat:a|b` two files."""
    return "file:" + path


def add(picture, source, codecs, delay, profile, out):
    """Starts ffmpeg, which joins the finished picture and the sound of the source; `picture` and `out`
    are file descriptors.

    Returns the process and a sentence on each stream that had to be encoded."""
    container = profile.suffix[1:]
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-itsoffset", f"{delay:.6f}", "-i",
               f"/proc/self/fd/{picture}", "-i", input_of(source), "-map", "0:v", "-map", "1:a", "-map_metadata", "1",
               "-map_chapters", "1", "-c", "copy",
               # The lead-in of sound stands before time 0; all else would move by it.
               "-avoid_negative_ts", "disabled"]
    notes = []
    for number, codec in enumerate(codecs):
        if profile.sound is not None and codec not in profile.sound:
            name, *options = profile.sound_encoder
            command += [f"-c:a:{number}", name, *options]
            notes.append(f"its {codec} sound is encoded as {name}: {container} files cannot hold it")
    command += ["-f", {"mkv": "matroska"}.get(container, container), f"/proc/self/fd/{out}"]
    # A process group of its own: Ctrl-C reaches the job, and the job ends it.
    return subprocess.Popen(command, stderr=subprocess.PIPE, process_group=0, pass_fds=(picture, out),
                            **QUIET), notes


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
