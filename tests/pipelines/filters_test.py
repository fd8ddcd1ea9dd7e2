#!/usr/bin/python3
"""filters.py and gstreamer.py: filters as users write them, metadata as programs read it, messages and threads."""

import os
import struct
import subprocess
import sys
import unittest.mock

import numpy

import media
from cases import Case, called, main
import filters  # after cases, which sets the path
import gstreamer
from gstreamer import GLib, Gst


PADS = "expected exactly one unlinked sink pad and one unlinked source pad, as in 'cclabel ! regionoverlay'"


class Filters(Case):
    def of(self, filtered, *names):
        """Properties of the element called `a`."""
        return [filtered.get_by_name("a").get_property(name) for name in names]

    def test_property_arguments_are_set_on_the_first_element_of_this_plugin(self):
        made = filters.made("videoconvert ! cclabel name=a threshold=0.25 ! cclabel name=b ! regionoverlay",
                            ["min-area=5", "track=true", "output=none"])
        self.assertEqual(self.of(made, "threshold", "min-area", "track"), [0.25, 5, True])
        self.assertEqual(self.of(made, "output").pop().value_nick, "none")
        other = made.get_by_name("b")
        self.assertEqual((other.get_property("min-area"), other.get_property("track")), (0, False))
        self.assertEqual((len(made.sinkpads), len(made.srcpads)), (1, 1))
        # In the order they are given, the last one stays.
        self.assertEqual(self.of(filters.made("cclabel name=a", ["min-area=5", "min-area=6"]), "min-area"), [6])

    def test_caps_at_the_ends_of_a_chain_are_accepted(self):
        for line in ("video/x-raw,width=64 ! cclabel name=a", "cclabel name=a ! video/x-raw,width=64",
                     " video/x-raw(memory:SystemMemory) ! cclabel name=a ! video/x-raw,width=64"):
            made = filters.made(line, ["min-area=7"])
            self.assertEqual(self.of(made, "min-area"), [7])
            self.assertEqual((len(made.sinkpads), len(made.srcpads)), (1, 1))

    def test_device_is_set_on_elements_unless_the_filter_sets_one(self):
        line = "cclabel name=a ! videoconvert ! regionoverlay name=b"
        for device, more, ids in ((2, "", (2, 2)), (0, "", (0, 0)), (-1, "", (-1, -1)),
                                  (2, " cuda-device-id=1", (-1, 1))):
            made = filters.made(line + more, (), device)
            self.assertEqual(tuple(made.get_by_name(name).get_property("cuda-device-id") for name in "ab"), ids)
        self.assertEqual(self.of(filters.made("cclabel name=a"), "cuda-device-id"), [-1])

    def test_attach_labels_is_set_to_always_only_on_request(self):
        line = "cclabel name=b ! slicsuperpixel name=a ! regionoverlay ! identity"
        for wanted, nick in ((True, "always"), (False, None)):
            made = filters.made(line, (), -1, wanted)
            for name in "ab":
                found = made.get_by_name(name).get_property("attach-labels").value_nick
                default = Gst.ElementFactory.make("cclabel").get_property("attach-labels").value_nick
                self.assertEqual(found, nick or default)
                self.assertNotEqual(default, "always")

    def test_element_chain_when_invalid_raises_an_error_with_the_reason(self):
        for line, named, why in (
                ("cclabel ! nonsense", "nonsense", 'no element "nonsense"'),
                ("cclabel ! fakesink", "", PADS), ("videotestsrc ! cclabel", "", PADS),
                ("cclabel regionoverlay", "", "cclabel is not linked to another element: write ! between them"),
                ("videoscale ! videoconvert cclabel", "", "videoscale is not linked to another element: write ! between them"),
                ("cclabel color=3", "cclabel", 'no property "color" in element "cclabel"'),
                ("cclabel output=x", '"output"', ": expected one of overlay, labels, colors, mask, none"),
                ("cclabel track=perhaps", '"track"', ": expected true or false"),
                ("regionoverlay style=box", '"style"',
                 ": expected one or more of these, joined by +: boxes, outlines, fill, ids, pixelate, blur"),
                ("cclabel seeds=1", '"seeds"', ": expected a list of numbers such as <1,2,3>")):
            with self.assertRaises(filters.BadFilter) as bad:
                filters.made(line)
            text = str(bad.exception)
            self.assertIn(named, text)
            self.assertEqual(text[-len(why):], why)
            self.assertTrue(text == why or why.startswith(":"), text)
        with self.assertRaises(filters.BadFilter) as bad:
            filters.made("videoconvert ! cclabel threshold=7")
        self.assertRegex(str(bad.exception), r"'threshold' of type 'gdouble': expected a number from 0 to 1$")
        with self.assertRaises(filters.BadFilter):
            filters.made("")

    def test_property_argument_when_invalid_raises_an_error_with_the_accepted_values(self):
        for assignment, why in (
                ("threshold", "'threshold': expected PROPERTY=VALUE"),
                ("colour=3", "cclabel has no property 'colour': run 'gst-inspect-1.0 cclabel' for a list of its properties"),
                ("=3", "cclabel has no property '': run 'gst-inspect-1.0 cclabel' for a list of its properties"),
                ("threshold=", "cclabel threshold=: expected a number from 0 to 1"),
                ("threshold=1.001", "cclabel threshold=1.001: expected a number from 0 to 1"),
                ("threshold=-0.001", "cclabel threshold=-0.001: expected a number from 0 to 1"),
                ("threshold=nan", "cclabel threshold=nan: expected a number from 0 to 1"),
                ("threshold=0x1", "cclabel threshold=0x1: expected a number from 0 to 1"),
                ("max-regions=0", "cclabel max-regions=0: expected a number from 1 to 65536"),
                ("max-regions=65537", "cclabel max-regions=65537: expected a number from 1 to 65536"),
                ("max-regions=1.5", "cclabel max-regions=1.5: expected a number from 1 to 65536"),
                ("track=", "cclabel track=: expected true or false"), ("track=2", "cclabel track=2: expected true or false"),
                ("output=", "cclabel output=: expected one of overlay, labels, colors, mask, none"),
                ("output=None", "cclabel output=None: expected one of overlay, labels, colors, mask, none"),
                ("style=boxes+", "cclabel style=boxes+: expected one or more of these, joined by +: boxes, outlines, fill, ids"),
                ("style=boxes,ids",
                 "cclabel style=boxes,ids: expected one or more of these, joined by +: boxes, outlines, fill, ids"),
                ("seeds=1,2", "cclabel seeds=1,2: expected a list of numbers such as <1,2,3>"),
                ("seeds=<1,2", "cclabel seeds=<1,2: expected a list of numbers such as <1,2,3>"),
                ("seeds=<1,>", "cclabel seeds=<1,>: expected a list of numbers such as <1,2,3>"),
                ("seeds=<a>", "cclabel seeds=<a>: expected a list of numbers such as <1,2,3>"),
                ("seeds=<-3,5>", "cclabel seeds=<-3,5>: the value is out of range")):
            with self.assertRaises(filters.BadFilter) as bad:
                filters.made("videoconvert ! cclabel", [assignment])
            self.assertEqual(str(bad.exception), why)

    def test_property_arguments_of_every_type_are_set(self):
        for assignment, value in (("threshold=0", 0.0), ("threshold=1", 1.0), ("threshold=.5", 0.5),
                                  ("threshold=1e-1", 0.1), ("max-regions=1", 1), ("max-regions=65536", 65536),
                                  ("max-regions=0x10", 16), ("track=true", True), ("track=TRUE", True),
                                  ("track=yes", True), ("track=1", True), ("track=false", False),
                                  ("track=No", False), ("track=0", False)):
            name = assignment.split("=")[0]
            self.assertEqual(self.of(filters.made("cclabel name=a track=true", [assignment]), name), [value], assignment)
        for text, numbers in (("<>", []), ("<3>", [3]), ("< 3.5 , 4 >", [3.5, 4]), ("<1,2,3,4>", [1, 2, 3, 4])):
            made = filters.made("cclabel name=a", ["seeds=" + text])
            self.assertEqual(list(*self.of(made, "seeds")), numbers)
        self.assertEqual(int(self.of(filters.made("cclabel name=a", ["style=ids+boxes"]), "style").pop()), 9)
        self.assertEqual(self.of(filters.made("graphcutbg name=a", ["replace-color=0xFF102030"]), "replace-color"),
                         [0xFF102030])
        # A text is a text, whatever is in it.
        for text in ("a=b", "", 'x" ! filesink location="y', "\\", "<1>", "%s"):
            made = filters.made("graphcutbg name=a", ["model-location=" + text])
            self.assertEqual(self.of(made, "model-location"), [text])
        made = filters.made("graphcutbg name=a", ["model-location=" + os.fsdecode(b"\xff\xfe")])
        with self.assertRaises(UnicodeDecodeError):  # PyGObject reads UTF-8 alone: the bytes are there
            self.of(made, "model-location")


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


