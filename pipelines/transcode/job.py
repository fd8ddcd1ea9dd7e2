#!/usr/bin/python3
"""Transcodes one file: regions-transcode starts one such process for each input, so that a decoder
that crashes takes no other input with it.

  job.py '{"source": …, "outputs": {"video": …, "json": …, "labels": …}, "filter": …, "profile": …}'

What it has to say it prints as JSON, one object a line: progress, note, problem, done. It ends when
its standard input is closed, and then leaves no file behind.
"""

import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import gstreamer  # noqa: E402  (after the path)
import orientation  # noqa: E402
import sidecars  # noqa: E402
import sound  # noqa: E402
from gstreamer import GLib, Gst, GstVideo, first_structure  # noqa: E402
from profiles import PROFILES, coded_format  # noqa: E402

# decodebin may lose the error of a file that is cut off (seen with GStreamer 1.22), and then waits.
PATIENCE = 20  # seconds until the first frame
CONVERT = "videoconvert n-threads=2 dither=none"  # dither changes pixels even of equal depth
NO_VIDEO = "holds no video that can be decoded here"
BOXED = ("I420", "Y42B", "Y444")  # what videobox can extend


def say(**what):
    print(json.dumps(what), flush=True)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def part_of(path):
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.part")


def make_filter(line, device, attach_labels):
    """The user's filter as a bin. Elements that may choose a GPU get `device`, unless the user chose."""
    made = Gst.parse_bin_from_description(line, True)
    if not made.sinkpads or not made.srcpads:
        raise GLib.Error("a filter has one way in and one way out")
    for element in made.children:
        if device >= 0 and "cuda-device-id" not in line and has(element, "cuda-device-id"):
            element.set_property("cuda-device-id", device)
        if attach_labels and has(element, "attach-labels"):
            Gst.util_set_object_arg(element, "attach-labels", "always")
    return made


def has(element, name):
    return element.find_property(name) is not None


