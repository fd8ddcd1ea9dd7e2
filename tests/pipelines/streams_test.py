#!/usr/bin/python3
"""What files hold beside their picture: regions-transcode copies what the container can hold, and names the rest."""

import json
import unittest

import media
from jobs import JobCase
from kinds_test import SHORT, notes


def streams(path):
    text = media.run("ffprobe", "-v", "error", "-show_entries",
                     "stream=codec_type,codec_name:stream_tags:format_tags:stream_disposition=attached_pic:chapter_tags",
                     "-of", "json", path)
    return json.loads(text)


class Rich(JobCase):
    def rich(self, name, *options):
        """A file with two sounds, subtitles, chapters and a cover."""
        (self.folder / "in.srt").write_text("1\n00:00:00,000 --> 00:00:00,300\nhello\n")
        (self.folder / "in.txt").write_text(
            ";FFMETADATA1\ntitle=T\n" + "".join(f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={at}\nEND={at + 300}\ntitle={title}\n"
                                                 for at, title in ((0, "one"), (300, "two"))))
        cover = self.clip("cover.jpg", "testsrc2=size=64x48", "-frames:v", "1")
        sine = ("-f", "lavfi", "-i", "sine=duration=0.6")
        path = self.folder / name
        media.run("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", SHORT, *sine, *sine, "-i", self.folder / "in.srt", "-i",
                  self.folder / "in.txt", "-i", cover, "-map", "0", "-map", "1", "-map", "2", "-map", "3",
                  "-map_metadata", "4", "-map_chapters", "4", "-metadata:s:a:1", "language=ger", "-pix_fmt", "yuv420p",
                  *options, path)
        return path, cover


class Streams(Rich):
    def kept(self, path):
        found = streams(path)
        return ([(stream["codec_type"], stream["codec_name"] if "codec_name" in stream else None)
                 for stream in found["streams"]], [chapter["tags"]["title"] for chapter in found["chapters"]], found)

    def test_streams_of_matroska(self):
        (self.folder / "font.ttf").write_bytes(b"no font" * 100)
        clip, cover = self.rich("in.mkv", "-c:a", "flac", "-attach", self.folder / "font.ttf", "-metadata:s:t",
                                "mimetype=font/ttf", "-attach", self.folder / "cover.jpg", "-metadata:s:t:1",
                                "mimetype=image/jpeg")
        for profile in ("mkv", "lossless"):
            self.assertEqual(notes(self.job(clip, profile=profile)), [])
            kinds, chapters, found = self.kept(self.video())
            self.assertEqual([kind for kind, _ in kinds], ["video", "audio", "audio", "subtitle", "attachment", "video"])
            self.assertEqual(found["streams"][2]["tags"]["language"], "ger")
            self.assertEqual((chapters, found["format"]["tags"]["title"]), (["one", "two"], "T"))
            self.assertEqual([stream["disposition"]["attached_pic"] for stream in found["streams"]], [0, 0, 0, 0, 0, 1])
            self.assertNotIn("title", found["streams"][0]["tags"])
            media.run("ffmpeg", "-v", "error", "-y", "-dump_attachment:4", self.folder / "out.ttf", "-i", self.video(),
                      status=1)
            self.assertEqual((self.folder / "out.ttf").read_bytes(), b"no font" * 100)
            media.run("ffmpeg", "-v", "error", "-y", "-i", self.video(), "-map", "0:5", "-c", "copy", "-f", "image2pipe",
                      self.folder / "out.jpg")
            self.assertEqual((self.folder / "out.jpg").read_bytes(), cover.read_bytes())
        for profile, sound, text in (("mp4", "flac", "mov_text"), ("webm", "opus", "webvtt")):
            said = notes(self.job(clip, profile=profile))
            kinds, chapters, found = self.kept(self.video())
            self.assertEqual(kinds[:4], [("video", {"mp4": "h264", "webm": "vp9"}[profile]), ("audio", sound),
                                         ("audio", sound), ("subtitle", text)])
            self.assertEqual(chapters, ["one", "two"])
            self.assertRegex("".join(said), rf"its attachment \(\w+\) is left out: {profile} files cannot hold it")
            self.assertEqual(len(said), 5 if profile == "webm" else 2, said)
            self.assertEqual(("video", "mjpeg") in kinds, profile == "mp4")

    def test_streams_of_mp4(self):
        clip, _ = self.rich("in.mp4", "-map", "5", "-c:s", "mov_text", "-c:v:1", "mjpeg", "-disposition:v:1",
                            "attached_pic", "-timecode", "01:02:03:04")
        self.assertEqual(notes(self.job(clip)), [])
        kinds, chapters, found = self.kept(self.video())
        self.assertEqual({("audio", "aac"), ("subtitle", "mov_text"), ("video", "mjpeg")} - set(kinds), set())
        self.assertEqual(chapters, ["one", "two"])
        self.assertEqual(found["streams"][0]["tags"]["timecode"], "01:02:03:04")
        self.assertEqual(notes(self.job(clip, profile="mkv")), [])
        kinds, chapters, found = self.kept(self.video())
        self.assertEqual([kind for kind, _ in kinds], ["video", "audio", "audio", "subtitle", "video"])
        self.assertEqual(found["format"]["tags"]["TIMECODE"], "01:02:03:04")

    def test_what_no_container_of_ours_holds(self):
        first = self.clip("in.mp4", SHORT, "-pix_fmt", "yuv420p")
        two = self.folder / "two.mkv"
        media.run("ffmpeg", "-v", "error", "-i", first, "-i", first, "-map", "0", "-map", "1", "-c", "copy", two)
        self.assertEqual(notes(self.job(two)), ["its second video (h264) is left out: one video is kept"])
        self.assertEqual(len(streams(self.video())["streams"]), 1)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
