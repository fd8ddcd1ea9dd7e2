#!/usr/bin/python3
"""Encoded pictures are as good as ffmpeg's with the same encoder, preset and quality. Lossless pictures of all sizes are equal to
their input."""

import re
import subprocess
import unittest

import inside
import media
import numpy
from jobs import JobCase

# ffmpeg's options for the same encoders.
X264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-bf", "0", "-g", "100")
VPX = ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "6", "-crf", "24", "-b:v", "0", "-row-mt", "1",
       "-lag-in-frames", "0")
REFERENCES = {"mp4": X264, "webm": VPX}  # profile mkv has the encoder of mp4
MOST_DIFFERENCE = 0.5  # dB
# Size, seconds and pixels of clips whose noise needs more bits than a bitrate limit would give.
NOISY = ((1280, 720, 0.16, "yuv420p"), (1920, 1080, 0.12, "yuv420p"), (640, 360, 0.16, "yuv420p10le"),
         (640, 360, 0.16, "yuv444p"))


def psnr(path, reference):
    """The PSNR over all frames in dB, measured by ffmpeg."""
    same_times = "settb=1/25,setpts=N"
    said = media.run("ffmpeg", "-i", path, "-i", reference, "-lavfi",
                     f"[0:v]{same_times}[a];[1:v]{same_times}[b];[a][b]psnr", "-f", "null", "-")
    return float(re.search(r"PSNR .*average:([0-9.]+)", said)[1])


def pixels(path, form):
    return subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", form,
                           "-"], capture_output=True, check=True).stdout


class Quality(JobCase):
    def noisy(self, width, height, seconds, form):
        return self.clip("in.mkv", f"testsrc2=size={width}x{height}:rate=25:duration={seconds},noise=alls=30:allf=t",
                         "-c:v", "ffv1", "-pix_fmt", form)

    def test_noise_is_as_good_as_from_ffmpeg(self):
        for case in NOISY:
            clip = self.noisy(*case)
            for profile, options in REFERENCES.items():
                with self.subTest(f"{case} {profile}"):
                    reference = self.folder / "reference.mkv"
                    media.run("ffmpeg", "-v", "error", "-y", "-i", clip, *options, reference)
                    expected = psnr(reference, clip)
                    self.job(clip, filter="identity", profile=profile)
                    found = psnr(self.video(), clip)
                    self.assertGreater(found, expected - MOST_DIFFERENCE)
                    # libvpx's own mode of constant quality is some dB worse than its others for 10 bits.
                    if not (profile == "webm" and "10" in case[3]):
                        self.assertLess(found, expected + MOST_DIFFERENCE)

    def test_settings_of_x264_are_those_of_its_preset(self):
        clip = self.noisy(64, 48, 0.12, "yuv420p")
        reference = self.folder / "reference.mp4"
        media.run("ffmpeg", "-v", "error", "-y", "-i", clip, *X264, reference)
        for profile in ("mp4", "mkv"):
            self.job(clip, filter="identity", profile=profile)
            self.assertEqual(inside.x264_settings(self.video()), inside.x264_settings(reference))


class Lossless(JobCase):
    def small(self, width, height, form):
        return self.clip("in.mkv", f"testsrc2=size=64x48:rate=25:duration=0.08,noise=alls=60,scale={width}:{height}:flags="
                         "neighbor", "-c:v", "ffv1", "-level", "1", "-pix_fmt", form)

    def test_small_pictures_keep_their_pixels(self):
        for form, width, height in (("gray", 1, 1), ("gray16le", 2, 2), ("yuv420p", 1, 5), ("bgra", 5, 1), ("bgr0", 2, 18),
                                    ("yuv422p10le", 17, 2), ("gray16le", 40, 1), ("gray", 3, 3), ("yuv420p", 6, 6)):
            with self.subTest(f"{form} {width}x{height}"):
                clip = self.small(width, height, form)
                self.job(clip, filter="identity", profile="lossless")
                self.assertEqual(pixels(self.video(), form), pixels(clip, form))

    def test_small_label_videos_keep_their_labels(self):
        for width, height in ((1, 1), (5, 1), (2, 9)):
            with self.subTest(f"{width}x{height}"):
                clip = self.small(width, height, "gray")
                self.job(clip, "labels", filter="slicsuperpixel superpixels=9 output=none")
                found = media.frames(self.out / "out.labels.mkv", "gray16le")
                self.job(clip, "video", filter="slicsuperpixel superpixels=9 output=labels", profile="lossless")
                numpy.testing.assert_array_equal(found, media.frames(self.video(), "gray16le"))
                self.assertGreater(found.max(), 0)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
