#!/usr/bin/python3
"""transcode/profiles.py: which format a video gets."""

import unittest

import inside
import media
import profiles
from gstreamer import Gst, VideoFormat


EIGHT = {"I420": "I420", "NV12": "I420", "YV12": "I420", "YUY2": "Y42B", "UYVY": "Y42B", "Y42B": "Y42B", "NV16": "Y42B",
         "Y444": "Y444", "AYUV": "Y444", "v308": "Y444"}
TEN = {"I420_10LE": "I420_10LE", "P010_10LE": "I420_10LE", "I420_12LE": "I420_10LE", "v210": "I422_10LE",
       "I422_10LE": "I422_10LE", "Y444_10LE": "Y444_10LE", "Y444_12LE": "Y444_10LE"}
RGB = ("RGB", "BGR", "RGBA", "BGRA", "RGBx", "xRGB", "xBGR", "ARGB", "ABGR", "GBR")


class Profiles(inside.Case):
    def coded(self, name, profile):
        info = VideoFormat.get_info(VideoFormat.from_string(name))
        return profiles.coded_format(info, profiles.PROFILES[profile])

    def test_the_nearest_format(self):
        for profile in profiles.PROFILES:
            for name, nearest in (EIGHT | TEN).items():
                if profile == "webm" and nearest == "Y42B":
                    nearest = "I420"  # VP9 has none of 8 bits
                self.assertEqual(self.coded(name, profile), nearest, f"{name} in {profile}")
            for name in RGB:
                expected = "I420" if profile != "lossless" else "BGRA" if name == "BGRA" else "BGRx"
                self.assertEqual(self.coded(name, profile), expected, f"{name} in {profile}")
            self.assertEqual(self.coded("BGRx", profile), "BGRx" if profile == "lossless" else "I420")
            self.assertEqual(self.coded("GRAY8", profile), "GRAY8" if profile == "lossless" else "I420")
            self.assertEqual(self.coded("GRAY16_LE", profile),
                             "GRAY16_LE" if profile == "lossless" else "I420_10LE")
            self.assertEqual(self.coded("ARGB64", profile), "I420_10LE", "10 bits rather than 8")
        info = VideoFormat.get_info(VideoFormat.I420)
        self.assertIsNone(profiles.coded_format(info, profiles.STILL))

    def test_profiles_can_be_played(self):
        """Elements are there, take every format of the list, and sizes from the smallest side on."""
        for name, profile in (profiles.PROFILES | {"still": profiles.STILL}).items():
            for form in profile.formats or ("RGB",):
                side = profile.least
                Gst.parse_launch(f"videotestsrc num-buffers=1 ! video/x-raw,format={form},width={side},height={side}"
                                 f" ! {profile.encoder} ! {profile.muxer} ! fakesink")
            self.assertRegex(profile.suffix, r"^\.[a-z0-9]+$", name)
        self.assertEqual({name: (p.meaning, p.suffix, p.muxer, p.even, p.least)
                          for name, p in (profiles.PROFILES | {"still": profiles.STILL}).items()}, {
            "mp4": ("H.264 in MP4", ".mp4", "mp4mux", True, 16),
            "mkv": ("H.264 in Matroska", ".mkv", "matroskamux", True, 16),
            "webm": ("VP9 in WebM", ".webm", "webmmux", False, 16),
            "lossless": ("FFV1 in Matroska, every pixel kept", ".mkv", "matroskamux", False, 1),
            "still": ("PNG", ".png", "identity", False, 1)})
        vp9 = Gst.parse_bin_from_description(profiles.VP9, True).children[0]
        self.assertEqual([vp9.get_property(name) for name in ("deadline", "cpu-used", "row-mt", "threads", "cq-level")],
                         [1, 6, True, 4, 24])
        self.assertEqual(vp9.get_property("end-usage").value_nick, "cq")


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
