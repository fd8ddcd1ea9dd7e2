#!/usr/bin/python3
"""transcode/cutting.py: which segments a file is cut into, why another is one segment, and how long filters warm up."""

import json
import os
import tempfile
import unittest
from fractions import Fraction

import inside  # before what lies beside the programs
import cutting
import filters

FRAMES = 80  # at 25 a second
YUV = ("-pix_fmt", "yuv420p")
KEYS = ("-force_key_frames", "0,0.8,1.6,2.4", "-x264-params", "scenecut=0")


class Cutting(inside.Case):
    def clip(self, name, *options):
        return super().clip(name, f"testsrc2=size=64x48:rate=25:duration={FRAMES / 25}", *options)

    def spans(self, clip, seconds, warm=0):
        """As tuples of seconds: where decoding begins, the first frame, and the first after it; and how many packets."""
        found = cutting.plan(str(clip), seconds, warm)
        self.assertIsNone(found["why"])
        self.assertIn("h264", json.dumps(found["probed"]))
        base = Fraction(found["spans"][0]["base"])

        def time(span, name):
            return None if span[name] is None else round(float((span[name] - span["first"]) * base), 2)

        return [(*(time(span, name) for name in ("key", "from", "until")), span["packets"]) for span in found["spans"]]

    def test_segments(self):
        clip = self.clip("in.mp4", *YUV, *KEYS, "-bf", "2")
        self.assertEqual(self.spans(clip, 0.79), [(None, 0, 0.8, 20), (0.8, 0.8, 1.6, 20), (1.6, 1.6, 2.4, 20),
                                                 (2.4, 2.4, None, 20)])
        self.assertEqual(self.spans(clip, 0.9), [(None, 0, 1.6, 40), (1.6, 1.6, None, 40)])
        # What is left at the end is half a segment at least.
        self.assertEqual(self.spans(clip, 1.59), [(None, 0, 1.6, 40), (1.6, 1.6, None, 40)])
        self.assertEqual(self.spans(clip, 1.5), [(None, 0, 1.6, 40), (1.6, 1.6, None, 40)])

    def test_warm_up(self):
        """Decoding begins at a key frame at least so long before, or with the file."""
        clip = self.clip("in.mkv", *YUV, *KEYS)
        self.assertEqual([span[0] for span in self.spans(clip, 0.79, 0.5)], [None, None, 0.8, 1.6])
        self.assertEqual([span[0] for span in self.spans(clip, 0.79, 0.8)], [None, None, 0.8, 1.6])
        self.assertEqual([span[0] for span in self.spans(clip, 0.79, 0.9)], [None, None, None, 0.8])

    def test_open_groups(self):
        """No cut where frames that come before a key frame are coded after it."""
        clip = self.clip("in.mkv", *YUV, "-g", "20", "-bf", "2", "-x264-params", "open-gop=1:scenecut=0")
        spans = self.spans(clip, 0.5)
        self.assertGreater(len(spans), 2)
        self.assertEqual(sum(span[3] for span in spans), FRAMES)

    def why(self, name, *options):
        return cutting.plan(str(self.clip(name, *options)), 0.5, 0)

    def test_files_that_are_one_segment(self):
        for name, options, why in (
                ("a.mp4", (*YUV, "-g", "1000"), "no key frame is far enough from its ends"),
                ("b.avi", (*YUV, "-c:v", "mpeg4", "-bf", "2", "-g", "10"), "its container has no times of frames"),
                ("c.h264", (*YUV, "-g", "10"), "packets have no times"),
                ("e.mkv", ("-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params", "log-level=none:keyint=10:"
                           "max-cll=1000,400:master-display=G(1,2)B(3,4)R(5,6)WP(7,8)L(9,10):hdr10=1"),
                 "segments cannot hold its metadata for HDR displays")):
            with self.subTest(name):
                self.assertEqual(self.why(name, *options), {"why": why, "spans": [cutting.WHOLE]})
        damaged = self.clip("damaged.mkv", *YUV, "-g", "10")
        damaged.write_bytes(damaged.read_bytes()[:300])
        told = self.told(damaged)
        self.assertEqual(set(told), {"problem"})

    def told(self, path):
        with tempfile.TemporaryFile() as file:
            status = cutting.main(file.fileno(), json.dumps({"source": str(path), "seconds": 0.79, "warm_up": 0}))
            file.seek(0)
            found = json.loads(file.read())
        self.assertEqual(status, 1 if "problem" in found else 0)
        return found

    def test_what_is_told(self):
        clip = self.clip("in.mp4", *YUV, *KEYS)
        self.assertEqual(len(self.told(clip)["plan"]["spans"]), 4)
        for name, text in (("text.mp4", b"no video"), ("zeros.mp4", bytes(4096)), ("random.mp4", os.urandom(4096))):
            path = self.folder / name
            path.write_bytes(text)
            self.assertEqual(list(self.told(path)), ["problem"], name)
        self.assertEqual(list(self.told(self.folder / "missing.mp4")), ["problem"])

    def test_nothing_else_is_printed(self):
        """FFmpeg tells of damage itself, without the name of a file."""
        clip = self.clip("in.mp4", *YUV, *KEYS)
        data = bytearray(clip.read_bytes())
        middle = data.index(b"mdat") + 4 + (len(data) - data.index(b"mdat")) // 2
        data[middle:middle + 2000] = os.urandom(2000)
        clip.write_bytes(data)
        said = inside.called(self.told, clip)
        self.assertEqual((said.out, said.err), ("", ""))

    def test_filters(self):
        for line, seconds in (
                ("cclabel ! regionoverlay", 0), ("slicsuperpixel ! identity ! queue", 0), ("videoscale ! videoconvert", 0),
                ("cclabel track=true", 20), ("slicsuperpixel warm-start=true", 20), ("graphcutbg ! cclabel source=mask", 20),
                ("cclabel ! gamma", 20), ("cclabel depth=4", None), ("cclabel depth=4 sliding=true", 20),
                ("graphcutbg ! cclabel depth=2", None)):
            self.assertEqual(cutting.warm_up(filters.made(line)), seconds, line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
