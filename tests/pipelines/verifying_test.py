#!/usr/bin/python3
"""Colours, tags, display matrices, closed captions and times that an output keeps, or that a note names."""

import fractions
import re
import unittest

import inside  # noqa: F401  (before modules of the programs)
import media
import numpy
import profiles
from jobs import JobCase
from kinds_test import COLORS, SHORT, first_frame, notes

# Matrix, transfer function and primaries that H.264 can state, by ffmpeg's names.
COLOURED = (("ycgco", "iec61966-2-4", "smpte428"), ("bt2020c", "bt1361e", "film"), ("smpte2085", "smpte428", "smpte432"),
            ("chroma-derived-nc", "log316", "bt2020"), ("chroma-derived-c", "bt2020-12", "smpte431"),
            ("ictcp", "smpte2084", "bt2020"), ("fcc", "log100", "bt470m"))


class Verified(JobCase):
    def colored(self, matrix, transfer, primaries, *more):
        return self.clip("in.mkv", SHORT.replace("0.6", "0.12"), "-pix_fmt", "yuv420p", "-color_range", "tv", "-vf",
                         f"setparams=colorspace={matrix}:color_trc={transfer}:color_primaries={primaries}", *more,
                         "-c:v", "libx264")

    def test_colours_are_kept_or_named(self):
        for case in COLOURED:
            clip = self.colored(*case)
            told = first_frame(clip, *COLORS)
            self.assertEqual([told[name] for name in COLORS[1:]], list(case))
            for profile in profiles.PROFILES if case[0] == "ycgco" else ("mp4",):
                with self.subTest(f"{case} {profile}"):
                    said = notes(self.job(clip, profile=profile))
                    found = first_frame(self.video(), *COLORS)
                    if profile == "webm" and case[0] == "ycgco":
                        self.assertEqual(said, ["its colour matrix (ycgco) cannot be stored by VP9 in WebM, which says unknown"])
                    else:
                        self.assertEqual((said, found), ([], told))

    def test_the_place_of_chroma_is_kept_or_named(self):
        for place in ("left", "center", "topleft", "top", "bottomleft"):
            clip = self.colored("bt709", "bt709", "bt709", "-chroma_sample_location", place)
            self.assertEqual(first_frame(clip, "chroma_location"), {"chroma_location": place})
            for profile in ("mp4", "webm"):
                with self.subTest(f"{place} {profile}"):
                    said = notes(self.job(clip, profile=profile))
                    found = first_frame(self.video(), "chroma_location")["chroma_location"]
                    self.assertTrue(found == place or any("chroma location" in note for note in said), (found, said))
                    self.assertTrue(found == place or profile == "webm")

    def test_rare_pictures_have_their_times(self):
        times = (0, 30.58, 60.246, 90.825, 120.491)
        plain = self.clip("plain.mkv", "testsrc2=size=64x48:rate=25:duration=0.2", "-c:v", "ffv1")
        clip = self.folder / "in.mp4"
        media.run("ffmpeg", "-v", "error", "-i", plain, "-vf", "settb=1/1000,setpts='" + "+".join(
            f"eq(N,{number})*{round(1000 * time)}" for number, time in enumerate(times)) + "'", "-fps_mode", "passthrough",
            "-c:v", "libx264", "-bf", "0", "-enc_time_base", "1:1000", "-video_track_timescale", "1000", clip)
        numpy.testing.assert_allclose(media.times(clip), times, atol=1e-3)
        for profile in profiles.PROFILES:
            with self.subTest(profile):
                self.job(clip, profile=profile)
                numpy.testing.assert_allclose(media.times(self.video()), times, atol=1.1e-3)

    def test_frame_rates_stay_exact_in_mp4(self):
        for rate in ("25", "30000/1001", "24000/1001", "1/30", "60", "1000"):
            with self.subTest(rate):
                clip = self.clip("in.mp4", f"testsrc2=size=64x48:rate={rate}", "-frames:v", "5", "-pix_fmt", "yuv420p")
                self.job(clip)
                self.assertEqual(media.stream(self.video(), "avg_frame_rate"), media.stream(clip, "avg_frame_rate"))
                base = fractions.Fraction(media.stream(self.video(), "time_base")["time_base"])
                self.assertEqual((1 / (fractions.Fraction(rate) * base)).denominator, 1, "frames last whole units")

    def test_padding_is_named(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=0.1,crop=33:7:exact=1", "-pix_fmt", "yuv444p",
                         "-c:v", "ffv1")
        self.assertEqual(notes(self.job(clip)), ["its pictures of 33x7 get black pixels on the right and at the bottom, to"
                                                 " 34x16: H.264 in MP4 holds even sides from 16 on"])
        self.assertEqual(notes(self.job(clip, profile="lossless")), [])

    def test_angles_that_are_not_quarter_turns_are_named(self):
        plain = self.clip("plain.mp4", SHORT, "-pix_fmt", "yuv420p")
        for matrix, size, said in (
                ((46341, 46341, -46341, 46341), "128x96", ["its display matrix turns pictures by 45°, which is not a quarter"
                                                          " turn: they stay as they are"]),
                ((65286, 5712, -5712, 65286), "128x96", ["its display matrix turns pictures by 5°, which is not a quarter"
                                                        " turn: they stay as they are"]),
                ((3, 65536, -65536, -2), "96x128", []), ((-65536, 1, 0, 65535), "128x96", []),
                ((65536, 2, 1, 65536), "128x96", [])):
            clip = self.with_matrix(plain, matrix)
            for profile in ("mp4", "lossless"):
                with self.subTest(f"{matrix} {profile}"):
                    self.assertEqual(notes(self.job(clip, profile=profile)), said)
                    found = media.stream(self.video(), "width", "height")
                    self.assertEqual(f"{found['width']}x{found['height']}", size)

    def with_matrix(self, plain, matrix):
        """A copy of an MP4 whose track has these numbers in its display matrix."""
        data = bytearray(plain.read_bytes())
        at = data.index(b"tkhd") + 4 + 40
        for place, number in zip((0, 4, 12, 16), matrix):
            data[at + place:at + place + 4] = number.to_bytes(4, "big", signed=True)
        path = self.folder / "matrix.mp4"
        path.write_bytes(data)
        return path

    def tagged(self, name, *tags, stream=()):
        words = [word for tag in tags for word in ("-metadata", tag)] + [
            word for tag in stream for word in ("-metadata:s:v:0", tag)]
        flags = ("-movflags", "use_metadata_tags") if name.endswith((".mov", ".mp4")) else ()
        return self.clip(name, SHORT, "-pix_fmt", "yuv420p", *words, *flags)

    def tags(self):
        text = media.run("ffprobe", "-v", "error", "-show_entries", "format_tags:stream_tags", "-of", "default=nw=1",
                         self.video())
        return {key.lower(): value for key, value in (line.removeprefix("TAG:").split("=", 1) for line in text.split("\n")
                                                      if "=" in line)}

    def test_tags_of_quicktime_are_kept(self):
        apple = {"com.apple.quicktime.make": "Apple", "com.apple.quicktime.model": "iPhone",
                 "com.apple.quicktime.location.iso6709": "+37.0-122.0/"}
        clip = self.tagged("in.mov", *(f"{key}={value}" for key, value in apple.items()))
        for profile in profiles.PROFILES:
            with self.subTest(profile):
                self.assertEqual(notes(self.job(clip, profile=profile)), [])
                self.assertEqual({key: value for key, value in self.tags().items() if key in apple}, apple)
                self.assertNotIn("qt  ", self.tags().values())

    def test_tags_that_are_lost_are_named(self):
        clip = self.tagged("in.mkv", "title=T", "custom=X", "artist=A", "com.apple.quicktime.make=Apple", stream=("reel=7",))
        self.assertEqual(notes(self.job(clip)),
                         ["its tags COM.APPLE.QUICKTIME.MAKE, CUSTOM, REEL cannot be stored by H.264 in MP4"])
        self.assertEqual((self.tags()["title"], self.tags()["artist"]), ("T", "A"))
        for profile in ("mkv", "webm", "lossless"):
            self.assertEqual(notes(self.job(clip, profile=profile)), [])
            self.assertEqual((self.tags()["custom"], self.tags()["reel"]), ("X", "7"))

    def captioned(self):
        """H.264 whose pictures, from the sixth on, have closed captions: an SEI message of user data."""
        plain = self.clip("plain.h264", SHORT, "-pix_fmt", "yuv420p", "-bf", "0", "-x264-params", "aud=1")
        units = re.split(rb"(?=\x00\x00\x00\x01\x09)", plain.read_bytes())[1:]
        self.assertEqual(len(units), 15)
        triplets = bytes((0xFC, 0x94, 0x2C)) * 2
        payload = b"\xb5\x00\x31GA94\x03" + bytes((0xC0 | 2, 0xFF)) + triplets + b"\xff"
        sei = b"\x00\x00\x00\x01\x06\x04" + bytes((len(payload),)) + payload + b"\x80"
        for number in range(5, 15):
            units[number] = units[number][:6] + sei + units[number][6:]
        path = self.folder / "in.h264"
        path.write_bytes(b"".join(units))
        return path

    def captions(self, path):
        text = media.run("ffprobe", "-v", "error", "-show_entries", "frame_side_data=side_data_type", path)
        return text.count("Closed Captions")

    def test_closed_captions_are_kept_or_named(self):
        clip = self.captioned()
        self.assertEqual(self.captions(clip), 10)
        for chain in ("identity", "cclabel output=none ! regionoverlay", "slicsuperpixel superpixels=9 output=mean"):
            for profile in ("mp4", "mkv"):
                with self.subTest(f"{chain} {profile}"):
                    self.assertEqual(notes(self.job(clip, filter=chain, profile=profile)), [])
                    self.assertEqual(self.captions(self.video()), 10)
        for profile in ("webm", "lossless"):
            self.assertEqual(notes(self.job(clip, profile=profile)), [
                f"closed captions of 10 frames are left out: {profiles.PROFILES[profile].meaning} cannot store them"])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
