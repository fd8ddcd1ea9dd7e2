#!/usr/bin/python3
"""transcode/profiles.py: which format a video gets."""

import itertools
import unittest

import inside
import media
import profiles
from gstreamer import Gst, GstVideo, VideoFormat

EIGHT = {"I420": "I420", "NV12": "I420", "YV12": "I420", "YUY2": "Y42B", "UYVY": "Y42B", "Y42B": "Y42B", "NV16": "Y42B",
         "Y444": "Y444", "AYUV": "Y444", "v308": "Y444"}
TEN = {"I420_10LE": "I420_10LE", "P010_10LE": "I420_10LE", "I420_12LE": "I420_10LE", "v210": "I422_10LE",
       "I422_10LE": "I422_10LE", "Y444_10LE": "Y444_10LE", "Y444_12LE": "Y444_10LE"}
RGB = ("RGB", "BGR", "RGBA", "BGRA", "RGBx", "xRGB", "xBGR", "ARGB", "ABGR", "GBR")


def rows(sample):
    """The pixels of a picture, without what pads its rows."""
    info, found = GstVideo.VideoInfo.new_from_caps(sample.get_caps()), []
    with sample.get_buffer().map(Gst.MapFlags.READ) as mapped:
        for plane in range(info.finfo.n_planes):
            part = next(part for part in range(info.finfo.n_components) if info.finfo.plane[part] == plane)
            width, height = (-(-side >> of[part]) for side, of in ((info.width, info.finfo.w_sub),
                                                                    (info.height, info.finfo.h_sub)))
            size = width * info.finfo.pixel_stride[part]
            for row in range(height):
                begin = info.offset[plane] + row * info.stride[plane]
                data = bytearray(mapped.data[begin:begin + size])
                if info.finfo.name == "BGRx":
                    data[3::4] = bytes(width)  # x is not set
                found.append(data)
    return found


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

    def test_small_pictures_keep_their_pixels_in_ffv1(self):
        """Tests each format of the profile in small sizes."""
        for form in profiles.PROFILES["lossless"].formats:
            for width, height in itertools.product((1, 2, 3, 7, 30), repeat=2):
                with self.subTest(f"{form} {width}x{height}"):
                    pipeline = Gst.parse_launch(
                        f"videotestsrc pattern=snow num-buffers=2 ! video/x-raw,format={form},width={width},height={height}"
                        f" ! tee name=both ! queue ! appsink name=before both. ! queue ! {profiles.FFV1} ! avdec_ffv1 !"
                        " appsink name=after")
                    profiles.suit_to_size(pipeline.get_by_name("ffv1"), width, height)
                    pipeline.set_state(Gst.State.PLAYING)
                    for _ in range(2):
                        before, after = (rows(pipeline.get_by_name(name).emit("try-pull-sample", 5 * Gst.SECOND))
                                         for name in ("before", "after"))
                        self.assertEqual(before, after)
                    pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