class Metadata(Case):
    def test_region_table_areas_and_positions_equal_those_of_the_runs(self):
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

    def test_region_table_of_any_frame_equals_the_region_structures(self):
        """With every kind of field. After an element has moved the regions, there are only structures."""
        for line in ("cclabel output=none", "cclabel output=none track=true", "cclabel output=none thresholds=<0.2,0.6>",
                     "cclabel output=none min-area=5000", "slicsuperpixel output=none attach-covariance=true describe=structures",
                     "cclabel output=none ! videoscale method=nearest-neighbour ! video/x-raw,width=32,height=24"):
            buffer, = buffers(f"{SOURCE} ! {line}")
            table, structure = gstreamer.regions_table(buffer), buffer.get_custom_meta("regions").get_structure()
            wanted = [gstreamer.fields(region) for region in structure.get_value("regions")]
            self.assertEqual([dict(zip(table["columns"], row, strict=True)) for row in table["regions"]], wanted)
            self.assertEqual(len(wanted) > 0, "min-area" not in line, line)
            self.assertEqual(structure.has_field("table"), "videoscale" not in line and "min-area" not in line)
            if structure.has_field("table"):  # as the documentation shows for NumPy
                found = numpy.frombuffer(gstreamer.bytes_in(structure, "table"), [
                    tuple(column.split(":")) for column in structure.get_value("table-columns").split()])
                self.assertEqual([dict(zip(found.dtype.names, row)) for row in found.tolist()], wanted)

    def test_region_table_of_superpixels_has_adjacency(self):
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

    def test_region_table_of_a_frame_without_metadata_is_none(self):
        buffer, = buffers(SOURCE)
        self.assertEqual(gstreamer.regions_total(buffer), 0)
        self.assertIsNone(gstreamer.regions_table(buffer))

    def test_fields_of_a_structure_are_returned_as_a_dictionary(self):
        structure = Gst.Structure.new_from_string("x, a=(int)1, b=(string)two, c=(double)0.5;")
        self.assertEqual(gstreamer.fields(structure), {"a": 1, "b": "two", "c": 0.5})
        self.assertEqual(gstreamer.fields(structure, ("a", "c")), {"b": "two"})

    def test_region_table_reads_runs_and_adjacency_as_little_endian(self):
        """Little-endian on every machine."""
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


