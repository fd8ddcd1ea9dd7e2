#!/usr/bin/env python3
"""Run lengths in the metadata, read by a Python application: painted, the runs equal the label map."""
import json
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from metadata import frames, gstreamer

PIPELINE = ("videotestsrc pattern=snow num-buffers=3 ! video/x-raw,format=GRAY8,width=60,height=40"
            " ! cclabel device=cpu output=none connectivity=4 attach-runs=true")


class Runs(unittest.TestCase):
    def test_pixel_runs_in_metadata_painted_as_a_picture_equal_the_label_map(self):
        count = 0
        for buffer in frames(PIPELINE):
            table = json.loads(json.dumps(gstreamer.regions_table(buffer)))
            self.assertFalse(table["runs-truncated"])
            self.assertGreater(len(table["runs"]), 100)
            painted = [0] * (table["width"] * table["height"])
            areas = {}
            for label, x, y, width in table["runs"]:
                first = y * table["width"] + x
                painted[first:first + width] = [label] * width
                areas[label] = areas.get(label, 0) + width
            labels = buffer.get_custom_meta("regions").get_structure().get_value("labels")
            data = labels.extract_dup(0, labels.get_size())
            self.assertEqual(painted, [label for label, in struct.iter_unpack("<I", data)])
            self.assertEqual(areas, {
                region[table["columns"].index("id")]: region[table["columns"].index("area")] for region in table["regions"]})
            count += 1
        self.assertEqual(count, 3)


if __name__ == "__main__":
    unittest.main()
