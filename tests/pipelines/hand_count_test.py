#!/usr/bin/python3
"""The crossings and visits of Debian's clip vtest.avi: pipelines/events against a count by hand.

How the truth was counted: every tenth frame of the clip was looked at whole, to find everybody who comes near the line. Then
every fourth frame around each crossing was enlarged, with the line drawn, to read the frame in which the feet pass it. The
line is at a place where people walk one by one, so every crossing was clear, and the frames are exact to about three. A
man turns back twice, 17 and 21 pixels beyond the line: these are four crossings. Another man turns 17 pixels before the
line. A woman on the grass passes below the end of the line (frame 688), without a crossing, and enters the zone from below.
"""

import json
import pathlib
import tempfile
import unittest

import media

RULES = {"width": 768, "height": 576,
         "zones": [{"id": "path", "points": [[0, 150], [145, 150], [145, 350], [0, 350]], "hysteresis": 5,
                    "hysteresis-time": 0.2}],
         "lines": [{"id": "gate", "points": [[145, 150], [145, 350]], "hysteresis": 5}]}
# The frames of the crossings. The line goes downwards, so its right side is on the left of the picture.
CROSSINGS = {"right": [190, 215, 268, 547, 614, 720], "left": [286, 633, 648, 741]}
# The first and the last frame of each visit of the zone. Four visits end at the left border of the picture.
VISITS = [(190, 222), (215, 286), (268, 286), (547, 577), (606, 633), (614, 648), (715, 741), (720, 746)]
FRAMES_PER_SECOND, NEAR = 10, 6  # hysteresis delays crossings by a few frames


class HandCount(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not media.CLIP.exists():
            raise unittest.SkipTest(f"{media.CLIP} of the package opencv-doc is missing")
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder) / "rules.json"
            rules.write_text(json.dumps(RULES), encoding="utf-8")
            text = media.run(media.script("events"), media.CLIP, "--rules", rules)
        cls.events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def expect_near(self, found, expected):
        self.assertEqual(len(found), len(expected), f"{found} instead of {expected}")
        for frame, wanted in zip(sorted(found), sorted(expected)):
            self.assertAlmostEqual(frame, wanted, delta=NEAR)

    def test_crossings_of_vtest_equal_the_count_by_hand(self):
        for side, expected in CROSSINGS.items():
            self.expect_near([event["time"] * FRAMES_PER_SECOND for event in self.events
                              if event["event"] == "crossing" and event["side"] == side], expected)

    def test_visits_of_vtest_equal_the_count_by_hand(self):
        entries = [event for event in self.events if event["event"] == "enter"]
        # With hysteresis-time, an entry is reported 0.2 seconds later.
        self.expect_near([(event["time"] - 0.2) * FRAMES_PER_SECOND for event in entries], [first for first, _ in VISITS])
        leaves = {event["track"]: event["dwell"] for event in self.events if event["event"] == "leave"}
        self.expect_near([leaves[event["track"]] * FRAMES_PER_SECOND for event in entries],
                         [last - first for first, last in VISITS])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