class Messages(Case):
    def error(self, domain, code, detail="detail", source=None):
        error = GLib.Error.new_literal(domain.quark(), "what happened", code)
        return Gst.Message.new_error(source or Gst.ElementFactory.make("identity"), error, detail)

    def test_error_text_returns_the_message_and_its_cause(self):
        for detail, text in ((None, "what happened"), ("", "what happened"), ("one line", "what happened"),
                             ("file.c(7): f (): /a/b:\nthe cause", "what happened (the cause)"),
                             ("a\nb\nc", "what happened (c)")):
            message = self.error(Gst.ResourceError, Gst.ResourceError.READ, detail or "")
            if detail is None:
                message = unittest.mock.Mock(parse_error=lambda told=message.parse_error()[0]: (told, None))
            self.assertEqual(gstreamer.error_text(message), text)

    def test_first_structure_of_caps_remains_valid_after_the_caps_are_deleted(self):
        """The bindings of each version return caps in another way."""
        for prepare in (lambda: None, self.give_contexts):
            prepare()
            caps = Gst.Caps.from_string("video/x-raw,width=3,framerate=30/1;video/x-raw,width=4")
            found = gstreamer.first_structure(caps)
            self.assertEqual((found.get_name(), found.get_value("width")), ("video/x-raw", 3))
            del caps
            self.assertTrue(found.has_name("video/x-raw"))
            self.assertEqual(found.get_value("width"), 3, "a copy")
            self.assertEqual(found.get_value("framerate").num, 30)

    def test_exception_in_a_callback_is_passed_to_the_fault_handler_and_printed(self):
        heard = []

        def fail():
            gstreamer.stop_at_faults(heard.append)
            try:
                raise ValueError("of mine")
            except ValueError:
                sys.excepthook(*sys.exc_info())

        said = called(fail)
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


class Threads(Case):
    def test_video_formats_first_used_by_two_threads_at_once_cause_no_error(self):
        done = subprocess.run([sys.executable, "-c", MEET], cwd=media.ROOT / "pipelines", capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_thread_limit_lowers_the_thread_properties_of_all_elements_also_in_bins(self):
        """Also in bins. Without a number, an element would have one thread per processor."""
        line = "cclabel name=a ! videoconvert n-threads=2 name=b ! cclabel cpu-threads=3 name=c ! x264enc name=d"
        properties = {"a": "cpu-threads", "b": "n-threads", "c": "cpu-threads", "d": "threads", "e": "cpu-threads"}
        for most, expected in ((0, (0, 2, 3, 0, 0)), (1, (1, 1, 1, 1, 1)), (2, (2, 2, 2, 2, 2)), (5, (5, 2, 3, 5, 5))):
            made = Gst.parse_bin_from_description(line, False)
            made.add(Gst.parse_bin_from_description("identity ! cclabel name=e", True))
            gstreamer.limit_threads(made, most)
            self.assertEqual(tuple(made.get_by_name(name).get_property(key) for name, key in properties.items()), expected)


if __name__ == "__main__":
    main()
