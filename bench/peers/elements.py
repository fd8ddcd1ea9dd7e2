"""Runs a chain of this plugin's elements, one frame at a time. Needs python3-gi and GStreamer's base plugins."""


class Elements:
    """Takes BGR pictures of one size (height, width), at 10 frames per second."""

    def __init__(self, chain, size):
        import gi
        gi.require_version("Gst", "1.0")
        from gi.repository import Gst
        Gst.init(None)
        self.gst = Gst
        self.line = Gst.parse_launch(
            f"appsrc name=in format=time caps=video/x-raw,format=BGR,width={size[1]},height={size[0]},"
            f"framerate=10/1 ! {chain} ! appsink name=out sync=false")
        self.source, self.sink = self.line.get_by_name("in"), self.line.get_by_name("out")
        self.line.set_state(Gst.State.PLAYING)
        self.count = 0

    def regions(self, picture, names):
        """The values of the named fields, as one tuple per region of the next frame."""
        buffer = self.gst.Buffer.new_wrapped(picture.tobytes())
        buffer.pts = self.count * self.gst.SECOND // 10
        self.count += 1
        self.source.emit("push-buffer", buffer)
        sample = self.sink.emit("pull-sample")
        if sample is None:
            raise SystemExit("elements.py: the chain ended without a frame; GST_DEBUG=2 shows why")
        found = sample.get_buffer().get_custom_meta("regions").get_structure()
        return [tuple(region.get_value(name) for name in names) for region in found.get_value("regions")]

    def end(self):
        self.line.set_state(self.gst.State.NULL)
