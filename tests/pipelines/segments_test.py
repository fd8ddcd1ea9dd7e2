#!/usr/bin/python3
"""transcode/segments.py: where files are cut, how long filters warm up, what encoders get, and tracks across segments."""

import json
import os
import tempfile
import zlib
from fractions import Fraction

from cases import FRAMES, Case, called, main
import filters  # after cases, which sets the path
from gstreamer import Gst
from transcode import encode, job, segments


YUV = ("-pix_fmt", "yuv420p")
KEYS = ("-force_key_frames", "0,0.8,1.6,2.4", "-x264-params", "scenecut=0")


class Plans(Case):
    def clip(self, name, *options):
        return super().clip(name, f"testsrc2=size=64x48:rate=25:duration={FRAMES / 25}", *options)

    def spans(self, clip, seconds, warm=0):
        """Tuples of seconds (key frame, first frame, first frame after the span), and the number of packets."""
        found = segments.plan(str(clip), seconds, warm)
        self.assertIsNone(found["why"])
        self.assertIn("h264", json.dumps(found["probed"]))
        base = Fraction(found["spans"][0]["base"])

        def time(span, name):
            return None if span[name] is None else round(float((span[name] - span["first"]) * base), 2)

        return [(*(time(span, name) for name in ("key", "from", "until")), span["packets"]) for span in found["spans"]]

    def test_segment_plan_cuts_at_key_frames(self):
        clip = self.clip("in.mp4", *YUV, *KEYS, "-bf", "2")
        self.assertEqual(self.spans(clip, 0.79), [(None, 0, 0.8, 20), (0.8, 0.8, 1.6, 20), (1.6, 1.6, 2.4, 20),
                                                 (2.4, 2.4, None, 20)])
        self.assertEqual(self.spans(clip, 0.9), [(None, 0, 1.6, 40), (1.6, 1.6, None, 40)])
        # The last segment has at least half of the length.
        self.assertEqual(segments.plan(str(clip), 2, 0)["why"], "no key frame is far enough from its ends")
        self.assertEqual(self.spans(clip, 1.59), [(None, 0, 1.6, 40), (1.6, 1.6, None, 40)])
        self.assertEqual(self.spans(clip, 1.5), [(None, 0, 1.6, 40), (1.6, 1.6, None, 40)])

    def test_segment_plan_with_warm_up_begins_at_an_earlier_key_frame(self):
        """Decoding begins at a key frame at least this much earlier, or at the beginning of the file."""
        clip = self.clip("in.mkv", *YUV, *KEYS)
        self.assertEqual([span[0] for span in self.spans(clip, 0.79, 0.5)], [None, None, 0.8, 1.6])
        self.assertEqual([span[0] for span in self.spans(clip, 0.79, 0.8)], [None, None, 0.8, 1.6])
        self.assertEqual([span[0] for span in self.spans(clip, 0.79, 0.9)], [None, None, None, 0.8])

    def test_segment_plan_of_open_gops_contains_every_packet(self):
        """No cut where frames that come before a key frame are coded after it."""
        clip = self.clip("in.mkv", *YUV, "-g", "20", "-bf", "2", "-x264-params", "open-gop=1:scenecut=0")
        spans = self.spans(clip, 0.5)
        self.assertGreater(len(spans), 2)
        self.assertEqual(sum(span[3] for span in spans), FRAMES)

    def why(self, name, *options):
        return segments.plan(str(self.clip(name, *options)), 0.5, 0)

    def test_segment_plan_of_a_file_without_safe_cuts_has_one_segment(self):
        for name, options, why in (
                ("a.mp4", (*YUV, "-g", "1000"), "no key frame is far enough from its ends"),
                ("b.avi", (*YUV, "-c:v", "mpeg4", "-bf", "2", "-g", "10"), "its container has no times of frames"),
                ("c.h264", (*YUV, "-g", "10"), "packets have no times"),
                ("e.mkv", ("-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params", "log-level=none:keyint=10:"
                           "max-cll=1000,400:master-display=G(1,2)B(3,4)R(5,6)WP(7,8)L(9,10):hdr10=1"),
                 "segments cannot hold its metadata for HDR displays")):
            with self.subTest(name):
                self.assertEqual(self.why(name, *options), {"why": why, "spans": [segments.WHOLE]})
        damaged = self.clip("damaged.mkv", *YUV, "-g", "10")
        damaged.write_bytes(damaged.read_bytes()[:300])
        told = self.told(damaged)
        self.assertEqual(set(told), {"problem"})

    def told(self, path):
        with tempfile.TemporaryFile() as file:
            status = segments.plan_job(file.fileno(), json.dumps({"source": str(path), "seconds": 0.79, "warm_up": 0}))
            file.seek(0)
            found = json.loads(file.read())
        self.assertEqual(status, 1 if "problem" in found else 0)
        return found

    def test_segment_plan_job_reports_a_plan_for_a_video_and_a_problem_for_other_files(self):
        clip = self.clip("in.mp4", *YUV, *KEYS)
        self.assertEqual(len(self.told(clip)["plan"]["spans"]), 4)
        for name, text in (("text.mp4", b"no video"), ("zeros.mp4", bytes(4096)), ("random.mp4", os.urandom(4096))):
            path = self.folder / name
            path.write_bytes(text)
            self.assertEqual(list(self.told(path)), ["problem"], name)
        self.assertEqual(list(self.told(self.folder / "missing.mp4")), ["problem"])

    def test_segment_plan_of_a_damaged_file_prints_nothing(self):
        """FFmpeg would print messages about damage without the name of the file."""
        clip = self.clip("in.mp4", *YUV, *KEYS)
        data = bytearray(clip.read_bytes())
        middle = data.index(b"mdat") + 4 + (len(data) - data.index(b"mdat")) // 2
        data[middle:middle + 2000] = os.urandom(2000)
        clip.write_bytes(data)
        said = called(self.told, clip)
        self.assertEqual((said.out, said.err), ("", ""))

    def test_warm_up_is_0_seconds_for_stateless_filters_20_for_others_and_none_for_volumes(self):
        for line, seconds in (
                ("cclabel ! regionoverlay", 0), ("slicsuperpixel ! identity ! queue", 0), ("videoscale ! videoconvert", 0),
                ("cclabel track=true", 20), ("slicsuperpixel warm-start=true", 20), ("graphcutbg ! cclabel source=mask", 20),
                ("cclabel ! gamma", 20), ("cclabel depth=4", None), ("cclabel depth=4 sliding=true", 20),
                ("graphcutbg ! cclabel depth=2", None)):
            self.assertEqual(segments.warm_up(filters.made(line)), seconds, line)


