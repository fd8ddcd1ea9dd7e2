#!/usr/bin/python3
"""gstreamer.py: how programs read the metadata, and what they make of messages and of their own faults."""

import struct
import subprocess
import sys
import unittest
import unittest.mock

import inside
import media
import numpy
import gstreamer
from gstreamer import GLib, Gst


def buffers(line):
    """The buffers of a pipeline that ends by itself."""
    pipeline = Gst.parse_launch(line + " ! appsink name=frames sync=false")
    pipeline.set_state(Gst.State.PLAYING)
    frames, found = pipeline.get_by_name("frames"), []
    while sample := frames.emit("pull-sample"):
        found.append(sample.get_buffer())
    pipeline.set_state(Gst.State.NULL)
    return found


SOURCE = "videotestsrc num-buffers=1 pattern=smpte ! video/x-raw,format=GRAY8,width=64,height=48"


class Metadata(inside.Case):
    def test_a_table_of_regions(self):
        buffer, = buffers(SOURCE + " ! cclabel output=none attach-runs=true attach-labels=always")
        table = gstreamer.regions_table(buffer)
        self.assertEqual(gstreamer.regions_total(buffer), table["regions-total"])
        self.assertEqual(len(table["regions"]), table["regions-total"])
        self.assertGreater(table["regions-total"], 0)
        self.assertEqual((table["width"], table["height"]), (64, 48))
        for hidden in ("labels", "labels-format", "labels-width", "labels-height", "adjacency"):
            self.assertNotIn(hidden, table)
        for region in (dict(zip(table["columns"], row, strict=True)) for row in table["regions"]):
            self.assertLessEqual({"id", "track", "x", "y", "width", "height", "area", "cx", "cy"}, set(region))
            runs = [run for run in table["runs"] if run[0] == region["id"]]
            self.assertEqual(sum(width for *_, width in runs), region["area"])
            self.assertEqual(min(x for _, x, *_ in runs), region["x"])
            self.assertEqual(min(y for _, _, y, _ in runs), region["y"])

    def test_the_table_says_what_the_structures_say(self):
        """With every kind of field; where an element moved the regions there are structures alone."""
        for line in ("cclabel output=none", "cclabel output=none track=true", "cclabel output=none thresholds=<0.2,0.6>",
                     "cclabel output=none min-area=5000", "slicsuperpixel output=none attach-covariance=true",
                     "cclabel output=none ! videoscale method=nearest-neighbour ! video/x-raw,width=32,height=24"):
            buffer, = buffers(f"{SOURCE} ! {line}")
            table, structure = gstreamer.regions_table(buffer), buffer.get_custom_meta("regions").get_structure()
            wanted = [gstreamer.fields(region) for region in structure.get_value("regions")]
            self.assertEqual([dict(zip(table["columns"], row, strict=True)) for row in table["regions"]], wanted)
            self.assertEqual(len(wanted) > 0, "min-area" not in line, line)
            self.assertEqual(structure.has_field("table"), "videoscale" not in line and "min-area" not in line)
            if structure.has_field("table"):  # as docs tell NumPy's users
                found = numpy.frombuffer(gstreamer.bytes_in(structure, "table"), [
                    tuple(column.split(":")) for column in structure.get_value("table-columns").split()])
                self.assertEqual([dict(zip(found.dtype.names, row)) for row in found.tolist()], wanted)

    def test_a_table_of_superpixels(self):
        buffer, = buffers(SOURCE + " ! slicsuperpixel output=none region-size=16 attach-adjacency=true")
        table = gstreamer.regions_table(buffer)
        ids = {row[table["columns"].index("id")] for row in table["regions"]}
        self.assertGreater(len(table["adjacency"]), 3)
        for pair in table["adjacency"]:
            self.assertEqual(len(pair), 3)
            self.assertLess(pair[0], pair[1])
            self.assertLessEqual({*pair[:2]}, ids)
            self.assertTrue(1 <= pair[2] <= 64, pair)
        self.assertNotIn("runs", table)

    def test_frames_without_metadata(self):
        buffer, = buffers(SOURCE)
        self.assertEqual(gstreamer.regions_total(buffer), 0)
        self.assertIsNone(gstreamer.regions_table(buffer))

    def test_fields(self):
        structure = Gst.Structure.new_from_string("x, a=(int)1, b=(string)two, c=(double)0.5;")
        self.assertEqual(gstreamer.fields(structure), {"a": 1, "b": "two", "c": 0.5})
        self.assertEqual(gstreamer.fields(structure, ("a", "c")), {"b": "two"})

    def test_lists_are_read_number_by_number(self):
        """Least byte first, whatever machine reads them."""
        packed = Gst.Buffer.new_wrapped(struct.pack("<8I", 1, 2, 3, 4, 5, 6, 7, 1 << 31))
        pairs = Gst.Buffer.new_wrapped(struct.pack("<3I", 1, 2, 1 << 24))

        class Structure:
            values = {"regions": [], "runs": packed, "adjacency": pairs}

            def n_fields(self):
                return len(self.values)

            def nth_field_name(self, i):
                return list(self.values)[i]

            def get_value(self, name):
                return self.values[name]

            def has_field(self, name):
                return name in self.values

        class Buffer:
            def get_custom_meta(self, name):
                return self if name == "regions" else None

            def get_structure(self):
                return Structure()

        self.assertEqual(gstreamer.regions_table(Buffer()), {"runs": [[1, 2, 3, 4], [5, 6, 7, 1 << 31]],
                                                             "adjacency": [[1, 2, 1 << 24]], "columns": [],
                                                             "regions": []})


