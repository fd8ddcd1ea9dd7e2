"""Calls ffprobe and reads its answers. This module imports little, because regions-transcode needs it while it starts."""

import contextlib
import fcntl
import json
import os
import subprocess

from files import unreadable

QUIET = {"stdin": subprocess.DEVNULL, "text": True, "errors": "replace"}
STREAMS = ("stream=index,codec_type,codec_name,codec_tag_string,start_time,duration,nb_frames,avg_frame_rate,"
           "r_frame_rate,sample_aspect_ratio,pix_fmt,channels,channel_layout,sample_rate,initial_padding:stream_tags:"
           "stream_disposition=attached_pic:stream_side_data:format=format_name,start_time,duration:format_tags")
BEGINNING = 8  # packets of all streams that ffprobe decodes; often two of the picture are among them
# FFmpeg's names of formats that contain no streams but names of other files.
LISTS = ("hls", "concat", "dash", "sdp", "imf")


class InputProblem(Exception):
    """The file cannot be used; the message says why."""


class Call:
    """A call of ffprobe for a file. It runs while its caller does other work."""

    def __init__(self, path, *options, waits=False):
        """`waits`: the file is read only when answer() is called. Until then, ffprobe loads its libraries, which takes 0.1 s."""
        reader, errors = os.pipe()
        if waits:
            fill(errors)
        level = "info" if waits else "error"
        try:
            self.process = subprocess.Popen(["ffprobe", "-v", level, "-of", "json", *options, input_of(path)],
                                            stdout=subprocess.PIPE, stderr=errors, **QUIET)
        except FileNotFoundError as missing:
            os.close(reader)
            raise InputProblem("ffprobe, a part of ffmpeg, is not installed: run pipelines/setup") from missing
        finally:
            os.close(errors)
        self.process.stderr = os.fdopen(reader, errors="replace")

    def close_files(self):
        """For a fork of this process, which does not read the answer."""
        self.process.stdout.close()
        self.process.stderr.close()

    def close(self):
        """Ends the call, unless answer() has returned."""
        self.process.kill()
        self.close_files()
        self.process.wait()

    def answer(self):
        """Waits for the end of the call. Returns what ffprobe printed."""
        with self.process:
            told, errors = self.process.communicate()
        if self.process.returncode != 0:
            raise InputProblem(f"holds no video that can be decoded here: {last_line(errors)}")
        return json.loads(told)


def fill(pipe):
    """Fills a pipe. First, ffprobe prints its banner to standard error, and waits if that is a full pipe. Then it opens the file.
    If this process ends, ffprobe ends, too."""
    os.write(pipe, b"\n" * fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1))


def look_ahead(path):
    """The first call of look() for an input of regions-transcode. None if it is left to the job, which reports problems."""
    with contextlib.suppress(InputProblem):
        return None if "%" in path or unreadable(path) else look_begun(os.path.abspath(path))


def probed(path, *options):
    return Call(path, *options).answer()


def look_begun(path):
    """The first call of look()."""
    return Call(path, "-read_intervals", f"%+#{BEGINNING}", "-show_entries", f"{STREAMS}:packet:frame", "-show_chapters")


def look(path, begun=None):
    """ffprobe's description of a file: its streams and format as `holds`, and its first frame as `frame`. `begun`: the result
    of look_begun(), if it was called earlier."""
    holds = (begun or look_begun(path)).answer()
    if (form := holds.get("format", {}).get("format_name")) in LISTS:
        raise InputProblem(f"is a list ({form}) of other files: name those files instead")
    stream, read = picture_of(holds)["index"], holds.pop("packets_and_frames", [])
    packets = [each.get("stream_index") for each in read if each["type"] == "packet"]
    has_enough = packets.count(stream) > 1 or len(packets) < BEGINNING
    frame = first_frame([each for each in read if each.get("stream_index") == stream]) if has_enough else None
    return {"holds": holds, "frame": frame or later_frame(path, stream)}


def first_frame(read):
    """The first frame among ffprobe's descriptions of the picture's packets and frames, or None."""
    # ISO/IEC 23001-7, in MP4
    if any(data.get("side_data_type") == "Encryption info" for each in read for data in each.get("side_data_list", [])):
        raise InputProblem("its video is encrypted: decrypt it first")
    return next((each for each in read if each.pop("type") == "frame"), None)


def later_frame(path, stream):
    """ffprobe's description of the first frame that can be decoded. Files that begin between key frames, or whose edit list
    hides the first pictures, have many earlier packets. For the time code of MPEG-2, two packets are needed."""
    for packets in (2, 50, 1000):
        if frame := first_frame(probed(path, "-select_streams", str(stream), "-read_intervals", f"%+#{packets}",
                                       "-show_entries", "packet:frame").get("packets_and_frames", [])):
            return frame
    return {}


def picture_of(holds):
    """The first video stream that is not a cover picture."""
    streams = holds.get("streams", [])
    for stream in streams:
        if stream.get("codec_type") == "video" and not stream.get("disposition", {}).get("attached_pic"):
            return stream
    raise InputProblem(f"holds no video stream: only {kinds_of(streams)}" if streams
                       else "holds no stream that FFmpeg recognises")


def kinds_of(streams):
    """The kinds of streams without a picture, such as "audio and a cover picture"."""
    words = {"video": "a cover picture", "subtitle": "subtitles", "attachment": "attachments", None: "unknown streams"}
    kinds = sorted({words.get(kind, kind) for kind in (stream.get("codec_type") for stream in streams)})
    return " and ".join(filter(None, (", ".join(kinds[:-1]), kinds[-1])))


def input_of(path):
    """A file's name for ffmpeg. Without the prefix, `-x` would be an option and `concat:a|b` two files."""
    return "file:" + path


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no reason was given"