CHAINS = ("cclabel output=none ! regionoverlay", "slicsuperpixel superpixels=24 output=mean")
# How clips are coded, with key frames each second or oftener. Rows have no padding, whose bytes nothing sets.
CLIPS = (("-pix_fmt", "yuv420p", "-g", "20", "-bf", "2"), ("-vf", "scale=104:73", "-pix_fmt", "yuv444p10le", "-g", "20"))


class EncoderFrames(Case):
    def setUp(self):
        super().setUp()
        self.given = []
        self.replace(encode, "tail", self.watched(encode.tail))

    def watched(self, tail):
        """`tail`, whose encoder's frames are noted: caps, nanoseconds and a checksum."""
        def see(pad, info):
            buffer = info.get_buffer()
            with buffer.map(Gst.MapFlags.READ) as mapped:
                self.given.append((pad.get_current_caps().to_string(), buffer.pts, zlib.crc32(mapped.data)))
            return Gst.PadProbeReturn.OK

        def made(*arguments):
            found = tail(*arguments)
            encoder, = (element for element in found[0].children
                        if "Encoder" in element.get_factory().get_metadata("klass"))
            encoder.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, see)
            return found

        return made

    def frames(self, kind, clip, profile, chain, **more):
        """The frames that the encoder of a job gets."""
        self.given.clear()
        settings = {"source": str(clip), "outputs": {"video": str(self.folder / "out")}, "filter": chain,
                    "profile": profile} | more
        with open(os.devnull, "wb") as told:
            said = called(job.main, os.dup(told.fileno()), json.dumps(settings), kind)
        self.assertEqual(said.status, 0, said.err)
        return list(self.given)

    def test_encoder_with_segments_receives_the_frames_of_a_run_without_segments(self):
        for number, options in enumerate(CLIPS):
            clip = self.clip(f"{number}.mkv", "testsrc2=size=96x72:rate=25:duration=3", *options)
            plan = segments.plan(str(clip), 0.7, 0)
            self.assertGreater(len(plan["spans"]), 2)
            for profile, chain in (("mp4", CHAINS[0]), ("webm", CHAINS[1])) if number == 0 else (("mp4", CHAINS[1]),):
                with self.subTest(f"{options} {profile} {chain}"):
                    whole = self.frames(job.Job, clip, profile, chain)
                    self.assertEqual(len({checksum for _, _, checksum in whole}), 75, "frames differ from each other")
                    cut = [frame for span in plan["spans"] for frame in self.frames(
                        segments.Segment, clip, profile, chain, span=span, probed=plan["probed"])]
                    self.assertEqual(cut, whole)


