#!/usr/bin/python3
"""Damaged inputs (transcode/verify.py): files that are cut off give partial outputs, whole files that look damaged are
accepted, and failures do not affect other inputs."""

import os
import struct
import subprocess
import unittest.mock

import media
from cases import PROGRAM, UNTOUCHED, JobCase, TranscodeCase, main, notes
from gstreamer import Gst  # after cases, which sets the path
from transcode import job, verify

CLIP = "testsrc2=size=160x120:rate=25:duration=2"


MOVING = "testsrc2=size=64x48:rate=25:duration={}"
TONE = ("-f", "lavfi", "-i", "sine=duration=4")
H264 = ("-pix_fmt", "yuv420p", "-c:v", "libx264", "-x264-params", "keyint=25:scenecut=0")


def decodable(path):
    """How many frames of a file ffmpeg decodes, whatever errors it finds. One thread decodes: with more, the command line of
    ffmpeg may lose frames after an error."""
    made = subprocess.run(["ffmpeg", "-v", "quiet", "-threads", "1", "-i", path, "-map", "0:V", "-fps_mode", "passthrough", "-f",
                           "framecrc", "-"], capture_output=True, text=True, check=False).stdout
    return sum(not line.startswith("#") for line in made.splitlines())


class Whole(JobCase):
    def expect_whole(self, clip, frames):
        """All frames that ffmpeg decodes are written, without a note."""
        self.assertEqual(decodable(clip), frames)
        messages = self.job(clip)
        self.assertEqual([one["done"]["frames"] for one in messages if "done" in one], [frames])
        self.assertEqual([one["note"] for one in messages if "note" in one], [])
        self.assertEqual(self.files(self.out), ["out.mp4"])

    def test_mp4_with_packets_hidden_by_an_edit_list_counts_as_undamaged(self):
        full = self.clip("full.mp4", MOVING.format(4), *TONE, *H264, "-c:a", "aac")
        clip = self.folder / "trimmed.mp4"
        media.run("ffmpeg", "-v", "error", "-ss", "1.5", "-i", full, "-c", "copy", clip)
        self.expect_whole(clip, 62)

    def test_mp4_with_an_edit_list_that_ends_early_counts_as_undamaged(self):
        """The container's reader leaves packets after the end of an edit out."""
        clip = self.clip("in.mp4", MOVING.format(2), *H264)
        data = bytearray(clip.read_bytes())
        at = data.index(b"elst") + 12
        data[at:at + 4] = struct.pack(">I", 1000)  # milliseconds
        clip.write_bytes(data)
        self.expect_whole(clip, decodable(clip))
        self.assertLess(decodable(clip), 40)

    def test_matroska_that_begins_at_a_late_time_counts_as_undamaged(self):
        """Chunks of a recording: the header holds the time of the end, not the length."""
        for suffix, codec in (("mkv", H264), ("webm", ("-c:v", "libvpx", "-deadline", "realtime", "-g", "25"))):
            full = self.clip("full." + suffix, MOVING.format(3), *codec)
            media.run("ffmpeg", "-v", "error", "-i", full, "-c", "copy", "-f", "segment", "-segment_time", "1",
                      self.folder / f"chunk%d.{suffix}")
            self.expect_whole(self.folder / f"chunk2.{suffix}", 25)

    def test_avi_with_empty_chunks_counts_as_undamaged(self):
        """Empty chunks, in the middle and at the end, repeat a picture, and ffprobe lists no packets for them."""
        holes = MOVING.format(2) + ",select='not(between(n,10,14))*lt(n,40)'"
        clip = self.clip("in.avi", holes, *TONE, "-fps_mode", "passthrough", "-enc_time_base", "1/25", "-c:v", "mpeg4",
                         "-c:a", "mp3")
        packets = media.run("ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=size", "-of", "csv=p=0", clip)
        self.assertGreater(int(media.stream(clip, "nb_frames")["nb_frames"]), len(packets.split()))
        messages = self.job(clip, with_sound=False)
        self.assertEqual([one["done"]["frames"] for one in messages if "done" in one], [35])

    def test_vp9_with_hidden_frames_counts_as_undamaged(self):
        for number in ("1", "2"):  # the encoder hides frames in its second pass only
            clip = self.clip("in.webm", MOVING.format(2), "-c:v", "libvpx-vp9", "-pass", number, "-passlogfile",
                             self.folder / "log", "-auto-alt-ref", "1", "-lag-in-frames", "25", "-cpu-used", "4", "-b:v", "60k")
        split = self.folder / "split.nut"  # the muxers of Matroska and MP4 would join the packets again
        media.run("ffmpeg", "-v", "error", "-i", clip, "-c", "copy", "-bsf:v", "vp9_superframe_split", split)
        self.assertGreater(int(media.run("ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets",
                                         "-of", "csv=p=0", split)), decodable(split))
        self.expect_whole(split, 50)

    def test_fragmented_mp4_with_wrong_length_in_header_counts_as_undamaged(self):
        clip = self.clip("in.mp4", MOVING.format(2), *H264, "-movflags", "frag_keyframe+empty_moov")
        data = bytearray(clip.read_bytes())
        for name, offset in ((b"mvhd", 20), (b"tkhd", 24), (b"mdhd", 20)):
            at = data.index(name) + offset
            data[at:at + 4] = struct.pack(">I", 100_000_000)
        clip.write_bytes(data)
        self.expect_whole(clip, 50)

    def test_mpegts_that_begins_between_key_frames_counts_as_undamaged(self):
        full = self.clip("full.ts", MOVING.format(4), "-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-g", "25", "-bf", "2")
        data = full.read_bytes()
        clip = self.folder / "cut.ts"
        clip.write_bytes(data[len(data) // 3 // 188 * 188:])
        frames = decodable(clip)
        self.assertIn(frames, range(30, 70))
        self.expect_whole(clip, frames)


class Truncated(JobCase):
    def expect_partial(self, clip, lacks):
        """A file that is cut off is a problem. The partial output has all frames that ffmpeg decodes."""
        messages = self.job(clip, status=1)
        problem, = [one["problem"] for one in messages if "problem" in one]
        self.assertRegex(problem, lacks)
        self.assertEqual(self.files(self.out), ["out.partial.mp4"])
        partial = self.out / "out.partial.mp4"
        self.assertEqual(decodable(partial), decodable(clip))
        os.remove(partial)

    def test_cut_off_file_in_every_container_gives_a_partial_output(self):
        for name, options, lacks in (
                ("a.mp4", ("-movflags", "+faststart"), r"\d\d packets are there of 100: it is cut off or damaged"),
                ("b.mp4", ("-movflags", "frag_keyframe+empty_moov"), "it is cut off"),
                ("c.mkv", (), r"ends after 2\.\d s of 4\.0 s"), ("d.avi", (), r"\d\d packets are there of 100"),
                ("f.mpg", ("-c:v", "mpeg2video"), "its last packet is incomplete"), ("e.flv", (), r"ends after 2\.\d s of 4\.1 s")):
            with self.subTest(name):
                clip = self.clip(name, MOVING.format(4), *(() if name == "f.mpg" else H264), *options)
                data = clip.read_bytes()
                clip.write_bytes(data[:len(data) * 2 // 3])
                self.expect_partial(clip, lacks)
                told = self.job(clip, accept_partial=True)
                self.assertRegex(notes(told)[0], lacks)
                self.assertEqual(self.files(self.out), ["out.mp4"])
                os.remove(self.video())

    def test_file_with_damaged_frames_gives_a_partial_output_with_all_other_frames(self):
        """Threads of a decoder finish frames after a damaged one, and PyAV drops them."""
        clip = self.clip("in.mkv", "testsrc2=size=320x240:rate=25:duration=1.16", "-c:v", "png")
        data = bytearray(clip.read_bytes())
        for part in (0.5, 0.97):
            at = int(len(data) * part)
            data[at:at + 3000] = bytes(3000)
        clip.write_bytes(data)
        self.expect_partial(clip, "damaged")


class Lack(JobCase):
    def lack(self, result=(1, 1), damage=None, end=0.0, **state):
        packets = unittest.mock.Mock()
        packets.result.return_value, packets.damage.return_value = result, damage
        one = self.half_done(end=end * Gst.SECOND)
        for name, value in state.items():
            setattr(one.decoder if name in ("frames", "problem", "damaged") else one.input, name, value)
        return one.lack(packets)

    def test_length_short_of_the_header_by_up_to_a_second_or_2_percent_counts_as_undamaged(self):
        """One second or a fiftieth of the length may be missing."""
        for end, length, lacks in ((0.4, 0.0, False), (0.4, 1.39, False), (0.4, 1.45, True), (0.4, 60.0, True),
                                   (98.1, 100.0, False), (97.9, 100.0, True)):
            found = self.lack(end=end, length=length, format={"format_name": "flv"})
            self.assertEqual(found, f"ends after {end:.1f} s of {length:.1f} s: it is cut off or damaged" if lacks else None)
        self.assertIsNone(self.lack(end=1.0, length=60.0, format={"format_name": "mpegts"}), "it is computed from times")

    def test_fewer_frames_than_the_codec_allows_for_the_packets_are_damage(self):
        for codec, frames, packets, problem, damaged, lacks in (
                ("ffv1", 9, 9, None, 0, False), ("ffv1", 9, 10, None, 0, True), ("ffv1", 10, 9, None, 0, False),
                ("h264", 5, 10, None, 0, False), ("h264", 4, 10, None, 0, True), ("vp8", 9, 10, None, 0, False),
                ("h264", 9, 10, None, 1, True), ("ffv1", 9, 9, "gone", 0, True)):
            found = self.lack((packets, packets), picture={"codec_name": codec}, frames=frames, problem=problem,
                              damaged=damaged)
            self.assertEqual(found, f"{frames} frames could be decoded of {packets} packets: it is cut off or damaged"
                             if lacks else None)

    def test_fewer_packets_than_in_the_header_are_reported_as_damage(self):
        three = {"codec_name": "ffv1", "nb_frames": "3"}
        self.assertEqual(self.lack((2, 1), picture=three), "2 packets are there of 3: it is cut off or damaged")
        self.assertIsNone(self.lack((3, 1), picture=three))

    def test_damage_found_by_the_packet_reader_is_reported(self):
        self.assertEqual(self.lack(damage="odd"), "it is damaged: odd")

    def test_missing_bytes_of_an_mp4_file_are_those_of_its_boxes_beyond_the_end_of_the_file(self):
        path = self.folder / "boxes"
        for data, missing in ((b"", 0), (struct.pack(">I4s", 8, b"ftyp"), 0), (struct.pack(">I4s", 20, b"mdat") + bytes(5), 7),
                              (struct.pack(">I4sQ", 1, b"mdat", 30), 14), (struct.pack(">I4s", 0, b"mdat") + bytes(9), 0),
                              (struct.pack(">I4s", 8, b"free") + b"\0\0\1\0what the camera adds", 0)):
            path.write_bytes(data)
            self.assertEqual(verify.missing_bytes(path), missing, data)

    def test_avi_reader_finds_the_sizes_of_video_chunks_in_nested_lists(self):
        path = self.folder / "lists"

        def chunk(name, data):
            return struct.pack("<4sI", name, len(data)) + data + bytes(len(data) % 2)

        frames = chunk(b"01dc", b"abc") + chunk(b"00wb", b"x") + chunk(b"01dc", b"") + chunk(b"01db", b"ab")
        whole = chunk(b"RIFF", b"AVI " + chunk(b"LIST", b"hdrl" + bytes(9)) + chunk(b"LIST", b"movi" + frames))
        more = chunk(b"RIFF", b"AVIX" + chunk(b"LIST", b"movi" + chunk(b"01dc", b"1")))
        for data, sizes in ((whole, [3, 0, 2]), (whole + more, [3, 0, 2, 1]), (whole + b"what a camera adds", [3, 0, 2]),
                            (whole[:-3], None), (whole.replace(b"00wb", bytes(4)), None), (b"", [])):
            path.write_bytes(data)
            self.assertEqual(verify.chunks_of(path, 1), sizes, data)


class Counts(JobCase):
    def test_file_with_more_packets_than_shown_frames_counts_as_undamaged(self):
        """Fields of H.264, pictures of VP8 that are never shown, frames that an edit list hides."""
        fields = self.clip("fields.mkv", MOVING.format(0.6), "-vf", "setfield=tff", "-pix_fmt", "yuv420p", "-c:v", "libx264",
                           "-x264-params", "tff=1")
        hidden = self.clip("hidden.webm", "testsrc2=size=64x48:rate=25:duration=2", "-c:v", "libvpx", "-auto-alt-ref",
                           "1", "-lag-in-frames", "10", "-deadline", "good", "-cpu-used", "5")
        whole = self.clip("whole.mp4", "testsrc2=size=64x48:rate=25:duration=2", "-pix_fmt", "yuv420p", "-g", "50")
        cut = self.folder / "cut.mp4"
        media.run("ffmpeg", "-v", "error", "-ss", "1", "-i", whole, "-c", "copy", cut)
        for clip, number in ((fields, 15), (hidden, 50), (cut, 25)):
            with self.subTest(clip.name):
                self.job(clip)
                self.assertEqual(len(media.times(self.video())), number)

    def test_lost_frames_in_input_or_output_are_reported_as_a_problem(self):
        clip = self.clip("in.mkv", MOVING.format(0.6), "-c:v", "ffv1")
        with unittest.mock.patch.object(job.PacketCount, "result", lambda _: (16, 16)):
            self.assertRegex(self.partial(clip, "video", "jsonl"), "^15 frames could be decoded of 16 packets: it is cut off")
        self.replace(job.verify, "written_frames", lambda _: 14)
        self.assertEqual(self.problem(clip), "14 of 15 frames were written")


class Program(TranscodeCase):
    def test_transcode_with_some_unreadable_inputs_succeeds_for_the_others(self):
        good = self.clip("good.mp4", CLIP, "-pix_fmt", "yuv420p")
        also = self.clip("also.mkv", CLIP, "-pix_fmt", "yuv420p")
        (self.folder / "empty.mp4").write_bytes(b"")
        (self.folder / "text.avi").write_text("this is no video\n" * 100)
        (self.folder / "cut.mp4").write_bytes(good.read_bytes()[:20000])
        self.clip("sound.wav", "sine=duration=1")
        bad = {"missing.mp4": "No such file", "empty.mp4": "the file is empty", "text.avi": "",
               "cut.mp4": "", "sound.wav": "holds no video"}
        text = self.transcode(good, *(self.folder / name for name in bad), also, "-j", "2", status=1)
        for name, reason in bad.items():
            self.assertRegex(text, f"regions-transcode: .*{name}: .*{reason}")
        self.assertIn("5 of 7 inputs failed", text)
        self.assertNotIn("Traceback", text)
        self.assertEqual(self.written(), ["also.mp4", "good.mp4"])
        for clip in (good, also):
            self.expect_same_times(clip, self.out / (clip.stem + ".mp4"))

    def test_transcode_with_damaged_input_fails_with_a_partial_output_unless_it_is_accepted(self):
        whole = self.clip("whole.avi", CLIP, "-c:v", "mjpeg")
        data = bytearray(whole.read_bytes())
        middle = len(data) // 2
        data[middle:middle + 12000] = bytes(12000)
        damaged = self.folder / "damaged.avi"
        damaged.write_bytes(data)
        for _ in range(2):  # the second run fails, too
            self.assertRegex(self.transcode(damaged, status=1), r"damaged.avi: 4\d packets are there of 50: it is cut off")
            self.assertEqual(self.written(), ["damaged.partial.mp4"])
        self.assertIn("note: ", self.transcode(damaged, "--accept-partial"))
        self.assertGreaterEqual(len(media.times(self.out / "damaged.mp4")), 40)
        self.assertIn("skipped", self.transcode(damaged))
        ended = self.folder / "ended.avi"
        ended.write_bytes(whole.read_bytes()[:len(data) // 4])
        text = self.transcode(ended, status=1)
        self.assertRegex(text, r"ended.avi: \d+ packets are there of 50: it is cut off")

    def test_transcode_with_a_filter_that_prints_to_stdout_succeeds(self):
        """Elements may print to standard output. Messages of jobs have their own channel."""
        clips = [self.clip(name, "testsrc2=size=32x32:rate=25:duration=0.2", "-pix_fmt", "yuv420p")
                 for name in ("one.mp4", "two.mp4")]
        text = self.run_program("-o", self.out, "--filter", "identity dump=true", *clips)
        self.assertIn("00000000 (0x", text)
        self.assertNotIn("Traceback", text)
        self.assertEqual(self.written(), ["one.mp4", "two.mp4"])

    def test_transcode_when_the_device_is_lost_fails_for_one_input_only(self):
        """Finished outputs stay, and the failed input is named."""
        short = self.clip("short.mp4", "testsrc2=size=64x48:rate=25:duration=1",
                          "-pix_fmt", "yuv420p")
        long = self.clip("long.mp4", "testsrc2=size=64x48:rate=25:duration=20",
                         "-pix_fmt", "yuv420p")
        # As many steps as the short input needs; every input has its own process.
        for steps in (250 * 2**i for i in range(6)):
            env = dict(os.environ, REGIONS_FAULTS=f"gone={steps}")
            done = subprocess.run([PROGRAM, "-o", self.folder / "try", "--filter", UNTOUCHED, short],
                                  env=env, capture_output=True, check=False)
            if done.returncode == 0:
                break
        text = self.transcode(short, long, status=1, env=env)
        self.assertRegex(text, "regions-transcode: .*long.mp4: .*the device was lost")
        self.assertIn("1 of 2 inputs failed", text)
        self.assertEqual(self.written(), ["short.mp4"])
        self.expect_same_times(short, self.out / "short.mp4")
        self.transcode(short, long)  # the device is back
        self.assertEqual(self.written(), ["long.mp4", "short.mp4"])


if __name__ == "__main__":
    main()
