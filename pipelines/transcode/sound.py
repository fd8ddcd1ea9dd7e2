"""How the sound of an input gets into the output: copied if the container holds it and players play it there, else
encoded. Each way is tried with one frame, because the pictures would be encoded in vain if it failed later."""

import os
import subprocess

from probe import QUIET, input_of, last_line, probed

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


def attempt(source, stream, options, container):
    """Writes the first frame of a stream in this way. Returns why ffmpeg cannot do that, or None, and the number of channels
    that were written."""
    scratch = os.memfd_create("sound")
    path = f"/proc/{os.getpid()}/fd/{scratch}"
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", input_of(source.path), "-map", f"0:{stream['index']}", "-c:0",
               *numbered(options, 0), "-frames:0", "1", "-f", container, path]
    try:
        tried = subprocess.run(command, stderr=subprocess.PIPE, check=False, **QUIET)
        if tried.returncode:
            return last_line(tried.stderr), 0
        if options[0] == "copy" or int(stream.get("channels", 2)) <= 2:
            return None, stream.get("channels")
        return None, probed(path, "-show_entries", "stream=channels")["streams"][0]["channels"]
    finally:
        os.close(scratch)


def way_of(source, stream, profile):
    """ffmpeg's codec and options for a stream, and a sentence on how it changes. Either may be None."""
    codec = stream.get("codec_name", "unknown")
    reason = profile.sound_reason
    if profile.sound is None or codec in profile.sound:
        options = ["copy", *(["-strict", "experimental"] if codec in profile.experimental_sound else [])]
        reason, _ = attempt(source, stream, options, profile.container)
        if not reason:
            return options, None
    options = encoding(stream, profile)
    why, channels = attempt(source, stream, options, profile.container)
    if why:
        return None, f"its sound ({codec}) is left out: {why}"
    before = stream.get("channels")
    mixed = f", {before} channels mixed into {channels}" if before and channels < before else ""
    return options, f"its {codec} sound is encoded as {options[0]}{mixed}: {reason}"
