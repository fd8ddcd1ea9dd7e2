#!/usr/bin/python3
"""regions-transcode, judged by what ffmpeg and SciPy read from its outputs: what is kept, and what is
written beside."""

import subprocess
import unittest

import media
import numpy
from scipy import ndimage
from scripts_test import in_raster_order
from transcoding import BALLS, DRAWN, SOUND, TranscodeCase, sound_sum, sound_times


class Transcode(TranscodeCase):
    def test_sound_times_and_sidecars(self):
        clip = self.clip("in.mp4", BALLS, *SOUND, "-pix_fmt", "yuv420p", "-c:a", "aac")
        self.assertGreater(len(sound_times(clip)), 80)
        self.transcode(clip, "--json", "--labels", chain=DRAWN)
        out = self.out / "in.mp4"
        self.assertEqual(self.written(), ["in.jsonl", "in.labels.mkv", "in.mp4"])
        self.assertEqual(media.stream(out, "codec_name", "width", "height"),
                         {"codec_name": "h264", "width": "320", "height": "240"})
        self.expect_same_times(clip, out)
        self.assertEqual(sound_sum(out), sound_sum(clip))
        numpy.testing.assert_allclose(sound_times(out), sound_times(clip), atol=1e-3)
        # The sidecar says what the metadata says, as another program reads it.
        rows = media.tables((self.out / "in.jsonl").read_text())
        table = media.tables(media.run(media.script("table"), clip, "min-area=100"))
        numpy.testing.assert_allclose([row.pop("time") for row in rows], media.times(clip), atol=1e-3)
        for row in table:
            del row["time"]
        self.assertEqual(rows, table)
        # The label video holds the labels, byte for byte.
        labels = self.out / "in.labels.mkv"
        self.expect_same_times(clip, labels)
        pictures, maps = media.frames(clip, "gray"), media.frames(labels, "gray16le")
        self.assertEqual(len(maps), 50)
        for row, labelled in zip(rows, maps):
            self.assertEqual(labelled.max(), row["regions-total"])
            self.assertEqual(numpy.bincount(labelled.flat)[1:].tolist(),
                             [region["area"] for region in row["regions"]])
        changed = abs(media.frames(out, "gray").astype(int) - pictures) > 60
        self.assertGreater(changed.mean(), 0.005)

    def test_labels_are_exact(self):
        noise = self.clip("noise.mkv", "nullsrc=size=97x61:rate=10:duration=1,format=gray,"
                          "geq=lum='random(1)*255'", "-c:v", "ffv1")
        self.transcode(noise, "--labels", "--profile", "lossless",
                       chain="cclabel connectivity=4 output=none")
        pictures = media.frames(noise, "gray")
        for picture, labels in zip(pictures, media.frames(self.out / "noise.labels.mkv", "gray16le"),
                                   strict=True):
            numpy.testing.assert_array_equal(
                labels, in_raster_order(ndimage.label(picture >= 128)[0]))
        numpy.testing.assert_array_equal(media.frames(self.out / "noise.mkv", "gray"), pictures)

    def test_lossless_keeps_every_byte(self):
        for name, options in {
                "plain": ("-pix_fmt", "yuv420p"), "deep": ("-pix_fmt", "yuv420p10le"),
                "odd": ("-vf", "scale=321:241", "-pix_fmt", "yuv420p"),
                "wide": ("-pix_fmt", "yuv422p")}.items():
            with self.subTest(name):
                clip = self.clip(name + ".mkv", BALLS, *SOUND, *options, "-c:v", "ffv1", "-c:a",
                                 "pcm_s16le")
                self.transcode(clip, "--profile", "lossless")
                out = self.out / (name + ".mkv")
                form = media.stream(clip, "pix_fmt")["pix_fmt"]
                self.assertEqual(media.stream(out, "codec_name", "pix_fmt"),
                                 {"codec_name": "ffv1", "pix_fmt": form})
                sums = [media.run("ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-pix_fmt", form,
                                  "-f", "md5", "-") for path in (clip, out)]
                self.assertEqual(*sums)
                self.assertEqual(sound_sum(out), sound_sum(clip))
                self.expect_same_times(clip, out)

    def test_colours(self):
        for matrix, primaries, curve, span in (("bt709", "bt709", "bt709", "tv"),
                                               ("smpte170m", "smpte170m", "smpte170m", "tv"),
                                               ("bt709", "bt709", "bt709", "pc")):
            with self.subTest(f"{matrix} {span}"):
                clip = self.clip("color.mkv", BALLS, "-vf", "scale=out_range=" + span, "-pix_fmt",
                                 "yuv420p", "-c:v", "libx264", "-colorspace", matrix,
                                 "-color_primaries", primaries, "-color_trc", curve, "-color_range",
                                 span)
                self.transcode(clip, "--force")
                names = ("color_space", "color_primaries", "color_transfer", "color_range")
                self.assertEqual(media.stream(self.out / "color.mp4", *names),
                                 media.stream(clip, *names))
                before, after = (media.frames(path, "rgb24").astype(int)
                                 for path in (clip, self.out / "color.mp4"))
                self.assertLess(abs(before - after).mean(), 4)

    def test_rotation(self):
        plain = self.clip("plain.mp4", BALLS, "-pix_fmt", "yuv420p")
        for turn in (90, 180, 270):
            clip = media.turned(self.folder / f"turned{turn}.mp4", plain, turn)
            self.transcode(clip)
            # ffmpeg turns what it decodes; frames() takes the size before that.
            raw = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-f", "rawvideo", "-pix_fmt",
                                  "gray", "-"], capture_output=True, check=True).stdout
            after = media.frames(self.out / clip.name, "gray").astype(int)
            self.assertEqual(after.shape[1:], (240, 320) if turn == 180 else (320, 240))
            before = numpy.frombuffer(raw, numpy.uint8).reshape(after.shape)
            self.assertLess(abs(before - after).mean(), 4, f"turned by {turn} degrees")

    def test_containers_and_awkward_clips(self):
        aac = ("-c:a", "aac", "-pix_fmt", "yuv420p")
        clips = {
            "webm": ("a.mp4", (BALLS, *SOUND, *aac), "vp9", "opus"),
            "mkv": ("b.avi", (BALLS, *SOUND, "-c:v", "mpeg4", "-c:a", "mp3"), "h264", "mp3"),
            "mp4": ("c.mkv", (BALLS, *SOUND, "-c:a", "pcm_s16le", "-pix_fmt", "yuv420p"), "h264", "aac"),
        }
        for profile, (name, options, picture, sound) in clips.items():
            with self.subTest(profile):
                clip = self.clip(name, *options)
                text = self.transcode(clip, "--profile", profile)
                out = self.out / (clip.stem + "." + profile)
                self.expect_same_times(clip, out)
                codecs = media.run("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of",
                                   "default=nw=1:nk=1", out).split()
                self.assertEqual(codecs, [picture, sound])
                if profile == "mkv":
                    self.assertEqual(sound_sum(out), sound_sum(clip))
                else:
                    self.assertIn(f"sound is encoded as {'aac' if profile == 'mp4' else 'libopus'}: ", text)
        uneven = self.clip("uneven.mkv", BALLS, "-vf", "select='not(mod(n,3))+not(mod(n,5))'", "-fps_mode",
                           "vfr", "-pix_fmt", "yuv420p")
        odd = self.clip("odd.mkv", "testsrc=size=31x21:rate=30000/1001:duration=1", "-c:v", "ffv1")
        late = self.folder / "late.mkv"
        media.run("ffmpeg", "-v", "error", "-itsoffset", "0.5", "-f", "lavfi", "-i", BALLS, *SOUND,
                  "-pix_fmt", "yuv420p", late)
        quiet = self.clip("quiet.mp4", BALLS, *SOUND, *aac)
        self.transcode(uneven, odd, late)
        for clip in (uneven, odd, late):
            with self.subTest(clip.name):
                self.expect_same_times(clip, self.out / (clip.stem + ".mp4"))
        self.assertEqual(media.stream(self.out / "odd.mp4", "width", "height"),
                         {"width": "32", "height": "22"})
        self.transcode(quiet, "--no-sound")
        self.assertEqual(sound_times(self.out / "quiet.mp4"), [])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
