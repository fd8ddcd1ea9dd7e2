"""Records cameras for the quickstart, until Ctrl-C and coded without delay. After a failure, the recording so far is kept."""

import signal
import sys
import time

from files import Output

PIPELINE = (
    "queue name=decoded leaky=downstream max-size-buffers=8 ! {}"
    # An added row or column, where needed, makes the sides even.
    " ! videobox name=evened fill=black ! videoconvert ! capsfilter name=coded caps=video/x-raw,format=I420 ! queue"
    " ! x264enc pass=qual quantizer=20 bframes=0 key-int-max=100 tune=zerolatency speed-preset=ultrafast"
    " ! h264parse ! mp4mux ! fdsink sync=false fd={}")
SMALLEST_SIDE = 16  # minimum of the encoder, in pixels; it also requires even sides


class Camera:
    """A recording. `found` prepares the filter and sees each filtered frame."""

    def __init__(self, gst, source, found):
        from transcode.progress import Screen

        self.gst, self.source, self.found = gst, source, found
        self.loop = gst.GLib.MainLoop()
        self.problem = self.broken = None
        self.interrupted = self.whole = False
        self.frame_time = 40_000_000  # nanoseconds; replaced by the frame rate of the stream, if it has one
        self.next_time = 0  # for frames that come without a timestamp
        self.screen = Screen("quickstart")

    def build(self, line, fd):
        Gst = self.gst.Gst
        self.pipeline = Gst.parse_launch(PIPELINE.format(line, fd))
        self.found.prepare(self.pipeline)
        decoded, evened = (self.pipeline.get_by_name(name) for name in ("decoded", "evened"))
        self.entry = decoded.get_static_pad("sink")
        self.entry.add_probe(Gst.PadProbeType.BUFFER, self.give_time)
        decoded.get_static_pad("src").add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self.take_size)
        evened.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, self.count)
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
            self.stop("sends no video that GStreamer can decode here")

    def take_size(self, _pad, info):
        """Sets properties that depend on the picture, before formats are negotiated."""
        event = info.get_event()
        if event.type == self.gst.Gst.EventType.CAPS:
            caps = self.gst.first_structure(event.parse_caps())
            if caps.get_value("format").startswith("GRAY") and (colors := caps.get_string("colorimetry")):
                self.pipeline.get_by_name("coded").set_property("caps", self.gst.Gst.Caps.from_string(
                    f"video/x-raw,format=I420,colorimetry={colors}"))  # gray keeps its brightness
            evened = self.pipeline.get_by_name("evened")
            for name, side in (("right", caps.get_value("width")), ("bottom", caps.get_value("height"))):
                evened.set_property(name, -(max(side + side % 2, SMALLEST_SIDE) - side))
            known, top, bottom = caps.get_fraction("framerate")
            self.frame_time = self.gst.Gst.SECOND * bottom // top if known and top else self.frame_time
        return self.gst.Gst.PadProbeReturn.OK

    def give_time(self, _pad, info):
        """Gives frames without timestamps times by the frame rate (25 frames/s if unknown)."""
        buffer = info.get_buffer()
        if buffer.pts == self.gst.Gst.CLOCK_TIME_NONE:
            buffer.pts = self.next_time
        self.next_time = buffer.pts + self.frame_time
        return self.gst.Gst.PadProbeReturn.OK

    def count(self, pad, info):
        self.found.write(self.found.frames, None, info.get_buffer(), pad.get_current_caps())
        return self.gst.Gst.PadProbeReturn.OK

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
            if not self.found.frames:
                self.stop(text)
            elif not self.broken:  # the recording so far is kept
                self.broken = f"stopped after {self.found.frames} frames, which are kept: {text}"
                self.entry.send_event(Gst.Event.new_eos())

    def on_interrupt(self, *_):
        """First Ctrl-C: end the stream, so that the recording is finished. Second: stop at once. Before the first frame there
        is nothing to finish, and the stream cannot end."""
        recording = self.found.frames and not self.interrupted
        self.interrupted = True
        if recording:
            self.pipeline.send_event(self.gst.Gst.Event.new_eos())
        else:
            self.stop()

    def show_progress(self):
        if self.found.frames:
            seconds = max(time.monotonic() - self.found.started, 1e-9)
            self.screen.show(self.source, self.found.frames, 0, self.found.frames / seconds)
        return True

    def record(self, part, line):
        """Records into an Output. Returns whether it is whole."""
        GLib, Gst = self.gst.GLib, self.gst.Gst
        self.gst.stop_at_faults(self.stop)
        self.build(line, part.fd)
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", self.on_message)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.on_interrupt)
        GLib.timeout_add(200, self.show_progress)
        try:
            self.pipeline.set_state(Gst.State.PLAYING)
            self.loop.run()
        finally:
            self.screen.forget(self.source)
            self.pipeline.set_state(Gst.State.NULL)
        if self.whole and not self.found.frames and not self.interrupted:
            self.problem = self.problem or "ended before its first video frame"
        if self.whole and self.found.frames and not self.problem:
            part.keep()
            return True
        return False


def record(gst, source, path, line, found):
    """Returns the exit status, and whether there is a recording."""
    camera = Camera(gst, source, found)
    with Output(path) as part:
        written = camera.record(part, line)
    if camera.problem or camera.broken:
        camera.screen.hear(source, {"problem": camera.problem or camera.broken})
        return 1, written
    if camera.interrupted and not written:
        camera.screen.line("quickstart: interrupted; nothing was written", sys.stderr)
        return 130, written
    return 0, written
