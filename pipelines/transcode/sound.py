"""How the sound of an input gets into the output: copied if the container holds it and players play it there, else
encoded. Each way is tried with one frame, because the pictures would be encoded in vain if it failed later."""

import os
import subprocess

from probe import QUIET, input_of, last_line

# Layouts of libopus, from which ffmpeg takes the nearest. It would drop the low frequencies of the layouts in WITH_LOW.
OPUS_LAYOUTS = "mono|stereo|3.0|quad|5.0|5.1|6.1|7.1"
WITH_LOW = {"2.1": "5.1", "3.1": "5.1"}
MAX_CHANNELS = 8  # of Opus and of AAC


def encoding(stream, profile):
    """ffmpeg's codec and options for a stream; {n} stands for its number in the output."""
    options = [profile.sound_encoder]
    channels = min(int(stream.get("channels", 2)), MAX_CHANNELS)
    if profile.sound_kbits:
        options += ["-b:{n}", f"{profile.sound_kbits * channels}k"]
    if profile.sound_encoder == "libopus":
        layouts = WITH_LOW.get(stream.get("channel_layout"), OPUS_LAYOUTS)
        options += ["-filter:{n}", f"aformat=channel_layouts={layouts}"]
    return options


def numbered(options, number):
    return [option.replace("{n}", str(number)) for option in options]


def refusal(source, stream, options, container):
    """Why ffmpeg cannot write the first frame of a stream in this way, or None."""
    scratch = os.memfd_create("sound")
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", input_of(source.path), "-map", f"0:{stream['index']}", "-c:0",
               *numbered(options, 0), "-frames:0", "1", "-f", container, f"/proc/self/fd/{scratch}"]
    try:
        tried = subprocess.run(command, stderr=subprocess.PIPE, pass_fds=(scratch,), check=False, **QUIET)
    finally:
        os.close(scratch)
    return last_line(tried.stderr) if tried.returncode else None


def way_of(source, stream, profile):
    """ffmpeg's codec and options for a stream, and a sentence on how it changes. Either may be None."""
    codec = stream.get("codec_name", "unknown")
    reason = profile.sound_reason
    if profile.sound is None or codec in profile.sound:
        options = ["copy", *(["-strict", "experimental"] if codec in profile.experimental_sound else [])]
        reason = refusal(source, stream, options, profile.container)
        if not reason:
            return options, None
    options = encoding(stream, profile)
    why = refusal(source, stream, options, profile.container)
    if why:
        return None, f"its sound ({codec}) is left out: {why}"
    return options, f"its {codec} sound is encoded as {options[0]}: {reason}"
