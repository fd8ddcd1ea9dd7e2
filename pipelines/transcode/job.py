"""Passes one file through a filter. The scripts do so in their own process. regions-transcode starts one process per input,
so that a crash of a decoder does not affect other inputs: run_job.py calls main() there.

Messages go to a file descriptor as JSON, one object per line: part, progress, note, problem, done. (Elements may print
to standard output.) The job ends when standard input is closed, and then leaves no file.
"""

import contextlib
import functools
import json
import os
import signal
import tempfile
import time

import filters
from files import Output, explain, partial_name
from gstreamer import GLib, Gst, GstVideo, error_text, first_structure, keep_thread_state, limit_threads, stop_at_faults
from transcode import encode, verify
from transcode.decode import (FILE_ERRORS, FIT, Decoder, expect_decoder, ratio_in, shape_note, shape_refusal, why_no_frame)
from transcode.event_lines import TABLES, writer_of
from transcode.exports import LabelVideo, SidecarProblem
from transcode.ffprobe import InputProblem, last_line
from transcode.probe import Input
from transcode.profiles import CONVERT, PROFILES, STILL
from transcode.verify import PacketCount

CAPTIONS = GstVideo.video_caption_meta_api_get_type()
PATIENCE = 120  # seconds for a frame


class Job:
    def __init__(self, source, outputs, filtered, profile, say, with_sound=True, accept_partial=False):
        """`outputs`: functions that open a file, by kind: "video", "labels", "jsonl", "csv", …. `filtered`: the filter as a
        bin. `say(progress=…)`, `say(note=…)`, … receives messages while the job runs."""
        self.source, self.filtered, self.with_sound = source, filtered, with_sound
        self.profile, self.say, self.outputs = profile, say, outputs
        self.accept_partial = accept_partial
        self.files, self.hint = {}, ""  # the hint says how to accept a damaged input
        self.rules = None  # the text of the rules, for the output "events"
        self.probed = None  # the result of ffprobe.look() for the source, if it is known
        self.threads = 0  # maximum for the decoder and for each element; 0: no maximum
        self.loop = GLib.MainLoop()
        self.problem, self.interrupted = None, False
        self.frames = self.end = self.captions = 0  # captions: frames with closed captions
        self.warnings, self.sidecars = [], []
        self.tail = self.colors = self.ratio = self.picture = None
        self.segment = None  # of the filter's output
        self.moved, self.started = time.monotonic(), None

    # The pipeline: appsrc ! chain (upright, filter) ! tail (encoder, muxer, file)

    def build(self):
        expect_decoder(self.input.picture)
        self.pipeline = Gst.Pipeline()
        if "labels" in self.files:
            self.pipeline.add(Gst.parse_bin_from_description(
                LabelVideo.BRANCH.format(self.files["labels"].fd), False))
            self.sidecars.append(LabelVideo(self.pipeline))
        for kind, file in self.files.items():
            if kind in TABLES:
                self.sidecars.append(table := writer_of(kind, file, self.rules))
                self.opened.callback(table.discard)
        # Pixels are turned here: few players turn Matroska and WebM, and ids must be upright.
        turn = self.input.turn
        flip = f"videoflip video-direction={turn} ! {CONVERT} ! " if turn else ""
        chain = Gst.parse_bin_from_description(
            "appsrc name=frames format=time block=true max-buffers=4 max-bytes=0 !"
            f" {CONVERT} ! {FIT} ! {flip}identity", True)
        self.pipeline.add(chain)
        limit_threads(chain, self.threads)
        self.decoder = self.decoder_to(chain.get_by_name("frames"))
        self.decoder.threads, self.decoder.fitted = self.threads, chain.get_by_name("fitted")
        self.decoder.refuse_changes = self.refusal_of_changes()
        self.probe = self.filtered.srcpads[0].add_probe(
            Gst.PadProbeType.BUFFER | Gst.PadProbeType.EVENT_DOWNSTREAM, self.see_filtered)
        self.add(self.filtered, chain.srcpads[0])

    def decoder_to(self, appsrc):
        return Decoder(self.input, appsrc)

    def refusal_of_changes(self):
        """A function that ends the job because the shape of pictures changes; None if they can be scaled."""
        holder = ("a label video" if "labels" in self.files else
                  self.profile.meaning.split(',')[0] if "video" in self.files and self.profile.exact else None)
        return holder and (lambda: self.stop(shape_refusal(self.decoder.shapes, holder)))

    def add(self, part, pad):
        limit_threads(part, self.threads)
        self.pipeline.add(part)
        part.sync_state_with_parent()
        pad.link(part.sinkpads[0])

    def tail_for(self, caps):
        if "video" not in self.files:
            return Gst.parse_bin_from_description("fakesink", True)
        decoded = first_structure(self.decoder.first_caps)
        self.ratio = ratio_in(caps)
        made, self.colors, changes = encode.tail(caps, decoded, self.input, self.profile, self.files["video"].fd)
        for change in changes:
            self.say(note=change)
        return made

    # Called by streaming threads

    def see_filtered(self, pad, info):
        keep_thread_state()
        try:
            if info.type & Gst.PadProbeType.BUFFER:
                return self.see_frame(pad, info.get_buffer())
            elif info.get_event().type == Gst.EventType.CAPS and not self.tail:
                self.tail = self.tail_for(first_structure(info.get_event().parse_caps()))
                self.add(self.tail, pad)
            elif info.get_event().type == Gst.EventType.SEGMENT:
                self.segment = info.get_event().parse_segment()
            elif info.get_event().type == Gst.EventType.EOS:
                for sidecar in self.sidecars:
                    sidecar.close()
        except (SidecarProblem, OSError, GLib.Error) as problem:
            self.stop(explain(problem))
            return Gst.PadProbeReturn.DROP
        return Gst.PadProbeReturn.OK

    def see_frame(self, pad, buffer):
        self.moved = time.monotonic()
        self.started = self.started or self.moved
        at = self.segment.to_running_time(Gst.Format.TIME, buffer.pts)
        for sidecar in self.sidecars:
            sidecar.write(self.frames, at, buffer, pad.get_current_caps())
        self.frames += 1
        if self.decoder.captions and self.profile.captions and buffer.get_meta(CAPTIONS):
            self.captions += 1
        self.end = max(self.end, at + self.decoder.frame_time)
        return Gst.PadProbeReturn.OK

    # Called by the main thread

    def stop(self, problem=None):
        """Can be called by any thread, also before the loop runs."""
        self.problem = self.problem or problem
        GLib.idle_add(self.loop.quit)

    def interrupt(self, *_):
        self.interrupted = True
        self.stop("interrupted")
        return False

    def on_message(self, _bus, message):
        if message.type == Gst.MessageType.EOS:
            self.stop()
        elif message.type == Gst.MessageType.WARNING:
            self.warnings.append(message.parse_warning()[0].message)
        elif message.type == Gst.MessageType.ERROR:
            self.stop(error_text(message, self.files.values()))

    def tick(self):
        now = time.monotonic()
        if self.decoder.has_ended_without_frame:
            self.stop()  # why_empty() finds the problem
        elif now - self.moved > PATIENCE:
            decoded = self.decoder.frames
            self.stop(f"no frame left the filter for {PATIENCE} s: {decoded} frames were decoded, {self.frames} filtered"
                      if decoded else f"no frame could be decoded within {PATIENCE} s")
        if self.started:
            rate = self.frames / max(now - self.started, 1e-3)
            total = self.expected()
            self.say(progress={"frame": self.frames, "of": max(total, self.frames) if total else 0, "rate": rate})
        return True

    def why_empty(self):
        """The problem of a job without a frame at the end of the pipeline."""
        if self.decoder.frames:
            return f"the filter dropped all {self.decoder.frames} frames"
        return f"holds no video frame that can be decoded: {self.decoder.problem or why_no_frame(self.input)}"

    def expected(self):
        """The approximate number of frames; 0 if it is unknown."""
        return round(self.input.length * self.decoder.rate)

    def run(self):
        stop_at_faults(self.stop)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.interrupt)
        try:
            with contextlib.ExitStack() as self.opened:
                self.transcode_and_keep()
        except (InputProblem, GLib.Error, *FILE_ERRORS) as problem:
            self.problem = explain(problem)
        for text in dict.fromkeys(self.warnings):
            count = self.warnings.count(text)
            self.say(note=f"{text} ({count} times)" if count > 1 else text)
        if self.problem:
            self.say(problem=self.problem)
        return 130 if self.interrupted else 1 if self.problem else 0

    def open(self, kind):
        """Opens an output. run() removes it at its end unless it was kept."""
        self.files[kind] = self.opened.enter_context(self.outputs[kind]())
        self.say(part=self.files[kind].part)
        return self.files[kind]

    def transcode_and_keep(self):
        self.input = Input(self.source, self.probed)
        for kind in self.outputs:
            if partial_name(os.path.abspath(self.open(kind).path)) == self.source:
                raise OSError(0, f"{self.source} would be overwritten by its own output")
        with contextlib.closing(PacketCount(self.input.path, self.input.picture["index"])) as packets:
            self.transcode()
            if not self.problem and not self.frames:
                self.problem = self.why_empty()
            if not self.problem:
                lacking = self.lack(packets)
        for note in (*self.decoder.notes(), self.shape_changes(), self.lost_captions()):
            if note:
                self.say(note=note)
        if not self.problem and "video" in self.files and self.profile.container:
            self.join()
        if not self.problem:
            self.finish(lacking)

    def shape_changes(self):
        """A sentence on pictures that were scaled because their shape changed, or None."""
        if self.problem or self.profile is STILL:  # only the first picture of a still is used
            return None
        return shape_note(self.decoder.shapes.first, self.decoder.shapes.changes)

    def lost_captions(self):
        """A sentence on frames whose closed captions do not reach the file, or None."""
        if "video" not in self.files or self.problem or self.captions == self.decoder.captions:
            return None
        return (f"closed captions of {self.decoder.captions - self.captions} frames are left out: "
                + (f"{self.profile.meaning} cannot store them" if not self.profile.captions else "the filter drops them"))

    def lack(self, packets):
        """How the input is not whole, as far as this profile holds all of it, or None."""
        if self.profile is not STILL:
            return verify.lack(self.input, self.decoder, self.end / Gst.SECOND, packets)
        if packets.result()[1] > 1:
            self.say(note="only its first picture is used")
        return None

    def transcode(self):
        self.build()
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", self.on_message)
        ticker = GLib.timeout_add(250, self.tick)
        self.moved = time.monotonic()
        try:
            self.pipeline.set_state(Gst.State.PLAYING)
            self.decoder.thread.start()
            self.loop.run()
        finally:
            GLib.source_remove(ticker)
            self.pipeline.set_state(Gst.State.NULL)
            self.decoder.stop()
            self.filtered.srcpads[0].remove_probe(self.probe)
            bus.disconnect_by_func(self.on_message)
            bus.remove_signal_watch()

    def join(self):
        picture, whole = self.picture or self.files["video"].fd, self.open("video")
        inspection = self.opened.enter_context(contextlib.closing(verify.inspection(whole.part)))
        *_, notes = streams = encode.plan_streams(self.input, self.profile, self.with_sound)
        errors = self.run_joiner(picture, whole, streams)
        if self.join_status:
            *_, notes = tried = encode.plan_streams(self.input, self.profile, self.with_sound, is_tried=True)
            if tried != streams:
                errors = self.run_joiner(picture, whole, tried)
        if self.join_status == 0:
            written = verify.written_frames(whole.part)
            if written != self.frames:
                self.problem = f"{written} of {self.frames} frames were written" + (errors and f": {last_line(errors)}")
            elif not self.problem:
                found = verify.inspect(whole.part, inspection)
                notes += verify.notes(found, self.input, self.profile, self.colors, self.ratio)
        elif self.join_status:
            self.problem = f"its other streams cannot be added to the output: {last_line(errors)}"
        for note in notes:
            self.say(note=note)

    def run_joiner(self, picture, whole, streams):
        """Runs ffmpeg, see encode.join(). Returns its messages. Sets `join_status` to its exit status, or to None if the job is
        interrupted."""
        self.join_status = None
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            with encode.join(picture, self.input, self.profile, whole.fd, errors, streams, self.colors,
                             bool(self.decoder.timeline.jumps)) as joiner:
                GLib.child_watch_add(GLib.PRIORITY_DEFAULT, joiner.pid, lambda _, status: self.joined(status))
                while self.join_status is None and not self.problem:
                    self.loop.run()
                if self.join_status is None:
                    joiner.kill()
            errors.seek(0)
            return errors.read()

    def joined(self, status):
        self.join_status = status
        self.loop.quit()

    def finish(self, lacking):
        """Gives all outputs their names, the video last: if it exists, the others do too. Outputs of a damaged input get
        the names of whole files only with --accept-partial."""
        partial = lacking and not self.accept_partial
        for kind in sorted(self.files, key=lambda kind: kind == "video"):
            self.files[kind].keep(partial)
        if partial:
            self.problem = f"{lacking}; the readable part is in files with .partial in their names{self.hint}"
            return
        if lacking:
            self.say(note=lacking)
        self.say(done={"frames": self.frames, "seconds": time.monotonic() - self.started,
                       "length": self.end / Gst.SECOND})


