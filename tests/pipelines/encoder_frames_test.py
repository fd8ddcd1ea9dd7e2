#!/usr/bin/python3
"""The encoders of lossy profiles get the same frames at the same times from a file in segments as from the whole file, if the
filter does not learn."""

import json
import os
import unittest
import zlib

import inside  # before modules of the programs
import coding
import cutting
import job
import media
import segment
from gstreamer import Gst

CHAINS = ("cclabel output=none ! regionoverlay", "slicsuperpixel superpixels=40 output=mean")
# How clips are coded, with key frames each second or oftener. Rows have no padding, whose bytes nothing sets.
CLIPS = (("-pix_fmt", "yuv420p", "-g", "20", "-bf", "2"), ("-vf", "scale=168:121", "-pix_fmt", "yuv444p10le", "-g", "20"))


class EncoderFrames(inside.Case):
    def setUp(self):
        super().setUp()
        self.given = []
        self.replace(coding, "tail", self.watched(coding.tail))

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
        """Those that a job's encoder is given."""
        self.given.clear()
        settings = {"source": str(clip), "outputs": {"video": str(self.folder / "out")}, "filter": chain,
                    "profile": profile} | more
        with open(os.devnull, "wb") as told:
            said = inside.called(job.main, os.dup(told.fileno()), json.dumps(settings), kind)
        self.assertEqual(said.status, 0, said.err)
        return list(self.given)

    def test_equal(self):
        for number, options in enumerate(CLIPS):
            clip = self.clip(f"{number}.mkv", "testsrc2=size=160x120:rate=25:duration=3", *options)
            plan = cutting.plan(str(clip), 0.7, 0)
            self.assertGreater(len(plan["spans"]), 2)
            for profile in ("mp4", "mkv", "webm"):
                for chain in CHAINS:
                    with self.subTest(f"{options} {profile} {chain}"):
                        whole = self.frames(job.Job, clip, profile, chain)
                        self.assertEqual(len({checksum for _, _, checksum in whole}), 75, "frames differ from each other")
                        cut = [frame for span in plan["spans"] for frame in self.frames(
                            segment.Segment, clip, profile, chain, span=span, probed=plan["probed"])]
                        self.assertEqual(cut, whole)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