class Messages(inside.Case):
    def error(self, domain, code, detail="detail", source=None):
        error = GLib.Error.new_literal(domain.quark(), "what happened", code)
        return Gst.Message.new_error(source or Gst.ElementFactory.make("identity"), error, detail)

    def test_texts_of_errors(self):
        for detail, text in ((None, "what happened"), ("", "what happened"), ("one line", "what happened"),
                             ("file.c(7): f (): /a/b:\nthe cause", "what happened (the cause)"),
                             ("a\nb\nc", "what happened (c)")):
            message = self.error(Gst.ResourceError, Gst.ResourceError.READ, detail or "")
            if detail is None:
                message = unittest.mock.Mock(parse_error=lambda told=message.parse_error()[0]: (told, None))
            self.assertEqual(gstreamer.error_text(message), text)

    def test_caps(self):
        """As each version gives them."""
        for prepare in (lambda: None, self.give_contexts):
            prepare()
            caps = Gst.Caps.from_string("video/x-raw,width=3,framerate=30/1;video/x-raw,width=4")
            found = gstreamer.first_structure(caps)
            self.assertEqual((found.get_name(), found.get_value("width")), ("video/x-raw", 3))
            del caps
            self.assertTrue(found.has_name("video/x-raw"))
            self.assertEqual(found.get_value("width"), 3, "a copy")
            self.assertEqual(found.get_value("framerate").num, 30)

    def test_faults_of_a_callback_end_the_program(self):
        heard = []

        def fail():
            gstreamer.stop_at_faults(heard.append)
            try:
                raise ValueError("of mine")
            except ValueError:
                sys.excepthook(*sys.exc_info())

        said = inside.called(fail)
        self.assertEqual(heard, ["internal error of this program (the input is not the cause): ValueError: of mine"])
        self.assertRegex(said.err, r"(?s)^Traceback .*ValueError: of mine\n$")
        self.assertIs(sys.excepthook, sys.__excepthook__)


# A thread that meets PyGObject in the middle of making the enumeration, at each of its lines.
MEET = """
import sys, threading
from gstreamer import GstVideo

def meet():
    GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string("I420"))

def trace(frame, event, _):
    if not frame.f_code.co_filename.endswith("gi/module.py"):
        return None
    if event == "line" and frame.f_locals.get("wrapper"):
        thread = threading.Thread(target=meet)
        thread.start()
        thread.join()
    return trace

sys.settrace(trace)
GstVideo.VideoFormat
sys.settrace(None)
meet()
"""


class Threads(inside.Case):
    def test_formats_are_whole_before_threads_begin(self):
        done = subprocess.run([sys.executable, "-c", MEET], cwd=media.ROOT / "pipelines", capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_threads_are_limited(self):
        """Also in bins; where no number is said, an element would have as many as there are processors."""
        line = "cclabel name=a ! videoconvert n-threads=2 name=b ! cclabel cpu-threads=3 name=c ! x264enc name=d"
        properties = {"a": "cpu-threads", "b": "n-threads", "c": "cpu-threads", "d": "threads", "e": "cpu-threads"}
        for most, expected in ((0, (0, 2, 3, 0, 0)), (1, (1, 1, 1, 1, 1)), (2, (2, 2, 2, 2, 2)), (5, (5, 2, 3, 5, 5))):
            made = Gst.parse_bin_from_description(line, False)
            made.add(Gst.parse_bin_from_description("identity ! cclabel name=e", True))
            gstreamer.limit_threads(made, most)
            self.assertEqual(tuple(made.get_by_name(name).get_property(key) for name, key in properties.items()), expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
