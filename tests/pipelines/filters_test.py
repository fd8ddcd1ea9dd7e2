#!/usr/bin/python3
"""filters.py: filters as the operator writes them, with properties, devices and label maps; what cannot be
made is refused in words that say what would do."""

import os
import unittest

import inside
import filters
from gstreamer import Gst


class Filters(inside.Case):
    def of(self, filtered, *names):
        """Properties of the element called `a`."""
        return [filtered.get_by_name("a").get_property(name) for name in names]

    def test_values_reach_the_first_element_of_ours(self):
        made = filters.made("videoconvert ! cclabel name=a threshold=0.25 ! cclabel name=b ! regionoverlay",
                            ["min-area=5", "track=true", "output=none"])
        self.assertEqual(self.of(made, "threshold", "min-area", "track"), [0.25, 5, True])
        self.assertEqual(self.of(made, "output").pop().value_nick, "none")
        other = made.get_by_name("b")
        self.assertEqual((other.get_property("min-area"), other.get_property("track")), (0, False))
        self.assertEqual((len(made.sinkpads), len(made.srcpads)), (1, 1))
        # In the order they are given, the last one stays.
        self.assertEqual(self.of(filters.made("cclabel name=a", ["min-area=5", "min-area=6"]), "min-area"), [6])

    def test_devices(self):
        line = "cclabel name=a ! videoconvert ! regionoverlay name=b"
        for device, more, ids in ((2, "", (2, 2)), (0, "", (0, 0)), (-1, "", (-1, -1)),
                                  (2, " cuda-device-id=1", (-1, 1))):
            made = filters.made(line + more, (), device)
            self.assertEqual(tuple(made.get_by_name(name).get_property("cuda-device-id") for name in "ab"), ids)
        self.assertEqual(self.of(filters.made("cclabel name=a"), "cuda-device-id"), [-1])

    def test_label_maps(self):
        line = "cclabel name=b ! slicsuperpixel name=a ! regionoverlay ! identity"
        for wanted, nick in ((True, "always"), (False, None)):
            made = filters.made(line, (), -1, wanted)
            for name in "ab":
                found = made.get_by_name(name).get_property("attach-labels").value_nick
                default = Gst.ElementFactory.make("cclabel").get_property("attach-labels").value_nick
                self.assertEqual(found, nick or default)
                self.assertNotEqual(default, "always")

    def test_filters_that_cannot_be_made(self):
        for line, named, why in (
                ("cclabel ! nonsense", "nonsense", 'no element "nonsense"'),
                ("cclabel ! fakesink", "", "a filter needs one unlinked sink pad and one unlinked source pad"),
                ("videotestsrc ! cclabel", "", "a filter needs one unlinked sink pad and one unlinked source pad"),
                ("cclabel regionoverlay", "", "cclabel is not linked to another element: write ! between them"),
                ("videoscale ! videoconvert cclabel", "", "videoscale is not linked to another element: write ! between them"),
                ("cclabel color=3", "cclabel", 'no property "color" in element "cclabel"'),
                ("cclabel output=x", '"output"', ": expected one of overlay, labels, colors, mask, none"),
                ("cclabel track=perhaps", '"track"', ": expected true or false"),
                ("regionoverlay style=box", '"style"', ": expected some of these, joined by +: boxes, outlines, fill, ids"),
                ("cclabel seeds=1", '"seeds"', ": expected numbers as in <1,2,3>")):
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

    def test_properties_that_cannot_be_set(self):
        for assignment, why in (
                ("threshold", "'threshold': expected PROPERTY=VALUE"),
                ("colour=3", "cclabel has no property 'colour'; gst-inspect-1.0 cclabel lists them"),
                ("=3", "cclabel has no property ''; gst-inspect-1.0 cclabel lists them"),
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
                ("style=boxes+", "cclabel style=boxes+: expected some of these, joined by +: boxes, outlines, fill, ids"),
                ("style=boxes,ids",
                 "cclabel style=boxes,ids: expected some of these, joined by +: boxes, outlines, fill, ids"),
                ("seeds=1,2", "cclabel seeds=1,2: expected numbers as in <1,2,3>"),
                ("seeds=<1,2", "cclabel seeds=<1,2: expected numbers as in <1,2,3>"),
                ("seeds=<1,>", "cclabel seeds=<1,>: expected numbers as in <1,2,3>"),
                ("seeds=<a>", "cclabel seeds=<a>: expected numbers as in <1,2,3>"),
                ("seeds=<-3,5>", "cclabel seeds=<-3,5>: out of range")):
            with self.assertRaises(filters.BadFilter) as bad:
                filters.made("videoconvert ! cclabel", [assignment])
            self.assertEqual(str(bad.exception), why)

    def test_values_of_every_kind(self):
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
