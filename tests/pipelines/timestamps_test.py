#!/usr/bin/python3
"""Times of frames and sound: jumps that decode.Timeline closes, frames without times, and the distance of sound and
picture, which stays as ffprobe finds it in the input."""

import fractions
import itertools
import re
import types
import unittest.mock
from fractions import Fraction

import numpy

import media
from cases import JobCase, TranscodeCase, main
from gstreamer import Gst  # after cases, which sets the path
from transcode import decode, segments


SHORT = "testsrc2=size=64x48:rate=25:duration={}"
SINE = ("-f", "lavfi", "-i", "sine=duration={}")
MPEG2 = ("-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-c:a", "mp2")
H264 = ("-pix_fmt", "yuv420p", "-c:v", "libx264", "-x264-params", "keyint=25:scenecut=0")


def shown(path):
    """Times of all frames that ffprobe decodes, in seconds. Frames that an edit list hides are left out."""
    text = media.run("ffprobe", "-v", "quiet", "-select_streams", "V:0", "-show_entries", "frame=best_effort_timestamp_time",
                     "-of", "csv=p=0", path)
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def heard(path):
    """Times of all sound packets that are to be heard, in seconds."""
    text = media.run("ffprobe", "-v", "quiet", "-select_streams", "a:0", "-show_entries", "packet=pts_time,flags", "-of",
                     "csv=p=0", path)
    return [float(line.split(",")[0]) for line in text.split() if "D" not in line]