def main(channel, settings, kind=Job):
    """`kind`: the class of the job, which may read further settings. Returns the exit status."""
    os.set_inheritable(channel, False)

    def say(**what):
        with contextlib.suppress(BrokenPipeError):  # standard input is closed, too, and ends the job
            os.write(channel, json.dumps(what).encode() + b"\n")

    settings = json.loads(settings)
    outputs = {kind: functools.partial(Output, path) for kind, path in settings["outputs"].items()}
    try:
        filtered = filters.made(settings["filter"], (), settings.get("device", -1),
                                bool({"labels", "coco-rle"} & set(outputs)))
    except filters.BadFilter as bad:
        say(problem=f"the filter '{settings['filter']}' cannot be made: {bad}")
        return 1
    job = kind(settings["source"], outputs, filtered, PROFILES[settings["profile"]], say,
               settings.get("with_sound", True), settings.get("accept_partial", False))
    job.settings, job.threads, job.probed = settings, settings.get("threads", 0), settings.get("probed")
    job.rules = settings.get("rules")
    job.hint = " (--accept-partial accepts it as whole)"
    watch = GLib.io_add_watch(0, GLib.PRIORITY_HIGH, GLib.IOCondition.HUP, job.interrupt)
    try:
        return job.run()
    finally:
        if not job.interrupted:
            GLib.source_remove(watch)
