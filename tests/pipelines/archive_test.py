#!/usr/bin/python3
"""Files in segments, as regions-transcode puts them together: what a run over the whole file makes, in every container,
with filters that learn nothing; and tracks that go on."""

import json
import shutil
import unittest

import media
from transcoding import TranscodeCase, sound_sum

MOVING = "testsrc2=size=160x120:rate=25:duration=4"
TONE = ("-f", "lavfi", "-i", "sine=duration=4:frequency=500")
CHAINS = {"cclabel": "cclabel output=none ! regionoverlay",
          "slicsuperpixel": "slicsuperpixel superpixels=40 output=none"}
YUV = ("-pix_fmt", "yuv420p", "-g", "20")
# Names of clips, and how they are coded; all have key frames each second or oftener.
KINDS = {
    "mp4.mp4": (*TONE, *YUV, "-bf", "2", "-c:a", "aac"),
    "open.mkv": (*TONE, *YUV, "-bf", "2", "-x264-params", "open-gop=1:scenecut=0", "-c:a", "flac"),
    "hevc.mkv": (*YUV, "-c:v", "libx265", "-x265-params", "log-level=none:keyint=20:open-gop=1:bframes=3"),
    "mpeg.ts": (*TONE, *YUV, "-bf", "2", "-c:v", "mpeg2video", "-q:v", "5", "-c:a", "mp2"),
    "mpeg.mpg": (*TONE, *YUV, "-bf", "2", "-c:v", "mpeg2video", "-q:v", "5", "-c:a", "mp2"),
    "still.avi": (*TONE, "-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p", "-c:a", "mp3"),
    "plain.avi": (*YUV, "-c:v", "mpeg4", "-q:v", "3"),
    "odd #1?%d.webm": (*YUV, "-vf", "scale=161:121,select='not(mod(n,3))+not(mod(n,5))'", "-fps_mode", "vfr", "-c:v",
                 "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"),
    "lossless.mkv": ("-vf", "fps=30000/1001", "-pix_fmt", "yuv422p10le", "-c:v", "ffv1"),
}


def streams(path):
    """What ffprobe tells of a file, but for its size and what says how often frames are coded alone."""
    found = json.loads(media.run("ffprobe", "-v", "error", "-show_streams", "-show_chapters", "-show_format", "-of",
                                 "json", path))
    for part in (found["format"], *found["streams"]):
        for name in ("size", "bit_rate", "filename"):
            part.pop(name, None)
    return found


def pictures(path):
    """The decoded frames of all videos, with their times."""
    return media.run("ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-copyts", "-f",
                     "framemd5", "-")


class Equality(TranscodeCase):
    def both(self, clip, *arguments, chain, seconds="0.7", more=()):
        """Runs over the whole and in segments; returns what the second said, and how many segments there were."""
        plain = self.folder / "plain"
        media.run(media.ROOT / "pipelines/transcode/regions-transcode", clip, "-o", plain, "--filter", chain, "--force",
                  *arguments)
        text = self.transcode(clip, "--segments", seconds, "-j", "2", "--force", *arguments, *more, chain=chain)
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(self.written(), sorted([*(path.name for path in plain.iterdir()
                                                   if not path.name.endswith(".json") or "coco" in path.name),
                                                 "job.json", "summary.json"]))
        return plain, summary["inputs"][str(clip)]["segments"], text

    def test_kinds_of_files(self):
        """In the lossless profile: every pixel, and where a player finds what."""
        for name, options in KINDS.items():
            with self.subTest(name):
                clip = self.clip(name, MOVING, *options)
                plain, segments, text = self.both(clip, "--json", "--profile", "lossless", chain=CHAINS["cclabel"])
                if name == "mpeg.mpg":
                    self.assertIn("not cut into segments: a seek does not find its key frames", text)
                else:
                    self.assertGreater(segments, 2, text)
                out = clip.stem + ".mkv"
                self.assertEqual(pictures(self.out / out), pictures(plain / out))
                self.assertEqual(streams(self.out / out), streams(plain / out))
                self.assertEqual((self.out / (clip.stem + ".jsonl")).read_bytes(),
                                 (plain / (clip.stem + ".jsonl")).read_bytes())
                if "-c:a" in options:
                    self.assertEqual(sound_sum(self.out / out), sound_sum(plain / out))
                shutil.rmtree(plain)
                shutil.rmtree(self.out)

    def test_what_is_written_beside(self):
        """Tables, masks and labels, byte for byte; and what encoders of the usual profile are given."""
        clip = self.clip("in.mkv", MOVING, *KINDS["open.mkv"], "-metadata", "title=Here")
        for name, chain in CHAINS.items():
            with self.subTest(name):
                plain, segments, text = self.both(clip, "--json", "--labels", "--export", "csv", "--export", "coco-rle",
                                                  chain=chain)
                self.assertGreater(segments, 2, text)
                for kind in ("jsonl", "csv", "coco.json"):
                    self.assertEqual((self.out / f"in.{kind}").read_bytes(), (plain / f"in.{kind}").read_bytes(), kind)
                self.assertEqual(pictures(self.out / "in.labels.mkv"), pictures(plain / "in.labels.mkv"))
                self.assertEqual(media.times(self.out / "in.mp4"), media.times(plain / "in.mp4"))
                self.assertEqual(streams(self.out / "in.mp4"), streams(plain / "in.mp4"))

    def test_tracks_go_on(self):
        """With a second of warm-up, each region has one track through all segments, as in a run over the whole."""
        boxes = "nullsrc=size=160x120:rate=25:duration=4,format=gray,geq=lum='255*(between(X-mod(N*5\\,200)+20\\,0\\,12)" \
                "*between(Y\\,20\\,30)+between(X\\,100-N\\,112-N)*between(Y\\,60\\,75))'"
        clip = self.clip("in.mkv", boxes, "-pix_fmt", "yuv420p", "-g", "20", "-crf", "4")
        plain, segments, text = self.both(clip, "--export", "mot", "--json", more=("--warm-up", "1"),
                                          chain="cclabel track=true min-area=20 output=none")
        self.assertGreater(segments, 2, text)
        written = (self.out / "in.mot.txt").read_text()
        self.assertGreater(len({line.split(",")[1] for line in written.splitlines()}), 2)
        self.assertEqual(written, (plain / "in.mot.txt").read_text())
        self.assertEqual((self.out / "in.jsonl").read_text(), (plain / "in.jsonl").read_text())


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
