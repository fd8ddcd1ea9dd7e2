#!/usr/bin/python3
"""transcode/tracks.py: which tracks of two segments are the same, and what all are called in the file."""

import json
import unittest

import inside  # before what lies beside the programs
import tracks


def region(track, x, y=10, first=0, width=10):
    return {"track": track, "first-seen": first, "x": x, "y": y, "width": width, "height": 10}


def table(time, *regions):
    columns = list(dict.fromkeys(name for one in regions for name in one))
    return {"time": time, "columns": columns, "regions": [[one.get(name) for name in columns] for one in regions]}


class Tracks(inside.Case):
    def renamed(self, known, one):
        known.rename(one)
        places = [one["columns"].index(name) for name in ("track", "first-seen")]
        return [tuple(region[place] for place in places) for region in one["regions"]]

    def test_overlap(self):
        for x, y, share in ((10, 10, 1), (15, 10, 1 / 3), (10, 19, 1 / 19), (20, 10, 0), (0, 10, 0), (11, 30, 0)):
            self.assertAlmostEqual(tracks.overlap(region(1, 10), region(1, x, y)), share)

    def test_tracks_go_on(self):
        known = tracks.Tracks()
        known.begin([])
        self.assertEqual(self.renamed(known, table(0.0, region(1, 10), region(2, 50))), [(1, 0), (2, 0)])
        self.assertEqual(self.renamed(known, table(0.1, region(2, 52), region(7, 90, first=1))), [(2, 0), (3, 1)])
        # The filter of the next segment began with the second frame, and numbered what it saw in its own order.
        known.begin([table(0.1, region(1, 90, first=1), region(2, 51, first=1))])
        after = table(0.2, region(2, 53), region(1, 91), region(3, 10, first=2))
        after["last-track"] = 3
        self.assertEqual(self.renamed(known, after), [(2, 0), (3, 1), (4, 2)])
        self.assertEqual(after["last-track"], 4)

    def test_regions_that_meet_anew(self):
        """One that was lost in the last frames is found by earlier ones; each track goes on once; what lies elsewhere
        is another."""
        known = tracks.Tracks()
        known.begin([])
        known.rename(table(0.0, region(1, 10), region(2, 50)))
        known.rename(table(0.1, region(2, 50)))
        known.begin([table(0.0, region(4, 11), region(5, 50)), table(0.1, region(5, 50), region(6, 52))])
        after = table(0.2, region(4, 11), region(5, 50), region(6, 52), region(8, 99, first=2))
        self.assertEqual([track for track, _ in self.renamed(known, after)], [1, 2, 3, 4])

    def test_regions_that_tracks_share(self):
        """Each of the tracks goes on, whichever of them the region's record has."""
        known = tracks.Tracks()
        known.begin([])
        shared = region(1, 10, width=20) | {"id": 1}, region(2, 50) | {"id": 2}, region(3, 24) | {"id": 1}
        self.assertEqual(self.renamed(known, table(0.0, *shared)), [(1, 0), (2, 0), (3, 0)])
        known.begin([table(0.0, region(8, 24) | {"id": 1}, region(7, 50) | {"id": 2}, region(9, 10, width=20) | {"id": 1})])
        after = table(0.1, region(9, 10, width=20) | {"id": 1}, region(7, 50) | {"id": 2}, region(8, 25) | {"id": 1})
        self.assertEqual([track for track, _ in self.renamed(known, after)], [1, 2, 3])

    def test_regions_that_are_not_followed(self):
        known = tracks.Tracks()
        known.begin([])
        for one in (table(0.0, {"track": 9, "id": 9}), table(0.1, {"track": 9, "first-seen": None})):
            before = json.loads(json.dumps(one))
            known.rename(one)
            self.assertEqual(one, before)
        # Not born yet: before the seam, and as known of the frames behind it.
        unborn = table(0.1, region(0, 10), region(3, 50))
        self.assertEqual(self.renamed(known, unborn), [(0, 0), (1, 0)])
        known.begin([table(0.1, region(0, 10), region(8, 50))])
        self.assertEqual(self.renamed(known, table(0.2, region(4, 10), region(8, 50))), [(2, 0), (1, 0)])
        known = tracks.Tracks()
        known.begin([])
        # Beside some that are.
        mixed = table(0.2, region(9, 10, first=None), region(5, 50))
        self.assertEqual(self.renamed(known, mixed), [(9, None), (1, 0)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
