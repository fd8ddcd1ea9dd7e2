#!/usr/bin/python3
"""Takes one file through a filter: the scripts do it in their own process, regions-transcode in one
process for each input, so that a decoder that crashes takes no other input with it.

  job.py FD '{"source": …, "outputs": {"video": …, "json": …, "labels": …}, "filter": …, "profile": …}'

What it has to say it writes to the file descriptor FD as JSON, one object a line: part, progress, note,
problem, done. (Standard output belongs to elements that print.) It ends when its standard input is
closed, and then leaves no file behind.
"""

import contextlib
import functools
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import filters  # noqa: E402  (after the path)
import orientation  # noqa: E402
import sidecars  # noqa: E402
import sound  # noqa: E402
from files import Output  # noqa: E402
from gstreamer import (GLib, Gst, GstVideo, colors_of_gray, error_text, first_structure,  # noqa: E402
                       stop_at_faults, undecodable)
from profiles import PROFILES, coded_format  # noqa: E402

# decodebin may lose the error of a file that is cut off (seen with GStreamer 1.22), and then waits.
PATIENCE = 20  # seconds until the first frame
CONVERT = "videoconvert n-threads=2 dither=none"  # dither changes pixels even of equal depth
NO_VIDEO = "holds no video that can be decoded here"
BOXED = ("I420", "Y42B", "Y444")  # what videobox can extend


