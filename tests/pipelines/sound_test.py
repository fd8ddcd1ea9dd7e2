#!/usr/bin/python3
"""How sound gets into each container: layouts of channels, bit rates, and sound that no decoder reads."""

import unittest

import inside  # noqa: F401  (before modules of the programs)
import media
import probe
import profiles
import sound
from jobs import JobCase
from kinds_test import notes

LAYOUTS = ("2.1", "4.0", "quad(side)", "3.1", "5.0(side)", "4.1", "6.1(back)", "7.1(wide)")


def sounds(path, *names):
    """The fields of a file's sound streams, each as a list of words."""
    text = media.run("ffprobe", "-v", "error", "-select_streams", "a", "-show_entries", "stream=" + ",".join(names), "-of",
                     "csv=p=0", path)
    return [line.split(",") for line in text.split()]


class Sound(JobCase):
    def with_sound(self, name, layout, *options, source="anoisesrc=sample_rate=48000:duration=0.5"):
        return self.clip(name, "testsrc2=size=64x48:rate=25:duration=0.5", "-f", "lavfi", "-i",
                         f"{source},aformat=channel_layouts={layout}", "-pix_fmt", "yuv420p", *options)

    def test_layouts_of_surround_sound_in_webm(self):
        for name, layout, options, channels in (("in.mp4", "5.1(side)", ("-c:a", "ac3"), "6"),
                                                ("in.mkv", "5.1(side)", ("-c:a", "dca", "-strict", "-2"), "6"),
                                                ("in.mov", "7.1(wide)", ("-c:a", "pcm_s16le"), None)):
            with self.subTest(f"{name} {layout}"):
                clip = self.with_sound(name, layout, *options)
                said = notes(self.job(clip, profile="webm"))
                self.assertEqual(len([note for note in said if "encoded as libopus" in note]), 1, said)
                self.assertEqual("8 channels mixed into 6" in said[0], layout == "7.1(wide)")
                (codec, found), = sounds(self.video(), "codec_name", "channels")
                self.assertEqual((codec, channels or found), ("opus", found))

    def test_each_layout_has_a_way_into_each_container(self):
        for layout in LAYOUTS:
            clip = self.with_sound("in.mov", layout, "-c:a", "pcm_s16le")
            source = probe.Input(str(clip))
            for profile in ("mp4", "webm"):
                with self.subTest(f"{layout} {profile}"):
                    options, note = sound.way_of(source, source.others[0], profiles.PROFILES[profile])
                    self.assertIsNotNone(options, note)

    def test_low_frequencies_are_kept(self):
        """Opus has no layout 2.1; of 5.1 the other channels stay silent."""
        clip = self.with_sound("in.mov", "2.1", "-c:a", "pcm_s16le", source="aevalsrc=0|0|sin(2*PI*50*t):c=2.1:d=0.5")
        self.job(clip, profile="webm")
        said = media.run("ffmpeg", "-i", self.video(), "-af", "astats=metadata=0:measure_perchannel=none", "-f", "null", "-")
        peak = float(said.split("Peak level dB: ")[1].split()[0])
        self.assertGreater(peak, -6)

    def test_more_channels_get_more_bits(self):
        for layout, channels in (("mono", 1), ("7.1", 8)):
            noise = "|".join(f"random({number})-0.5" for number in range(channels))
            clip = self.with_sound("in.mov", layout, "-c:a", "pcm_s16le", source=f"aevalsrc={noise}:c={layout}:d=0.5")
            for profile, expected in (("mp4", 96), ("webm", 64)):
                with self.subTest(f"{layout} {profile}"):
                    self.job(clip, profile=profile)
                    size = sum(int(packet) for packet in media.run(
                        "ffprobe", "-v", "error", "-select_streams", "a", "-show_entries", "packet=size", "-of", "csv=p=0",
                        self.video()).replace(",", "").split())
                    self.assertAlmostEqual(size * 8 / 1000 / channels / 0.5, expected, delta=expected / 2)

    def test_flac_is_copied_into_mp4(self):
        clip = self.with_sound("in.mkv", "stereo", "-c:a", "flac")
        self.assertEqual(notes(self.job(clip)), [])
        self.assertEqual(sounds(self.video(), "codec_name"), [["flac"]])

    def test_the_reason_for_encoding_is_true(self):
        clip = self.with_sound("in.mkv", "stereo", "-c:a", "mp2")
        self.assertEqual(notes(self.job(clip)), ["its mp2 sound is encoded as aac: few players play it in mp4 files"])
        self.assertEqual(notes(self.job(clip, profile="webm")),
                         ["its mp2 sound is encoded as libopus: webm files cannot hold it"])

    def test_sound_that_cannot_be_decoded_is_left_out(self):
        clip = self.with_sound("in.mkv", "stereo", "-c:a", "flac")
        data = clip.read_bytes()
        self.assertEqual(data.count(b"A_FLAC"), 1)
        clip.write_bytes(data.replace(b"A_FLAC", b"A_XLAC"))
        for profile in profiles.PROFILES:
            with self.subTest(profile):
                said = notes(self.job(clip, profile=profile))
                self.assertEqual(len(said), 1, said)
                self.assertRegex(said[0], r"^its sound \(\w+\) is left out: .+")
                self.assertEqual(sounds(self.video(), "codec_name"), [])
                self.assertEqual(len(media.times(self.video())), 13)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