class Job:
    def __init__(self, source, outputs, filter, profile, device=-1, with_sound=True):
        self.source, self.filter, self.device, self.with_sound = source, filter, device, with_sound
        self.profile, self.container = PROFILES[profile], outputs["video"].rsplit(".", 1)[-1]
        self.outputs = outputs
        self.parts = {kind: part_of(path) for kind, path in outputs.items()}
        self.silent = part_of(outputs["video"] + ".silent")  # the picture before the sound joins it
        self.loop = GLib.MainLoop()
        self.problem = self.sound_joiner = None
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
        if "labels" in self.parts:
            self.pipeline.add(Gst.parse_bin_from_description(
                sidecars.LabelVideo.BRANCH.format(quoted(self.parts["labels"])), False))
            self.sidecars.append(sidecars.LabelVideo(self.pipeline))
        if "json" in self.parts:
            self.sidecars.append(sidecars.JsonLines(self.parts["json"]))
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
        self.decoded, self.decoded_pad = caps, pad
        known, top, bottom = caps.get_fraction("framerate")
        self.frame_time = Gst.SECOND * bottom // top if known and top else self.frame_time
        # Few players turn Matroska and WebM, and ids are to be read upright: pixels are turned here.
        turn = orientation.turn_of(pad)
        flip = f"videoflip video-direction={turn.value_nick} ! {CONVERT} ! " if turn else ""
        self.chain = Gst.parse_bin_from_description(
            f"queue ! {CONVERT} ! {flip}identity", True)
        filtered = make_filter(self.filter, self.device, "labels" in self.parts)
        self.add(self.chain, pad)
        self.chain.sinkpads[0].add_probe(Gst.PadProbeType.BUFFER, self.give_time)
        self.chain.srcpads[0].add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, orientation.leave_out_turn)
        filtered.srcpads[0].add_probe(
            Gst.PadProbeType.BUFFER | Gst.PadProbeType.EVENT_DOWNSTREAM, self.see_filtered)
        self.add(filtered, self.chain.srcpads[0])

    def add(self, part, pad):
        self.pipeline.add(part)
        part.sync_state_with_parent()
        pad.link(part.sinkpads[0])

    def tail_for(self, caps):
        """Encoder and file for pictures as the filter makes them, with the input's colours."""
        width, height = caps.get_value("width"), caps.get_value("height")
        profile = self.profile
        info = GstVideo.VideoFormat.get_info(
            GstVideo.VideoFormat.from_string(self.decoded.get_value("format")))
        right, bottom = (max(side + side % 2 * profile.even, profile.least) - side
                         for side in (width, height))
        form = coded_format(info, profile)
        if (right or bottom) and form not in BOXED:
            form = "I420"
        like = f"video/x-raw,format={form},width={width},height={height}"
        color = self.decoded.get_string("colorimetry")
        if color and not form.startswith(("BGR", "GRAY")) and "RGB" not in color:
            like += f",colorimetry={color}"
        box = f"videobox fill=black right={-right} bottom={-bottom} ! " if right or bottom else ""
        # videoscale acts where the size changes in mid-stream: a file has one size.
        return Gst.parse_bin_from_description(
            f"{CONVERT} ! videoscale add-borders=true ! {like} ! {box}queue !"
            f" {profile.encoder} ! {profile.muxer} !"
            f" filesink sync=false location={quoted(self.parts['video'])}", True)

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
            self.stop(str(problem))
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
            error, detail = message.parse_error()
            # The detail names a line of GStreamer's code first; a cause may follow.
            cause = detail.splitlines()[-1] if detail and "\n" in detail else ""
            text = error.message + (f" ({cause})" if cause else "")
            decoding = (error.domain in ("gst-stream-error-quark", "gst-core-error-quark")
                        and message.src.has_as_ancestor(self.decoder))
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
        say(progress={"frame": self.frames, "of": max(total, self.frames) if total else 0, "rate": rate})
        return True

    def run(self):
        gstreamer.stop_at_faults(self.stop)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.interrupt)
        GLib.io_add_watch(0, GLib.PRIORITY_HIGH, GLib.IOCondition.HUP, self.interrupt)
        try:
            codecs, delay, length = sound.streams(self.source) if self.with_sound else ([], 0, None)
            self.transcode()
            if not self.problem and not self.frames:
                self.problem = "holds no video frame"
            if not self.problem and codecs:
                self.join_sound(codecs, delay)
            if not self.problem:
                self.finish()
                cut = length and self.end / Gst.SECOND < length - max(1, length / 50)
                if cut:
                    self.problem = (f"ends after {self.end / Gst.SECOND:.1f} s of {length:.1f} s: it is"
                                    " cut off or damaged (what could be read was written)")
        except (sound.SoundProblem, OSError, GLib.Error) as problem:
            self.problem = getattr(problem, "message", None) or str(problem)
        finally:
            for part in (*self.parts.values(), self.silent):
                if os.path.exists(part):
                    os.remove(part)
        for text in dict.fromkeys(self.warnings):
            say(note=f"{text} ({self.warnings.count(text)} times)")

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
        os.replace(self.parts["video"], self.silent)
        joiner, notes = sound.add(self.silent, self.source, codecs, delay, self.profile,
                                  self.parts["video"], self.container)
        GLib.child_watch_add(GLib.PRIORITY_DEFAULT, joiner.pid, lambda _, status: self.joined(status))
        self.join_status = None
        self.loop.run()
        if self.join_status is None:  # interrupted
            joiner.kill()
        elif self.join_status != 0:
            self.problem = f"its sound cannot be kept: {sound.last_line(joiner.stderr.read())}"
        for note in notes:
            say(note=note)

    def joined(self, status):
        self.join_status = status
        self.loop.quit()

    def finish(self):
        """Gives all outputs their names, the video last: where it is, the others are."""
        for kind in sorted(self.outputs, key=lambda kind: kind == "video"):
            with open(self.parts[kind], "rb") as written:
                os.fsync(written.fileno())
            os.replace(self.parts[kind], self.outputs[kind])
        say(done={"frames": self.frames, "seconds": time.monotonic() - self.started,
                  "length": self.end / Gst.SECOND})


def main(settings):
    job = Job(**json.loads(settings))
    job.run()
    if job.problem:
        say(problem=job.problem)
    return 130 if job.interrupted else 1 if job.problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
