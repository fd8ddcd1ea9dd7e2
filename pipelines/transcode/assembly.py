#!/usr/bin/python3
"""Joins the segments of a file, which its manifest lists, into the `outputs` that job.py makes. Nothing is decoded or encoded
again. Sound and all other streams come from the source, as in a run over the whole file. An output that is not whole has
.partial in its name."""

import contextlib
import json
import os
import subprocess
import sys
import time
import types
from fractions import Fraction
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import job  # noqa: E402  (after the path)
import shapes  # noqa: E402
import timeline  # noqa: E402
from decoding import av  # noqa: E402
from exports import WRITERS  # noqa: E402
from manifest import Manifest  # noqa: E402
from probe import QUIET, input_of, last_line  # noqa: E402
from tracks import Tracks  # noqa: E402

WARM = '{"frame":-'  # the beginning of a line for a frame of the warm-up


class Assembly(job.Job):
    def transcode(self):
        known = Manifest(self.settings["outputs"])
        segments = [known.segment(number)["done"] | {"files": known.files(number)}
                    for number in range(len(known.spans))]
        self.started = time.monotonic()
        self.input.begin_at(known.spans[0]["first"] * Fraction(known.spans[0]["base"]))
        lost = [segment["lost"] for segment in segments if segment["lost"]]
        self.decoder = types.SimpleNamespace(
            frames=sum(segment["frames"] for segment in segments), problem=lost[0] if lost else None,
            damaged=sum(segment["damaged"] for segment in segments), rate=self.input.rate or 25, notes=list,
            timeline=timeline.Timeline())
        self.frames, self.end = self.decoder.frames, segments[-1]["end"]
        self.colors, self.ratio = segments[0]["colors"], Fraction(segments[0]["ratio"])
        self.shapes = [segment["shapes"] for segment in segments]
        for number, (one, other) in enumerate(zip(segments, segments[1:])):
            if one["sums"][1] != other["sums"][0] and not self.decoder.damaged and not lost:
                self.problem = (f"its pictures depend on where decoding begins (after segment {number}): --exact takes"
                                " it in one segment")
                return
        if "video" in self.files:
            self.picture = listed(segments, "video")
        if "labels" in self.files:
            write_labels(listed(segments, "labels"), self.files["labels"].fd)
        self.write_tables(segments)

    def lost_captions(self):
        return None  # each segment reports its own

    def shape_changes(self):
        return shapes.note(*shapes.joined(self.shapes))

    def write_tables(self, segments):
        with contextlib.ExitStack() as opened:
            writers = {kind: opened.enter_context(contextlib.closing(WRITERS[kind](file.fd, file.path)))
                       for kind, file in self.files.items() if kind in WRITERS}
            masks = writers.pop("coco-rle", None)
            if not writers and not masks:
                return
            tracks, before, jsonl = Tracks(), 0, writers.get("jsonl")
            for segment in segments:
                with open(segment["files"]["jsonl"], encoding="utf-8") as file:
                    lines = list(file)
                warm = [line for line in lines if line.startswith(WARM)]
                tracks.begin([json.loads(line) for line in warm if is_followed(line)])
                for number, line in enumerate(lines[len(warm):], before):
                    if is_followed(line) or writers.keys() - {"jsonl"}:
                        table = json.loads(line) | {"frame": number}
                        tracks.rename(table)
                        for writer in writers.values():
                            writer.add(table)
                    elif jsonl:
                        jsonl.copy(line, number)
                if masks:
                    masks.append(segment["files"]["coco-rle"], before, tracks.names)
                before += segment["frames"]


def is_followed(line):
    """Whether a line of JSON holds tracks and must be parsed. Parsing and writing each line takes a tenth of the time of the
    transcoding, on the single machine that joins."""
    return '"first-seen"' in line or '"last-track"' in line


def listed(segments, kind):
    """ffmpeg's options for an input: the videos of all segments, one after another, as a list for ffmpeg's concat reader. That
    list names them by /proc/…/fd, because a # in a path would end an address. Each segment begins at its time in the
    whole file, whatever time its own file says (MP4: 0)."""
    paths = [segment["files"][kind] for segment in segments]
    coded = set()
    for path in paths:
        with av.open("file:" + path) as file:
            coded.add(file.streams.video[0].codec_context.extradata)
    if len(coded) > 1:
        raise OSError(0, "its segments are coded in different ways: --exact transcodes it in one segment")
    micros = [segment["begin"] // 1000 for segment in segments]
    folder = os.open(os.path.dirname(paths[0]), os.O_RDONLY | os.O_CLOEXEC)
    open_files = f"/proc/{os.getpid()}/fd"
    list_of_them = os.memfd_create("segments")
    with open(list_of_them, "w", encoding="utf-8", closefd=False) as file:
        file.write("ffconcat version 1.0\n")
        for part, begin, end in zip(paths, micros, [*micros[1:], None]):
            file.write(f"file {open_files}/{folder}/{os.path.basename(part)}\n")
            if end is not None:
                file.write(f"duration {end - begin}us\n")
    return ["-f", "concat", "-safe", "0", "-auto_convert", "0", "-i", input_of(f"{open_files}/{list_of_them}")]


def write_labels(words, fd):
    made = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *words, "-map", "0:v", "-c", "copy", "-fflags",
                           "+bitexact", "-disposition:v:0", "default", "-f", "matroska", f"/proc/self/fd/{fd}"],
                          stderr=subprocess.PIPE, pass_fds=(fd,), check=False, **QUIET)
    if made.returncode:
        raise OSError(0, f"its label videos cannot be joined: {last_line(made.stderr)}")


if __name__ == "__main__":
    sys.exit(job.main(int(sys.argv[1]), sys.argv[2], Assembly))