class Job:
    def __init__(self, source, outputs, filtered, profile, say, with_sound=True):
        """`outputs`: what opens the file, by "video", "json", "labels". `filtered`: the filter as a bin.
        `say(progress=…)`, `say(note=…)`, …: what is told while it runs."""
        self.source, self.filtered, self.with_sound = source, filtered, with_sound
        self.profile, self.say, self.outputs = profile, say, outputs
        self.files = {}
        self.loop = GLib.MainLoop()
        self.problem = None
        self.interrupted = False
        self.frames = self.end = self.next_time = 0
        self.warnings = []
        self.sidecars = []
        self.chain = self.tail = None
        self.began = time.monotonic()
        self.started = None
        self.frame_time = Gst.SECOND // 25  # of streams that do not tell

    # The pipeline: uridecodebin ! chain (upright, filter) ! tail (encoder, muxer, file)

    def build(self):
        self.pipeline = Gst.Pipeline()
        if "labels" in self.files:
            self.pipeline.add(Gst.parse_bin_from_description(
                sidecars.LabelVideo.BRANCH.format(self.files["labels"].fd), False))
            self.sidecars.append(sidecars.LabelVideo(self.pipeline))
        if "json" in self.files:
            self.sidecars.append(sidecars.JsonLines(self.files["json"].fd))
        self.decoder = Gst.ElementFactory.make("uridecodebin")
        self.decoder.set_property("uri", Gst.filename_to_uri(self.source))
        self.decoder.set_property("expose-all-streams", False)
        self.decoder.set_property("caps", Gst.Caps.from_string("video/x-raw(ANY)"))
        self.decoder.connect("pad-added", self.link)
        self.decoder.connect("no-more-pads", lambda _: self.chain or self.stop(NO_VIDEO))
        self.pipeline.add(self.decoder)

    def link(self, _decoder, pad):
        caps = first_structure(pad.get_current_caps())
        if self.chain or not caps.has_name("video/x-raw"):
            return
        named = ""
        if colors := colors_of_gray(caps):
            caps.set_value("colorimetry", colors)
            named = f"capssetter caps=video/x-raw,colorimetry={colors} ! "
        self.decoded, self.decoded_pad = caps, pad
        known, top, bottom = caps.get_fraction("framerate")
        self.frame_time = Gst.SECOND * bottom // top if known and top else self.frame_time
        # Few players turn Matroska and WebM, and ids are to be read upright: pixels are turned here.
        turn = orientation.turn_of(pad)
        flip = f"videoflip video-direction={turn.value_nick} ! {CONVERT} ! " if turn else ""
        self.chain = Gst.parse_bin_from_description(
            f"queue ! {named}{CONVERT} ! {flip}identity", True)
        self.add(self.chain, pad)
        self.chain.sinkpads[0].add_probe(Gst.PadProbeType.BUFFER, self.give_time)
        self.chain.srcpads[0].add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, orientation.leave_out_turn)
        self.filtered.srcpads[0].add_probe(
            Gst.PadProbeType.BUFFER | Gst.PadProbeType.EVENT_DOWNSTREAM, self.see_filtered)
        self.add(self.filtered, self.chain.srcpads[0])

    def add(self, part, pad):
        self.pipeline.add(part)
        part.sync_state_with_parent()
        pad.link(part.sinkpads[0])

    def tail_for(self, caps):
        """Encoder and file for pictures as the filter makes them, with the input's colours."""
        if "video" not in self.files:
            return Gst.parse_bin_from_description("fakesink", True)
        width, height = caps.get_value("width"), caps.get_value("height")
        profile = self.profile
        made = caps.get_value("format")
        # Gray pictures of a filter are labels and masks, which have no colours of the input.
        info = GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string(
            made if made.startswith("GRAY") else self.decoded.get_value("format")))
        right, bottom = (max(side + side % 2 * profile.even, profile.least) - side
                         for side in (width, height))
        form = coded_format(info, profile)
        if (right or bottom) and form not in BOXED:
            form = "I420"
        like = f"video/x-raw,width={width},height={height}" + (f",format={form}" if form else "")
        color = self.decoded.get_string("colorimetry")
        if color and form and not form.startswith(("BGR", "GRAY")) and "RGB" not in color:
            like += f",colorimetry={color}"
        box = f"videobox fill=black right={-right} bottom={-bottom} ! " if right or bottom else ""
        # videoscale acts where the size changes in mid-stream: a file has one size.
        return Gst.parse_bin_from_description(
            f"{CONVERT} ! videoscale add-borders=true ! {like} ! {box}queue !"
            f" {profile.encoder} ! {profile.muxer} !"
            f" fdsink sync=false fd={self.files['video'].fd}", True)

    # What streaming threads report

    def give_time(self, _pad, info):
        """Streams without timestamps get them from the frame rate (25 a second if unknown)."""
        buffer = info.get_buffer()
        if buffer.pts == Gst.CLOCK_TIME_NONE:
            buffer.pts = self.next_time
        self.next_time = buffer.pts + self.frame_time
        return Gst.PadProbeReturn.OK

    def see_filtered(self, pad, info):
        try:
            if info.type & Gst.PadProbeType.BUFFER:
                self.see_frame(pad, info.get_buffer())
            elif info.get_event().type == Gst.EventType.CAPS and not self.tail:
                self.tail = self.tail_for(first_structure(info.get_event().parse_caps()))
                self.add(self.tail, pad)
            elif info.get_event().type == Gst.EventType.EOS:
                for sidecar in self.sidecars:
                    sidecar.close()
        except (sidecars.SidecarProblem, OSError, GLib.Error) as problem:
            self.stop(getattr(problem, "strerror", None) or str(problem))
            return Gst.PadProbeReturn.DROP
        return Gst.PadProbeReturn.OK

    def see_frame(self, pad, buffer):
        self.started = self.started or time.monotonic()
        segment = pad.get_sticky_event(Gst.EventType.SEGMENT, 0).parse_segment()
        at = segment.to_running_time(Gst.Format.TIME, buffer.pts)
        for sidecar in self.sidecars:
            sidecar.write(self.frames, at, buffer, pad.get_current_caps())
        self.frames += 1
        self.end = max(self.end, at + self.frame_time)

    # What the main thread does

    def stop(self, problem=None):
        """May be called by any thread, also before the loop runs."""
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
            text = error_text(message)
            decoding = undecodable(message, self.decoder)
            self.stop(f"{NO_VIDEO}: {text}" if decoding and not self.frames else text)

    def tick(self):
        now = time.monotonic()
        if not self.started:
            if now - self.began > PATIENCE:
                self.stop(f"{NO_VIDEO}: no frame within {PATIENCE} s")
            return True
        known, length = self.decoded_pad.query_duration(Gst.Format.TIME)
        rate = self.frames / max(now - self.started, 1e-3)
        total = round(length / self.frame_time) if known and length > 0 else 0
        self.say(progress={"frame": self.frames, "of": max(total, self.frames) if total else 0, "rate": rate})
        return True

    def run(self):
        stop_at_faults(self.stop)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.interrupt)
        try:
            with contextlib.ExitStack() as self.opened:
                self.transcode_and_keep()
        except (sound.SoundProblem, OSError, GLib.Error) as problem:
            self.problem = (getattr(problem, "strerror", None) or getattr(problem, "message", None)
                            or str(problem))
        for text in dict.fromkeys(self.warnings):
            self.say(note=f"{text} ({self.warnings.count(text)} times)")
        if self.problem:
            self.say(problem=self.problem)
        return 130 if self.interrupted else 1 if self.problem else 0

    def open(self, kind):
        """An output, which is removed at the end of run() unless it was kept."""
        self.files[kind] = self.opened.enter_context(self.outputs[kind]())
        self.say(part=self.files[kind].part)
        return self.files[kind]

    def transcode_and_keep(self):
        for kind in self.outputs:
            self.open(kind)
        codecs, delay, length = sound.streams(self.source) if self.with_sound else ([], 0, None)
        self.transcode()
        if not self.problem and not self.frames:
            self.problem = "holds no video frame"
        if not self.problem and codecs and "video" in self.files:
            self.join_sound(codecs, delay)
        if not self.problem:
            self.finish()
            cut = length and self.end / Gst.SECOND < length - max(1, length / 50)
            if cut:
                self.problem = (f"ends after {self.end / Gst.SECOND:.1f} s of {length:.1f} s: it is"
                                " cut off or damaged (what could be read was written)")

    def transcode(self):
        self.build()
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", self.on_message)
        ticker = GLib.timeout_add(250, self.tick)
        try:
            self.pipeline.set_state(Gst.State.PLAYING)
            self.loop.run()
        finally:
            GLib.source_remove(ticker)
            self.pipeline.set_state(Gst.State.NULL)

    def join_sound(self, codecs, delay):
        silent, whole = self.files["video"], self.open("video")
        joiner, notes = sound.add(silent.fd, self.source, codecs, delay, self.profile, whole.fd)
        GLib.child_watch_add(GLib.PRIORITY_DEFAULT, joiner.pid, lambda _, status: self.joined(status))
        self.join_status = None
        self.loop.run()
        if self.join_status is None:  # interrupted
            joiner.kill()
        elif self.join_status != 0:
            self.problem = f"its sound cannot be kept: {sound.last_line(joiner.stderr.read())}"
        for note in notes:
            self.say(note=note)

    def joined(self, status):
        self.join_status = status
        self.loop.quit()

    def finish(self):
        """Gives all outputs their names, the video last: where it is, the others are."""
        for kind in sorted(self.files, key=lambda kind: kind == "video"):
            self.files[kind].keep()
        self.say(done={"frames": self.frames, "seconds": time.monotonic() - self.started,
                       "length": self.end / Gst.SECOND})


def main(channel, settings):
    os.set_inheritable(channel, False)

    def say(**what):
        with contextlib.suppress(BrokenPipeError):  # standard input is closed, too, and ends the job
            os.write(channel, json.dumps(what).encode() + b"\n")

    settings = json.loads(settings)
    outputs = {kind: functools.partial(Output, path) for kind, path in settings["outputs"].items()}
    filtered = filters.made(settings["filter"], (), settings.get("device", -1),
                            "labels" in outputs)
    job = Job(settings["source"], outputs, filtered, PROFILES[settings["profile"]], say,
              settings.get("with_sound", True))
    GLib.io_add_watch(0, GLib.PRIORITY_HIGH, GLib.IOCondition.HUP, job.interrupt)
    return job.run()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
