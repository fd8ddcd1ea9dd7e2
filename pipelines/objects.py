#!/usr/bin/python3
"""The main job: finds the moving objects of a video, and writes the video with boxes, outlines and
ids on them (overlay.mp4) and its frame with the most objects (still.png).

`graphcutbg` learns the background and cuts the foreground out, `cclabel` makes objects of it and
follows them, `regionoverlay` draws them.
"""

import argparse
import os
import signal
import sys
import time

from files import Output, printable
from sources import File, InputProblem, check_source, description, is_live

CLIP = "/usr/share/doc/opencv-doc/examples/data/vtest.avi"
# Smaller regions are no people: 250 pixels at 768x576, found by eye on the clip, scaled with the
# size.
LEAST_AREA = 250 / (768 * 576)
PATIENCE = 20  # seconds until the first frame of a file
SMALLEST_SIDE = 16  # of what the encoder takes; it also wants even sides


class Job:
    def __init__(self, gst, source, folder):
        self.gst = gst
        self.source = source
        self.video = os.path.join(folder, "overlay.mp4")
        self.still = os.path.join(folder, "still.png")
        self.loop = gst.GLib.MainLoop()
        self.problem = self.broken = self.file = None
        self.interrupted = self.whole = self.written = False
        self.frames = 0
        self.regions = 0
        self.began = time.monotonic()
        self.started = self.ended = 0.0  # first frame in, last frame out
        self.best = None  # (regions, number of the frame, sample)
        self.frame_time = 40_000_000  # nanoseconds; taken from the stream where it tells
        self.next_time = 0  # for frames that come without a timestamp
        self.shown = 0.0

    def build(self):
        Gst = self.gst.Gst
        if is_live(self.source):
            self.pipeline = Gst.parse_launch(description(self.source, self.part.fd))
        else:
            self.file = File(self.source)
            self.pipeline = self.file.pipeline(self.part.fd)
        self.objects = self.pipeline.get_by_name("objects")
        self.entry = self.pipeline.get_by_name("decoded").get_static_pad("sink")
        self.entry.add_probe(Gst.PadProbeType.BUFFER, self.give_time)
        decoded = self.pipeline.get_by_name("decoded").get_static_pad("src")
        decoded.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self.take_size)
        drawn = self.pipeline.get_by_name("drawn").get_static_pad("src")
        drawn.add_probe(Gst.PadProbeType.BUFFER, self.count)

        if is_live(self.source):
            self.open_camera()

    def open_camera(self):
        Gst = self.gst.Gst
        if self.source.startswith("/dev/"):
            camera = Gst.ElementFactory.make("v4l2src")
            camera.set_property("device", self.source)
            self.decoder = Gst.ElementFactory.make("decodebin")
            self.pipeline.add(camera)
            self.pipeline.add(self.decoder)
            camera.link(self.decoder)
        else:
            self.decoder = Gst.ElementFactory.make("uridecodebin")
            self.decoder.set_property("uri", self.source)
            self.pipeline.add(self.decoder)
        self.decoder.set_property("expose-all-streams", False)
        self.decoder.set_property("caps", Gst.Caps.from_string("video/x-raw(ANY)"))
        self.decoder.connect("pad-added", self.link)
        self.decoder.connect("no-more-pads", self.expect_video)

    def link(self, _decoder, pad):
        caps = self.gst.first_structure(pad.get_current_caps())
        if not self.entry.is_linked() and caps.has_name("video/x-raw"):
            pad.link(self.entry)

    def expect_video(self, _decoder):
        if not self.entry.is_linked():
            self.stop(f"{self.source}: holds no video that can be decoded here")

    def take_size(self, _pad, info):
        """Sets what depends on the size of the picture, before anything is negotiated."""
        event = info.get_event()
        if event.type == self.gst.Gst.EventType.CAPS:
            caps = self.gst.first_structure(event.parse_caps())
            width, height = caps.get_value("width"), caps.get_value("height")
            if caps.get_value("format").startswith("GRAY") and (colors := caps.get_string("colorimetry")):
                for name in ("converted", "coded"):  # gray stays as bright as it was
                    self.pipeline.get_by_name(name).set_property("caps", self.gst.Gst.Caps.from_string(
                        f"video/x-raw,format=I420,colorimetry={colors}"))
            least = int(width * height * LEAST_AREA)
            self.objects.set_property("min-area", least)
            self.objects.set_property("fill-holes", least)
            evened = self.pipeline.get_by_name("evened")
            evened.set_property("right", -(max(width + width % 2, SMALLEST_SIDE) - width))
            evened.set_property("bottom", -(max(height + height % 2, SMALLEST_SIDE) - height))
            known, top, bottom = caps.get_fraction("framerate")
            self.frame_time = self.gst.Gst.SECOND * bottom // top if known and top else self.frame_time
        return self.gst.Gst.PadProbeReturn.OK

    def give_time(self, _pad, info):
        """Streams without timestamps get them from the frame rate (25 a second if unknown)."""
        buffer = info.get_buffer()
        if buffer.pts == self.gst.Gst.CLOCK_TIME_NONE:
            buffer.pts = self.next_time
        self.next_time = buffer.pts + self.frame_time
        if not self.started:
            self.started = time.monotonic()
        return self.gst.Gst.PadProbeReturn.OK

    def count(self, pad, info):
        """Sees each finished frame."""
        Gst = self.gst.Gst
        buffer = info.get_buffer()
        found = self.gst.regions_total(buffer)
        self.regions += found
        if self.best is None or found > self.best[0]:
            sample = Gst.Sample.new(buffer, pad.get_current_caps(), None, None)
            self.best = (found, self.frames, sample)
        self.frames += 1
        self.ended = time.monotonic()
        return Gst.PadProbeReturn.OK

    def stop(self, problem=None):
        """May be called by any thread, also before the loop runs."""
        self.problem = self.problem or problem
        self.gst.GLib.idle_add(self.loop.quit)

    def on_message(self, _bus, message):
        Gst = self.gst.Gst
        if message.type == Gst.MessageType.EOS:
            self.whole = True
            self.stop()
        elif message.type == Gst.MessageType.ERROR:
            text = self.gst.error_text(message)
            if not is_live(self.source) or not self.frames:
                self.stop(f"{self.source}: {text}")
            elif not self.broken:  # what was recorded stays
                self.broken = f"{self.source}: stopped after {self.frames} frames, which are kept: {text}"
                self.entry.send_event(Gst.Event.new_eos())

    def on_interrupt(self, *_):
        """First Ctrl-C: end the stream, so that a live recording is finished. Second: leave. Before
        the first frame there is nothing to finish, and no stream that could end."""
        recording = is_live(self.source) and self.frames and not self.interrupted
        self.interrupted = True
        if recording:
            self.pipeline.send_event(self.gst.Gst.Event.new_eos())
        else:
            self.stop()

    def show_progress(self, period=2.0):
        now = time.monotonic()
        if not self.started and not is_live(self.source) and now - self.began > PATIENCE:
            self.stop(f"{self.source}: holds no video that can be decoded here: no frame within"
                      f" {PATIENCE} s")
        if self.frames and now - self.shown >= period:
            self.shown = now
            rate = self.frames / max(now - self.started, 1e-9)
            of = ""
            known, length = self.pipeline.query_duration(self.gst.Gst.Format.TIME)
            if known and length > 0 and not is_live(self.source):
                of = f" of about {max(self.frames, round(length / self.frame_time))}"
            print(f"frame {self.frames}{of}, {rate:.0f} frames/s", flush=True)
        return True

    def run(self):
        with Output(self.video) as self.part:
            try:
                self.play()
            except InputProblem as problem:
                self.problem = str(problem)
        if not self.problem and not self.interrupted and not self.frames:
            self.problem = f"{self.source}: holds no video frame"

    def play(self):
        GLib, Gst = self.gst.GLib, self.gst.Gst
        self.gst.stop_at_faults(lambda text: self.stop(f"{self.source}: {text}"))
        self.build()
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", self.on_message)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.on_interrupt)
        GLib.timeout_add(200, self.show_progress)
        try:
            self.pipeline.set_state(Gst.State.PLAYING)
            if self.file:
                self.file.decoder.thread.start()
            self.loop.run()
            self.device = self.objects.get_property("active-device")
        finally:
            self.pipeline.set_state(Gst.State.NULL)
            if self.file:
                self.file.decoder.stop()
        if self.whole and self.frames and not self.problem:
            if self.file:
                self.file.join(self.part.fd, self.video)
            else:
                self.part.keep()
            self.write_still()
            self.written = True

    def write_still(self):
        caps = self.gst.Gst.Caps.from_string("image/png")
        rgb = self.gst.Gst.Caps.from_string("video/x-raw,format=RGB")
        opaque = self.gst.GstVideo.video_convert_sample(self.best[2], rgb, self.gst.Gst.SECOND * 10)
        picture = self.gst.GstVideo.video_convert_sample(opaque, caps, self.gst.Gst.SECOND * 10)
        buffer = picture.get_buffer()
        with Output(self.still) as still:
            with open(still.fd, "wb", closefd=False) as file:
                file.write(buffer.extract_dup(0, buffer.get_size()))
            still.keep()

    def report(self):
        seconds = max(self.ended - self.started, 1e-9)
        print(f"{self.regions} regions in {self.frames} frames"
              f" ({self.regions / self.frames:.1f} a frame, most {self.best[0]}"
              f" in frame {self.best[1]})")
        print(f"{self.frames / seconds:.1f} frames/s with decoding, foreground and encoding;"
              f" labelled on {self.device}")
        print(printable(f"wrote {os.path.relpath(self.video)} and {os.path.relpath(self.still)}"))


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="quickstart", description="Draws the moving objects of a video."
    )
    parser.add_argument("source", nargs="?", default=CLIP, metavar="FILE|rtsp://…|/dev/videoN",
                        help="default: people walking, from Debian's opencv-doc")
    parser.add_argument("--out", default="out", metavar="FOLDER", help="where results go")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    try:
        # The clip comes with the set-up, which a check precedes.
        if not (options.check and options.source == CLIP):
            check_source(options.source)
    except InputProblem as problem:
        print(printable(f"quickstart: {problem}"), file=sys.stderr)
        return 2
    if options.check:
        return 0
    import gstreamer  # needs packages that a check must do without

    os.makedirs(options.out, exist_ok=True)
    job = Job(gstreamer, options.source, os.path.realpath(options.out))
    job.run()
    if job.written:
        job.report()
    if job.problem or job.broken:
        print(printable(f"quickstart: {job.problem or job.broken}"), file=sys.stderr)
        return 1
    if job.interrupted and not job.written:
        print("quickstart: interrupted; nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