def region(track, x, y=10, first=0, width=10):
    return {"track": track, "first-seen": first, "x": x, "y": y, "width": width, "height": 10}


def table(time, *regions):
    columns = list(dict.fromkeys(name for one in regions for name in one))
    return {"time": time, "columns": columns, "regions": [[one.get(name) for name in columns] for one in regions]}


class Tracks(Case):
    def renamed(self, known, one):
        known.rename(one)
        places = [one["columns"].index(name) for name in ("track", "first-seen")]
        return [tuple(region[place] for place in places) for region in one["regions"]]

    def test_overlap_of_two_boxes_equals_intersection_over_union(self):
        for x, y, share in ((10, 10, 1), (15, 10, 1 / 3), (10, 19, 1 / 19), (20, 10, 0), (0, 10, 0), (11, 30, 0)):
            self.assertAlmostEqual(segments.overlap(region(1, 10), region(1, x, y)), share)

    def test_tracks_that_overlap_during_the_warm_up_keep_their_ids(self):
        known = segments.Tracks()
        known.begin([])
        self.assertEqual(self.renamed(known, table(0.0, region(1, 10), region(2, 50))), [(1, 0), (2, 0)])
        self.assertEqual(self.renamed(known, table(0.1, region(2, 52), region(7, 90, first=1))), [(2, 0), (3, 1)])
        # The filter of the next segment began with the second frame, and numbered its regions in its own order.
        known.begin([table(0.1, region(1, 90, first=1), region(2, 51, first=1))])
        after = table(0.2, region(2, 53), region(1, 91), region(3, 10, first=2))
        after["last-track"] = 3
        self.assertEqual(self.renamed(known, after), [(2, 0), (3, 1), (4, 2)])
        self.assertEqual(after["last-track"], 4)

    def test_tracks_lost_at_the_end_of_a_segment_are_matched_in_earlier_frames(self):
        """A track that was lost in the last frames is found in earlier frames. Each track continues once. A region elsewhere is a
        new track."""
        known = segments.Tracks()
        known.begin([])
        known.rename(table(0.0, region(1, 10), region(2, 50)))
        known.rename(table(0.1, region(2, 50)))
        known.begin([table(0.0, region(4, 11), region(5, 50)), table(0.1, region(5, 50), region(6, 52))])
        after = table(0.2, region(4, 11), region(5, 50), region(6, 52), region(8, 99, first=2))
        self.assertEqual([track for track, _ in self.renamed(known, after)], [1, 2, 3, 4])

    def test_track_with_little_overlap_across_a_segment_cut_gets_a_new_id(self):
        known = segments.Tracks()
        known.begin([])
        known.rename(table(0.0, region(1, 10)))
        known.begin([table(0.0, region(4, 16))])  # a quarter
        self.assertEqual(self.renamed(known, table(0.1, region(4, 16))), [(2, 0)])

    def test_tracks_that_share_a_region_keep_their_ids_across_a_segment_cut(self):
        """Each track of a shared region continues."""
        known = segments.Tracks()
        known.begin([])
        shared = region(1, 10, width=20) | {"id": 1}, region(2, 50) | {"id": 2}, region(3, 24) | {"id": 1}
        self.assertEqual(self.renamed(known, table(0.0, *shared)), [(1, 0), (2, 0), (3, 0)])
        known.begin([table(0.0, region(8, 24) | {"id": 1}, region(7, 50) | {"id": 2}, region(9, 10, width=20) | {"id": 1})])
        after = table(0.1, region(9, 10, width=20) | {"id": 1}, region(7, 50) | {"id": 2}, region(8, 25) | {"id": 1})
        self.assertEqual([track for track, _ in self.renamed(known, after)], [1, 2, 3])

    def test_still_of_a_track_that_rests_across_a_segment_cut_continues(self):
        def stills(known, one):
            known.rename(one)
            return [region[one["columns"].index("still")] for region in one["regions"]]

        known = segments.Tracks()
        known.begin([])
        known.rename(table(0.0, region(1, 10) | {"still": 70}, region(2, 50) | {"still": 1}))
        known.rename(table(0.1, region(1, 10) | {"still": 71}, region(2, 51) | {"still": 2}))
        # The second track has moved during the warm-up, so its segment counts correctly.
        known.begin([table(0.0, region(5, 10) | {"still": 4}, region(6, 50) | {"still": 4}),
                     table(0.1, region(5, 10) | {"still": 5}, region(6, 51) | {"still": 0})])
        self.assertEqual(stills(known, table(0.2, region(5, 10) | {"still": 6}, region(6, 51) | {"still": 1})), [72, 1])
        self.assertEqual(stills(known, table(0.3, region(5, 10) | {"still": 7}, region(7, 90) | {"still": 0})), [73, 0])
        self.assertEqual(stills(known, table(0.4, region(5, 30) | {"still": 0})), [0])
        self.assertEqual(stills(known, table(0.5, region(5, 30) | {"still": 1})), [1])
        # The first track rests again, over two cuts.
        known.rename(table(0.6, region(5, 30) | {"still": 2}))
        known.begin([table(0.6, region(8, 30) | {"still": 0})])
        self.assertEqual(stills(known, table(0.7, region(8, 30) | {"still": 1})), [3])
        known.begin([table(0.7, region(9, 30) | {"still": 0})])
        self.assertEqual(stills(known, table(0.8, region(9, 30) | {"still": 1})), [4])

    def test_pieces_of_an_object_name_its_renumbered_track(self):
        known = segments.Tracks()
        known.begin([])
        known.rename(table(0.0, region(1, 90) | {"part-of": 0}))
        known.begin([])
        after = table(0.1, region(0, 10) | {"part-of": 7}, region(7, 10) | {"part-of": 0}, region(0, 50) | {"part-of": 3})
        self.assertEqual(self.renamed(known, after), [(0, 0), (2, 0), (0, 0)])
        place = after["columns"].index("part-of")
        self.assertEqual([one[place] for one in after["regions"]], [2, 0, 0])

    def test_regions_without_track_are_not_renumbered(self):
        known = segments.Tracks()
        known.begin([])
        for one in (table(0.0, {"track": 9, "id": 9}), table(0.1, {"track": 9, "first-seen": None})):
            before = json.loads(json.dumps(one))
            known.rename(one)
            self.assertEqual(one, before)
        # A region whose track has not begun, before the cut and after it.
        unborn = table(0.1, region(0, 10), region(3, 50))
        self.assertEqual(self.renamed(known, unborn), [(0, 0), (1, 0)])
        known.begin([table(0.1, region(0, 10), region(8, 50))])
        self.assertEqual(self.renamed(known, table(0.2, region(4, 10), region(8, 50))), [(2, 0), (1, 0)])
        known = segments.Tracks()
        known.begin([])
        # Beside some that are.
        mixed = table(0.2, region(9, 10, first=None), region(5, 50))
        self.assertEqual(self.renamed(known, mixed), [(9, None), (1, 0)])


if __name__ == "__main__":
    main()
