#!/usr/bin/python3
"""Everything in a file besides its pictures: sound, subtitles, chapters, covers, tags, time codes and captions.
regions-transcode copies every stream that the container can hold. Notes name the others."""

import re

import media
from cases import JobCase, main, notes
from file_kinds import SHORT, rich
from transcode import encode, probe, profiles


class Streams(JobCase):
    def kept(self, path):
        found = media.probe(path, "stream=codec_type,codec_name:stream_tags:format_tags:stream_disposition=attached_pic:"
                                  "chapter_tags")
        return ([(stream["codec_type"], stream["codec_name"] if "codec_name" in stream else None)
                 for stream in found["streams"]], [chapter["tags"]["title"] for chapter in found["chapters"]], found)

    def test_matroska_streams_are_all_kept_in_mkv_and_losses_in_mp4_and_webm_get_a_note(self):
        (self.folder / "font.ttf").write_bytes(b"no font" * 100)
        clip, cover = rich(self.folder, "in.mkv", "-c:a", "flac", "-attach", self.folder / "font.ttf", "-metadata:s:t",
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

    def test_mp4_streams_of_every_kind_are_kept(self):
        clip, _ = rich(self.folder, "in.mp4", "-map", "5", "-c:s", "mov_text", "-c:v:1", "mjpeg", "-disposition:v:1",
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

    def test_second_video_stream_is_left_out_with_a_note(self):
        first = self.clip("in.mp4", SHORT, "-pix_fmt", "yuv420p")
        two = self.folder / "two.mkv"
        media.run("ffmpeg", "-v", "error", "-i", first, "-i", first, "-map", "0", "-map", "1", "-c", "copy", two)
        self.assertEqual(notes(self.job(two)), ["its second video (h264) is left out: one video is kept"])
        self.assertEqual(len(media.probe(self.video(), "stream=index")["streams"]), 1)

    def test_timecode_in_mpeg2_is_kept(self):
        clip = self.clip("in.mpg", SHORT, "-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-gop_timecode", "01:02:03:04")
        for profile, tags in (("mp4", "stream_tags"), ("mkv", "format_tags"), ("webm", "format_tags")):
            self.assertEqual(notes(self.job(clip, profile=profile)), [])
            self.assertIn("01:02:03:04", media.run("ffprobe", "-v", "error", "-show_entries", tags, self.video()))

    def test_side_data_that_is_left_out_is_named_in_a_note(self):
        clip = self.clip("in.mkv", SHORT, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-x264-params", "frame-packing=3")
        self.assertEqual(notes(self.job(clip)), ["its Stereo 3D is left out"])

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

    def test_quicktime_tags_are_kept_in_every_profile(self):
        apple = {"com.apple.quicktime.make": "Apple", "com.apple.quicktime.model": "iPhone",
                 "com.apple.quicktime.location.iso6709": "+37.0-122.0/"}
        clip = self.tagged("in.mov", *(f"{key}={value}" for key, value in apple.items()))
        for profile in profiles.PROFILES:
            with self.subTest(profile):
                self.assertEqual(notes(self.job(clip, profile=profile)), [])
                self.assertEqual({key: value for key, value in self.tags().items() if key in apple}, apple)
                self.assertNotIn("qt  ", self.tags().values())

    def test_tags_that_mp4_cannot_store_are_named_in_a_note(self):
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

    def test_closed_captions_of_mpeg_2_are_kept(self):
        clip = self.folder / "in.mpg"
        media.run("ffmpeg", "-v", "error", "-i", self.captioned(), "-c:v", "mpeg2video", clip)
        self.assertEqual(self.captions(clip), 10)
        self.assertEqual(notes(self.job(clip)), [])
        self.assertEqual(self.captions(self.video()), 10)

    def test_closed_captions_are_kept_in_mp4_and_mkv_and_named_in_a_note_by_webm_and_lossless(self):
        clip = self.captioned()
        self.assertEqual(self.captions(clip), 10)
        for chain in ("identity", "cclabel output=none ! regionoverlay", "slicsuperpixel superpixels=9 output=mean"):
            for profile in ("mp4",) if chain == "identity" else ("mkv",):
                with self.subTest(f"{chain} {profile}"):
                    self.assertEqual(notes(self.job(clip, filter=chain, profile=profile)), [])
                    self.assertEqual(self.captions(self.video()), 10)
        for profile in ("webm", "lossless"):
            self.assertEqual(notes(self.job(clip, profile=profile)), [
                f"closed captions of 10 frames are left out: {profiles.PROFILES[profile].meaning} cannot store them"])


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

    def test_surround_sound_in_webm_is_encoded_as_opus(self):
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

    def test_sound_of_every_channel_layout_can_be_encoded_for_mp4_and_webm(self):
        for layout in LAYOUTS:
            clip = self.with_sound("in.mov", layout, "-c:a", "pcm_s16le")
            source = probe.Input(str(clip))
            for profile in ("mp4", "webm"):
                with self.subTest(f"{layout} {profile}"):
                    options, note = encode.sound_way(source, source.others[0], profiles.PROFILES[profile])
                    self.assertIsNotNone(options, note)

    def test_low_frequency_channel_of_2_1_sound_is_kept_in_webm(self):
        """Opus has no layout 2.1. The layout 5.1 has silent channels then."""
        clip = self.with_sound("in.mov", "2.1", "-c:a", "pcm_s16le", source="aevalsrc=0|0|sin(2*PI*50*t):c=2.1:d=0.5")
        self.job(clip, profile="webm")
        said = media.run("ffmpeg", "-i", self.video(), "-af", "astats=metadata=0:measure_perchannel=none", "-f", "null", "-")
        peak = float(said.split("Peak level dB: ")[1].split()[0])
        self.assertGreater(peak, -6)

    def test_sound_bit_rate_is_proportional_to_the_number_of_channels(self):
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

    def test_sound_that_cannot_be_decoded_is_left_out_with_a_note(self):
        clip = self.with_sound("in.mkv", "stereo", "-c:a", "flac")
        data = clip.read_bytes()
        self.assertEqual(data.count(b"A_FLAC"), 1)
        clip.write_bytes(data.replace(b"A_FLAC", b"A_XLAC"))
        for profile in ("mp4", "mkv"):
            with self.subTest(profile):
                said = notes(self.job(clip, profile=profile))
                self.assertEqual(len(said), 1, said)
                self.assertRegex(said[0], r"^its sound \(\w+\) is left out: .+")
                self.assertEqual(sounds(self.video(), "codec_name"), [])
                self.assertEqual(len(media.times(self.video())), 13)


if __name__ == "__main__":
    main()
