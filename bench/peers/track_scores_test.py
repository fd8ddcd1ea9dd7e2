#!/usr/bin/env python3
"""Scores of tracks, compared with figures counted by hand."""
import unittest

from track_scores import Count


def box(name, x, y=0, width=10, height=20):
    return (name, x, y, width, height)


class CountedByHand(unittest.TestCase):
    def scored(self, truth, tracks):
        count = Count()
        count.add_clip(truth, tracks)
        return count.figures()

    def test_scores_of_perfect_tracks_are_1(self):
        clip = [[box(1, t), box(2, 50 - t)] for t in range(5)]
        renamed = [[(9 - name, *rest) for name, *rest in frame] for frame in clip]
        self.assertEqual(self.scored(clip, renamed),
                         {"idf1": 1, "mota": 1, "switches": 0, "precision": 1, "recall": 1})

    def test_scores_of_a_track_that_changes_its_id_count_one_switch(self):
        # Ten frames, the id changes after six: 6 of 10 belong to the id that is most often there.
        truth = [[box(1, t)] for t in range(10)]
        tracks = [[box(5 if t < 6 else 8, t)] for t in range(10)]
        self.assertEqual(self.scored(truth, tracks),
                         {"idf1": 0.6, "mota": 0.9, "switches": 1, "precision": 1, "recall": 1})

    def test_scores_of_two_swapped_ids_count_two_switches(self):
        truth = [[box(1, 0), box(2, 50)]] * 4
        tracks = [[box(1, 0), box(2, 50)]] * 3 + [[box(2, 0), box(1, 50)]]
        self.assertEqual(self.scored(truth, tracks)["switches"], 2)
        self.assertEqual(self.scored(truth, tracks)["idf1"], 0.75)

    def test_scores_with_missed_and_false_boxes_equal_the_hand_count(self):
        # 4 boxes are true; frame 0 finds one of two, frame 1 the other and a false one.
        truth = [[box(1, 0), box(2, 50)], [box(1, 0), box(2, 50)]]
        tracks = [[box(1, 3)], [box(1, 4), box(3, 51)]]
        # 7 of 13 columns are common, 9 of 11: right. 6 of 14: false.
        self.assertEqual(self.scored(truth, tracks), {"idf1": round(4 / 7, 4), "mota": 0.25, "switches": 0,
                                                      "precision": round(2 / 3, 4), "recall": 0.5})

    def test_matching_when_a_nearer_box_appears_keeps_the_earlier_pair(self):
        truth = [[box(1, 0)], [box(1, 0)]]
        tracks = [[box(7, 0)], [box(7, 3), box(8, 0)]]
        self.assertEqual(self.scored(truth, tracks)["switches"], 0)

    def test_switches_after_a_gap_with_the_same_id_are_none(self):
        truth = [[box(1, 0)]] * 3
        self.assertEqual(self.scored(truth, [[box(4, 0)], [], [box(4, 0)]])["switches"], 0)
        self.assertEqual(self.scored(truth, [[box(4, 0)], [], [box(5, 0)]])["switches"], 1)


if __name__ == "__main__":
    unittest.main()