class Offsets(JobCase):
    def expect_offset(self, clip, offset=None, profile="mkv"):
        """The first frame, and the last one, have the same distance from the sound as in the input."""
        self.job(clip, profile=profile)
        before, after = (heard(path)[0] - shown(path)[0] for path in (clip, self.video()))
        self.assertAlmostEqual(after, before if offset is None else offset, delta=2e-3)
        times, expected = shown(self.video()), shown(clip)  # ffprobe may find no time for the last frame of MPEG-PS
        self.assertIn(len(times) - len(expected), (0, 1))
        times = times[:len(expected)]
        numpy.testing.assert_allclose(numpy.subtract(times, times[0]), numpy.subtract(expected, expected[0]), atol=1.1e-3)

    def test_sound_that_begins_late_keeps_its_delay(self):
        for name in ("a.ts", "b.mpg", "c.mkv", "d.mp4"):
            with self.subTest(name):
                sine = [word.format(2) for word in SINE]
                codecs = ("-c:a", "aac") if name == "d.mp4" else MPEG2
                clip = self.clip(name, SHORT.format(3), "-itsoffset", "0.6", *sine, *codecs)
                self.expect_offset(clip)

    def test_picture_that_begins_late_keeps_its_delay(self):
        """With sound, and with an earlier stream that is not copied."""
        sine = [word.format(3) for word in SINE]
        early = media.make(self.folder / "early.ts", "sine=duration=4", "-c:a", "mp2")
        for name in ("a.ts", "b.mkv"):
            with self.subTest(name):
                late = self.clip("late.ts", SHORT.format(3), *sine, *MPEG2, "-output_ts_offset", "0.7")
                clip = self.folder / name
                media.run("ffmpeg", "-v", "error", "-y", "-copyts", "-i", early, "-i", late, "-map", "1", "-map", "0", "-c", "copy", clip)
                self.expect_offset(clip)
                self.job(clip, with_sound=False)
                begin = media.run("ffprobe", "-v", "quiet", "-show_entries", "format=start_time", "-of", "csv=p=0", clip)
                self.assertAlmostEqual(shown(self.video())[0], shown(clip)[0] - float(begin), delta=2e-3)
                self.assertGreater(shown(self.video())[0], 0.5)

    def test_recording_that_begins_between_key_frames_keeps_its_times(self):
        """Captures that begin between key frames."""
        sine = [word.format(4) for word in SINE]
        full = self.clip("full.ts", SHORT.format(4), *sine, *MPEG2, "-g", "25")
        data = full.read_bytes()
        cut = self.folder / "cut.ts"
        cut.write_bytes(data[len(data) // 3 // 188 * 188:])
        self.assertGreater(shown(cut)[0] - heard(cut)[0], 0.1)
        self.expect_offset(cut)
        for name in ("cut.mp4", "cut.mkv"):
            remuxed = self.folder / name
            media.run("ffmpeg", "-v", "error", "-i", cut, "-c", "copy", "-copyinkf", remuxed)
            self.assertGreater(shown(remuxed)[0] - heard(remuxed)[0], 0.1)
            self.expect_offset(remuxed)

    def test_sound_hidden_by_an_edit_list_stays_hidden(self):
        """MP4 hides the sound before an edit. Matroska has no edit list. There, that sound is left out, or decoded and dropped as
        the lead-in of the codec."""
        def first_sound(path):
            text = media.run("ffprobe", "-v", "quiet", "-select_streams", "a:0", "-show_entries", "frame=pts_time", "-of",
                             "csv=p=0", path)
            return float(text.split()[0].rstrip(","))

        full = self.clip("full.mp4", SHORT.format(4), *[word.format(4) for word in SINE], "-pix_fmt", "yuv420p", "-g", "50",
                         "-c:a", "aac")
        clip = self.folder / "trimmed.mp4"
        media.run("ffmpeg", "-v", "error", "-ss", "3.1", "-i", full, "-c", "copy", clip)
        for profile in ("mp4", "mkv"):
            self.job(clip, profile=profile)
            self.assertAlmostEqual(first_sound(self.video()), first_sound(clip), delta=1024 / 44100 + 1e-3)
            self.assertAlmostEqual(shown(self.video())[0], 0, delta=1e-3)


class Jumps(JobCase):
    def joined(self, *offsets, suffix="ts"):
        """A file of recordings of two seconds, one after another, whose times begin at these seconds."""
        sine = [word.format(2) for word in SINE]
        parts = [self.clip(f"part{offset}.{suffix}", SHORT.format(2), *sine, *MPEG2, "-output_ts_offset", str(offset)).read_bytes()
                 for offset in offsets]
        clip = self.folder / f"joined.{suffix}"
        clip.write_bytes(b"".join(parts))
        return clip

    def test_time_jumps_are_closed_in_picture_and_sound(self):
        for suffix, offsets in (("ts", (0, 3600, 0)), ("mpg", (3600, 0)), ("ts", (0, 0))):
            with self.subTest(f"{suffix} {offsets}"):
                clip = self.joined(*offsets, suffix=suffix)
                notes = [one["note"] for one in self.job(clip, profile="mkv") if "note" in one]
                self.assertEqual(len([note for note in notes if "the jump is closed in all streams" in note]), len(offsets) - 1)
                times, sound = shown(self.video()), heard(self.video())
                self.assertEqual(len(times), 50 * len(offsets))
                self.assertLess(max(numpy.diff(times)), 0.1)
                self.assertLess(max(numpy.diff(sound)), 0.1)
                self.assertAlmostEqual(sound[-1] - times[-1], 0, delta=0.1)
                parts = self.clip("one.ts", SHORT.format(2), *[word.format(2) for word in SINE], *MPEG2)
                self.assertEqual(len(sound), len(offsets) * len(heard(parts)))

    def test_file_with_time_jumps_is_planned_as_one_segment(self):
        self.assertEqual(segments.plan(str(self.joined(0, 3600)), 0.5, 0)["why"], "its times jump")


class Packet(types.SimpleNamespace):
    def __init__(self, kind, stamp, index=0):
        super().__init__(pts=stamp, dts=stamp, duration=1, time_base=Fraction(1, 10),
                         stream=types.SimpleNamespace(type=kind, index=index))


class Timeline(unittest.TestCase):
    def corrected(self, *packets):
        times = decode.Timeline()
        for packet in packets:
            times.correct(packet)
        return [packet.pts for packet in packets], [(float(at), float(by)) for at, by in times.jumps]

    def test_timeline_keeps_a_gap_of_less_than_ten_seconds(self):
        self.assertEqual(self.corrected(*(Packet("video", stamp) for stamp in (0, 1, 90, 91))), ([0, 1, 90, 91], []))

    def test_timeline_of_sparse_pictures_with_continuous_sound_has_no_time_jump(self):
        sound = [Packet("audio", stamp, 1) for stamp in range(0, 400, 50)]
        self.assertEqual(self.corrected(Packet("video", 0), *sound, Packet("video", 390))[1], [])

    def test_timeline_closes_a_forward_time_jump(self):
        self.assertEqual(self.corrected(*(Packet("video", stamp) for stamp in (5, 6, 700, 701))), ([5, 6, 7, 8], [(0.7, 69.3)]))

    def test_timeline_closes_a_backward_time_jump(self):
        self.assertEqual(self.corrected(*(Packet("video", stamp) for stamp in (50, 51, 5, 6))), ([50, 51, 52, 53], [(5.2, -4.7)]))

    def test_backward_jump_of_less_than_a_second_is_closed(self):
        self.assertEqual(self.corrected(*(Packet("video", stamp) for stamp in (0, 1, 2, 3, 0, 1))),
                         ([0, 1, 2, 3, 4, 5], [(0.4, -0.4)]))

    def test_late_sound_packets_from_before_a_time_jump_are_not_shifted(self):
        """The last sound of the first recording comes after the first picture of the second one."""
        packets = [Packet("video", 0), Packet("audio", 0, 1), Packet("video", 700), Packet("audio", 1, 1), Packet("audio", 700, 1),
                   Packet("video", 701)]
        self.assertEqual(self.corrected(*packets), ([0, 0, 1, 1, 1, 2], [(0.1, 69.9)]))

    def test_subtitles_after_a_time_jump_are_shifted_like_the_pictures(self):
        self.assertEqual(self.corrected(Packet("video", 0), Packet("video", 700), Packet("subtitle", 705, 2))[0], [0, 1, 6])

    def test_packet_shown_after_a_time_jump_but_decoded_before_it_is_shifted(self):
        """It is decoded before the jump, and FFmpeg says that it is shown after the jump."""
        packets = [Packet("video", stamp) for stamp in (0, 1, 2, 700, 701)]
        for packet, shown in zip(packets, (1, 2, 700, 701, 702)):
            packet.pts = shown
        self.assertEqual(self.corrected(*packets)[0], [1, 2, 3, 4, 5])

    def test_timeline_leaves_a_packet_without_time_unchanged(self):
        nothing = Packet("video", None)
        self.assertEqual(self.corrected(Packet("video", 0), nothing, Packet("video", 1)), ([0, None, 1], []))


class FrameTimes(unittest.TestCase):
    def given(self, *stamps, start=1.0, delay=0.5, form="mkv"):
        source = unittest.mock.Mock(rate=25, start=start, delay=delay, format={"format_name": form})
        source.begin_at = lambda first: vars(source).update(delay=float(first) - source.start)
        one = decode.Decoder(source, None)
        return [one.time(stamp, Fraction(1, 1000)) // (Gst.SECOND // 1000) for stamp in stamps]

    def test_missing_frame_time_is_computed_from_the_previous_frame_and_the_rate(self):
        self.assertEqual(self.given(1500, None, None, 1700), [500, 540, 580, 700])
        self.assertEqual(self.given(None, None), [500, 540])

    def test_repeated_frame_times_get_small_steps_and_later_frames_keep_their_times(self):
        self.assertEqual(self.given(1500, 1500, 1500, 1501, 1540), [500, 501, 502, 503, 540])
        self.assertEqual(self.given(1600, 1590, 1640), [600, 601, 640])

    def test_frames_after_a_backward_jump_are_all_moved(self):
        self.assertEqual(self.given(9000, 9040, 1000, 1040), [8000, 8040, 8080, 8120])
        self.assertEqual(self.given(1600, 1640, 1530, 1570), [600, 640, 680, 720])

    def test_frame_times_with_a_late_first_frame_keep_its_delay(self):
        self.assertEqual(self.given(1800, 1840), [800, 840])

    def test_frame_times_of_avi_begin_at_the_start_in_its_header(self):
        self.assertEqual(self.given(1080, 1120, form="avi"), [500, 540])


class EqualTimes(JobCase):
    def test_frames_after_repeated_times_in_matroska_keep_their_times(self):
        """Each fifth frame has the time of the previous one. Frames after twenty seconds keep their times."""
        clip = self.folder / "in.mkv"
        media.run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", SHORT.format(20), "-c:v", "ffv1", "-bsf:v",
                  "setts=pts='if(eq(mod(N,5),4),PREV_OUTPTS,PTS)':dts='if(eq(mod(N,5),4),PREV_OUTDTS,DTS)'", clip)
        before = shown(clip)
        self.assertEqual(sum(one == other for one, other in itertools.pairwise(before)), 100)
        for profile in ("mp4", "mkv"):
            self.job(clip, profile=profile)
            numpy.testing.assert_allclose(shown(self.video()), before, atol=2.1e-3)


class Segments(TranscodeCase):
    def test_frame_count_and_sound_offset_with_segments_equal_those_of_the_input(self):
        """Sound that begins late, and a first frame that can be decoded late."""
        sine = [word.format(4) for word in SINE]
        late = self.clip("late.mkv", SHORT.format(4), "-itsoffset", "0.6", *sine, *H264, "-c:a", "flac")
        full = self.clip("full.ts", SHORT.format(5), *sine, *MPEG2, "-g", "25").read_bytes()
        cut = self.folder / "cut.ts"
        cut.write_bytes(full[len(full) // 4 // 188 * 188:])
        for clip in (late, cut):
            with self.subTest(clip.name):
                text = self.transcode(clip, "--profile", "mkv", "--segments", "0.9")
                self.assertNotIn("one segment", text)
                out = self.out / (clip.stem + ".mkv")
                self.assertEqual(len(shown(out)), len(shown(clip)))
                self.assertAlmostEqual(heard(out)[0] - shown(out)[0], heard(clip)[0] - shown(clip)[0], delta=2e-3)


class Rates(JobCase):
    def test_frames_of_files_without_times_get_times_from_the_frame_rate(self):
        """AVI stores no presentation times, MPEG-PS few. No frame with a later reference is lost."""
        for name, options in (("a.avi", ("-c:v", "mpeg4", "-bf", "2")), ("b.avi", ("-c:v", "libx264", "-bf", "3")),
                              ("c.mpg", ("-c:v", "mpeg2video", "-bf", "2")),
                              ("d.h264", ("-c:v", "libx264", "-bf", "3"))):
            clip = self.clip(name, "testsrc2=size=64x48:rate=25:duration=2", "-pix_fmt", "yuv420p", *options)
            for profile in ("mp4", "mkv") if name == "b.avi" else ("mp4",):
                with self.subTest(f"{name} {profile}"):
                    messages = self.job(clip, profile=profile)
                    self.assertEqual([one["done"]["frames"] for one in messages if "done" in one], [50])
                    numpy.testing.assert_allclose(media.times(self.video()), numpy.arange(50) * 0.04, atol=1.1e-3)

    def test_frame_times_of_a_slide_show_are_kept(self):
        times = (0, 30.58, 60.246, 90.825, 120.491)
        plain = self.clip("plain.mkv", "testsrc2=size=64x48:rate=25:duration=0.2", "-c:v", "ffv1")
        clip = self.folder / "in.mp4"
        media.run("ffmpeg", "-v", "error", "-i", plain, "-vf", "settb=1/1000,setpts='" + "+".join(
            f"eq(N,{number})*{round(1000 * time)}" for number, time in enumerate(times)) + "'", "-fps_mode", "passthrough",
            "-c:v", "libx264", "-bf", "0", "-enc_time_base", "1:1000", "-video_track_timescale", "1000",
            "-bsf:v", "setts=duration=1000", clip)  # without a duration, an edit list hides the last frame
        numpy.testing.assert_allclose(media.times(clip), times, atol=1e-3)
        for profile in ("mp4", "webm"):
            with self.subTest(profile):
                self.job(clip, profile=profile)
                numpy.testing.assert_allclose(media.times(self.video()), times, atol=1.1e-3)

    def test_frame_rate_of_mp4_output_equals_that_of_the_input(self):
        for rate in ("25", "30000/1001", "1/30", "1000"):
            with self.subTest(rate):
                clip = self.clip("in.mp4", f"testsrc2=size=64x48:rate={rate}", "-frames:v", "5", "-pix_fmt", "yuv420p")
                self.job(clip)
                self.assertEqual(media.stream(self.video(), "avg_frame_rate"), media.stream(clip, "avg_frame_rate"))
                base = fractions.Fraction(media.stream(self.video(), "time_base")["time_base"])
                self.assertEqual((1 / (fractions.Fraction(rate) * base)).denominator, 1, "frames last whole units")


class FirstFrame(JobCase):
    def test_recording_that_begins_between_key_frames_keeps_colours_and_field_order(self):
        """No picture can be decoded from the first packets of a recording that begins between key frames."""
        full = self.clip("full.ts", SHORT.format(3), "-pix_fmt", "yuv420p", "-vf",
                         "setfield=tff,setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709", "-flags", "+ildct+ilme",
                         "-c:v", "mpeg2video", "-g", "25")
        data = full.read_bytes()
        clip = self.folder / "cut.ts"
        clip.write_bytes(data[len(data) // 3 // 188 * 188:])
        self.job(clip, profile="mkv")
        text = media.run("ffprobe", "-v", "quiet", "-select_streams", "v", "-read_intervals", "%+#1", "-show_entries",
                         "frame=color_space,color_transfer,color_primaries,interlaced_frame,top_field_first", "-of", "csv=p=0",
                         self.video())
        self.assertEqual(text.strip().rstrip(",").split(",")[-5:].count("bt709"), 3)
        self.assertEqual(text.count("1"), 2, text)


if __name__ == "__main__":
    main()
