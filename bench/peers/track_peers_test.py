#!/usr/bin/env python3
"""track_peers.py names missing packages, and numbers ids for HOTA."""
import contextlib
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import track_peers  # noqa: E402  (after the path)

CLIP = [[(7, 5 * t, 0, 10, 20), (9, 5 * t, 100, 10, 20)] for t in range(10)]


def quietly(function, request):
    """The answer, and the messages."""
    messages = io.StringIO()
    with contextlib.redirect_stderr(messages):
        return function(request), messages.getvalue()


class Peers(unittest.TestCase):
    def test_peers_without_packages_are_named_and_skipped(self):
        with mock.patch.dict(sys.modules, {"trackers": None, "trackeval": None, "trackeval.metrics": None}):
            found, messages = quietly(track_peers.follow, {"memory": 30, "clips": []})
            self.assertEqual(found, {})
            for name in track_peers.TRACKERS:
                self.assertIn(name, messages)
            found, messages = quietly(track_peers.hota, {"truths": [], "tracks": {}})
            self.assertEqual(found, {})
            self.assertIn("HOTA is skipped", messages)

    def test_peers_with_one_missing_tracker_name_it_and_run_the_others(self):
        package = mock.Mock(spec=["SORTTracker"])
        with mock.patch.dict(sys.modules, {"trackers": package}):
            found, messages = quietly(track_peers.follow, {"memory": 30, "clips": []})
        self.assertEqual(found, {"SORT": []})
        self.assertIn("C-BIoU is skipped: this version of the package trackers has no CBIoUTracker", messages)

    def test_track_ids_become_consecutive_numbers_from_zero(self):
        ids, count = track_peers.numbers([[(40, 0), (7, 0)], [], [(7, 0), (8, 0)]])
        self.assertEqual(([each.tolist() for each in ids], count), ([[0, 1], [], [1, 2]], 3))

    def test_hota_of_equal_tracks_is_1_and_of_broken_tracks_less(self):
        try:
            import trackeval  # noqa: F401
        except ImportError as reason:
            self.skipTest(f"{reason}; HOTA needs the package trackeval")
        broken = [[(name + 100 * (t > 4), *box) for name, *box in frame] for t, frame in enumerate(CLIP)]
        found, _ = quietly(track_peers.hota, {"truths": [CLIP], "tracks": {"equal": [CLIP], "broken": [broken]}})
        self.assertEqual(found["equal"], 1)
        self.assertAlmostEqual(found["broken"], 0.5 ** 0.5, places=3)  # each id has half of the frames


if __name__ == "__main__":
    unittest.main()
