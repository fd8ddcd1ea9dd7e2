#!/usr/bin/python3
"""How ffprobe and ffmpeg are called, and how their answers are read (transcode/ffprobe.py, probe.py, encode.py). Programs that record
their command line replace both."""

import contextlib
import io
import json
import os
import shutil
import sys
import time
import unittest.mock

import media
from cases import PLAIN, PROGRAM, UNTOUCHED, Case, main, wait_until
from transcode import encode, ffprobe, probe, profiles, verify  # after cases, which sets the path


PICTURE = {"codec_type": "video", "codec_name": "h264", "index": 0}


class Tools(Case):
    def setUp(self):
        super().setUp()
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        path = unittest.mock.patch.dict(os.environ, {"PATH": str(self.tools)})
        path.start()
        self.addCleanup(path.stop)

    def tool(self, name, prints="", errors="", status=0):
        """Makes a program that prints these texts, and writes its arguments into a file."""
        program, texts = self.tools / name, (self.tools / f"{name}.out", self.tools / f"{name}.err")
        for path, text in zip(texts, (prints, errors)):
            path.write_text(text)
        program.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" >'{self.tools}/called'\n/bin/cat '{texts[0]}'\n"
                           f"/bin/cat '{texts[1]}' >&2\nexit {status}\n")
        program.chmod(0o755)

    def called(self):
        return (self.tools / "called").read_text().split("\0")[:-1]

    def input(self, *streams, start=None, frame=None, **told):
        told = {"streams": streams, "format": {"start_time": start} if start else {},
                "packets_and_frames": [{"type": kind, "stream_index": 0} | entries for kind, entries in (
                    ("packet", {}), ("frame", frame or {}), ("packet", {}))]} | told
        self.tool("ffprobe", json.dumps(told))
        return probe.Input("in")


class WaitingCall(Case):
    """Calls of ffprobe that begin before their file is written."""

    def test_waiting_call_reads_the_file_when_its_answer_is_requested(self):
        path = str(self.folder / "later.mkv")
        call = ffprobe.Call(path, "-show_entries", "stream=codec_name", waits=True)
        time.sleep(0.5)  # without waiting, ffprobe would need less, and fail
        self.assertIsNone(call.process.poll())
        media.run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", PLAIN, "-c:v", "ffv1", path)
        self.assertEqual(call.answer()["streams"], [{"codec_name": "ffv1"}])
        call.close()

    def test_waiting_call_that_is_closed_leaves_no_process(self):
        call = ffprobe.Call("in", waits=True)
        call.close()
        self.assertRaises(ProcessLookupError, os.kill, call.process.pid, 0)

    def test_waiting_call_ends_with_the_process_that_made_it(self):
        code = "import os\nfrom transcode import ffprobe\n"
        code += "print(ffprobe.Call('in', waits=True).process.pid, flush=True)\nos.kill(os.getpid(), 9)"
        number = int(media.run(sys.executable, "-c", code, status=-9, cwd=media.ROOT / "pipelines"))
        wait_until(lambda: not os.path.exists(f"/proc/{number}/exe"))
        self.assertFalse(os.path.exists(f"/proc/{number}/exe"))

    def test_program_calls_ffprobe_once_for_its_first_input_and_once_for_the_output(self):
        calls, tool = self.folder / "calls", self.folder / "ffprobe"
        tool.write_text(f"#!/bin/sh\necho \"$@\" >>'{calls}'\nexec {shutil.which('ffprobe')} \"$@\"\n")
        tool.chmod(0o755)
        media.run(PROGRAM, self.clip("plain.mp4", PLAIN, "-pix_fmt", "yuv420p"), "-o", self.out, "--filter", UNTOUCHED,
                  env=os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"})
        self.assertEqual([line.rpartition("/")[2] for line in calls.read_text().splitlines()][:1], ["plain.mp4"])
        self.assertEqual(len(calls.read_text().splitlines()), 2)


class Probe(Tools):
    def refused(self):
        with self.assertRaises(ffprobe.InputProblem) as problem:
            probe.Input("in")
        return str(problem.exception)

    def test_probe_of_streams_with_offsets_returns_start_delay_and_length(self):
        audio = {"codec_type": "audio", "codec_name": "aac", "index": 1}
        picture = PICTURE | {"start_time": "0.75", "duration": "4.5"}
        counted = picture | {"nb_frames": "300", "avg_frame_rate": "30000/1001"}
        late = {"codec_type": "video", "index": 0}
        for streams, start, delay, length in (
                ([picture, audio], "0.25", 0.5, 4.5), ([picture], "1.25", 0.0, 4.5), ([picture], None, 0.75, 4.5),
                ([PICTURE | {"duration": "4.5"}], "0.5", 0.0, 4.5), ([counted, picture | {"duration": "99"}], None, 0.75, 4.5),
                ([late | {"avg_frame_rate": "25/1"}], None, 0.0, 0.0),
                ([late | {"tags": {"DURATION": "00:01:02.500000000"}}], None, 0.0, 62.5)):
            found = self.input(*streams, start=start)
            self.assertEqual((found.delay, found.length), (delay, length))
        for begins, start, found in (("0.75", "0.25", (0.25, 0.5)), ("0", "-0.25", (0, 0)), ("0.5", "-0.25", (0, 0.5)),
                                     ("-0.25", "-0.25", (-0.25, 0)), ("-0.25", "-0.75", (-0.25, 0))):
            told = self.input(PICTURE | {"start_time": begins}, audio, start=start)
            self.assertEqual((told.start, told.delay), found)
        self.assertEqual(self.input(PICTURE, format={"duration": "7.5"}).length, 7.5)
        self.assertEqual(self.input(PICTURE, audio, format={"duration": "7.5"}).length, 0.0, "it may be the sound's")
        self.assertEqual(self.called()[-1], "file:in")

    def test_probe_of_a_file_with_a_cover_picture_selects_the_first_real_video(self):
        cover = PICTURE | {"disposition": {"attached_pic": 1}}
        found = self.input(cover, {"codec_type": "audio"}, PICTURE | {"index": 2}, PICTURE | {"index": 3})
        self.assertEqual((found.picture["index"], [stream.get("index") for stream in found.others]), (2, [0, None, 3]))
        audio, texts = {"codec_type": "audio"}, {"codec_type": "subtitle"}
        for streams, told in (([], "holds no stream that FFmpeg recognises"),
                              ([cover], "holds no video stream: only a cover picture"),
                              ([audio, cover, audio], "holds no video stream: only a cover picture and audio"),
                              ([audio, {}], "holds no video stream: only audio and unknown streams"),
                              ([audio, texts, cover], "holds no video stream: only a cover picture, audio and subtitles")):
            with self.assertRaisesRegex(ffprobe.InputProblem, f"^{told}$"):
                self.input(*streams)

    def test_probe_of_unreadable_input_raises_the_last_line_of_ffprobe(self):
        self.assertEqual(self.refused(), "ffprobe, a part of ffmpeg, is not installed: run pipelines/setup")
        self.tool("ffprobe", errors="first\nlast\n", status=1)
        self.assertEqual(self.refused(), "holds no video that can be decoded here: last")
        self.tool("ffprobe", status=1)
        self.assertEqual(self.refused(), "holds no video that can be decoded here: no reason was given")

    def test_probe_of_a_display_matrix_or_exif_tag_returns_the_rotation(self):
        def matrix(*numbers):
            rows = "".join(f"\n0000000{row}: {numbers[2 * row]} {numbers[2 * row + 1]} 0" for row in range(2))
            return [{"side_data_type": "Display Matrix", "displaymatrix": rows + "\n00000002: 0 0 1073741824\n"}]

        one = 65536
        for numbers, turn in (((one, 0, 0, one), None), ((0, one, -one, 0), "90r"), ((-one, 0, 0, -one), "180"),
                              ((0, -one, one, 0), "90l"), ((-one, 0, 0, one), "horiz"), ((one, 0, 0, -one), "vert"),
                              ((0, one, one, 0), "ul-lr"), ((0, -one, -one, 0), "ur-ll")):
            self.assertEqual(self.input(PICTURE | {"side_data_list": matrix(*numbers)}).turn, turn)
        for number, turn in (("1", None), ("3", "180"), ("6", "90r"), ("8", "90l")):
            self.assertEqual(self.input(PICTURE, frame={"tags": {"Orientation": f"    {number}"}}).turn, turn)

    def test_colorimetry_of_input_without_colours_is_assumed_from_the_height(self):
        for frame, form, height, told, guessed in (
                ({}, "I420", 576, "2:0:0:0", "2:4:0:0"), ({}, "I420", 577, "2:0:0:0", "2:3:0:0"),
                ({"color_range": "pc", "color_space": "bt709", "color_transfer": "bt709", "color_primaries": "bt709"},
                 "I420", 10, "1:3:5:1", "1:3:5:1"), ({}, "RGB", 10, "1:1:0:0", "1:1:0:0")):
            found = self.input(PICTURE, frame=frame)
            self.assertEqual(found.colorimetry(form, height, guess=False), told)
            self.assertEqual(found.colorimetry(form, height), guessed)
        gray = PICTURE | {"pix_fmt": "gray"}
        self.assertEqual(self.input(gray).colorimetry("GRAY8", 720), "1:4:0:0")
        self.assertEqual(self.input(gray, frame={"color_range": "tv"}).colorimetry("GRAY8", 720), "2:4:0:0")
        self.assertEqual(self.input(PICTURE | {"pix_fmt": "yuvj420p"}).iso_colors("I420", 10, guess=False), (2, 2, 2, True))


class PacketsOfAFile(Case):
    def copy(self, name, clip, *options):
        media.run("ffmpeg", "-v", "error", *options, "-i", clip, "-c", "copy", self.folder / name)
        return str(self.folder / name)

    def counted(self, path, container, **options):
        """The counts of packets, and the first error."""
        with contextlib.closing(verify.PacketCount(str(path), 0, **options)) as packets:
            return packets.result(), packets.damage(container)

    def test_counts_leave_out_hidden_packets_empty_packets_and_those_before_the_first_key_frame(self):
        rows = "0, 0, 0, 1, 5, 0x1, F=0x0\n", "0, 1, 1, 1, 10, 0x1\n", verify.EMPTY, "0, 3, 3, 1, 12, 0x1, F=0x4\n"
        self.assertEqual(verify.counts_in(io.StringIO("#tb 0: 1/25\n" + "".join(rows) + "0, 4, 4, 1, 8, 0x1\n")), (5, 2))
        self.assertEqual(verify.counts_in(io.StringIO("0, 0, 0, 1, 5, 0x1, F=0x0\n" + verify.EMPTY)), (2, 1))

    def test_packets_that_an_edit_list_hides_are_not_shown(self):
        clip = self.clip("full.mp4", PLAIN, "-pix_fmt", "yuv420p", "-g", "5", "-bf", "0")
        hidden = self.copy("hidden.mp4", clip, "-ss", "0.28")
        self.assertEqual(self.counted(clip, verify.MP4), ((10, 10), None))
        self.assertEqual(self.counted(hidden, verify.MP4), ((5, 3), None))
        self.assertEqual([verify.written_frames(path) for path in (str(clip), hidden)], [10, 3])

    def test_packet_count_of_every_container_equals_that_of_ffprobe(self):
        clip = self.clip("full.mp4", PLAIN, "-pix_fmt", "yuv420p", "-g", "5")
        for name in ("a.mkv", "a.avi", "a.ts", "a.flv", "a.mov", "a 50%d.mp4"):
            path = self.copy(name, clip)
            listed = media.run("ffprobe", "-v", "error", "-select_streams", "0", "-show_entries", "packet=size", "-of",
                               "csv=p=0", "file:" + path)
            self.assertEqual(self.counted(path, "")[0], (len(listed.split()),) * 2, name)

    def test_error_of_the_container_is_the_damage(self):
        path = self.folder / "cut.mp4"
        path.write_bytes(self.clip("full.mp4", PLAIN, "-pix_fmt", "yuv420p").read_bytes()[:40])
        self.assertEqual(self.counted(path, verify.MP4), ((0, 0), "moov atom not found"))
        self.assertEqual(self.counted(path, "avi"), ((0, 0), None))

    def test_warning_of_the_container_is_no_damage(self):
        """FFmpeg warns that it does not know the type of the attachment."""
        path = str(self.folder / "a.mkv")
        media.run("ffmpeg", "-v", "error", "-i", self.clip("full.mp4", PLAIN, "-pix_fmt", "yuv420p"), "-attach", __file__,
                  "-metadata:s:t", "mimetype=application/unknown", "-c", "copy", path)
        self.assertIn("[matroska,webm @", media.run("ffprobe", "-v", "warning", path))
        self.assertEqual(self.counted(path, "matroska,webm"), ((10, 10), None))

    def test_packet_count_that_is_closed_early_leaves_no_process(self):
        packets = verify.PacketCount(str(self.clip("full.mp4", PLAIN, "-pix_fmt", "yuv420p")), 0)
        number = packets.process
        packets.close()
        self.assertRaises(ProcessLookupError, os.kill, number, 0)

    def test_packets_before_the_first_key_frame_are_not_shown(self):
        clip = self.clip("full.ts", PLAIN, "-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-g", "5", "-bf", "0")
        media.run("ffmpeg", "-v", "error", "-i", clip, "-c", "copy", "-copyinkf", "-bsf:v", r"noise=amount=0:drop=lt(n\,2)",
                  self.folder / "late.ts")
        self.assertEqual(verify.written_frames(str(self.folder / "late.ts")), 5)

    def test_first_frame_after_many_packets_of_sound_is_found(self):
        """The packets of half a second of sound come first."""
        path = str(self.folder / "late.mkv")
        media.run("ffmpeg", "-v", "error", "-f", "lavfi", "-itsoffset", "0.5", "-i", "testsrc2=size=64x48:duration=0.2", "-f",
                  "lavfi", "-i", "sine=duration=1", "-map", "0", "-map", "1", "-pix_fmt", "yuv420p", "-c:a", "mp2", path)
        order = media.run("ffprobe", "-v", "error", "-show_entries", "packet=codec_type", "-of", "csv=p=0", path).split()
        self.assertGreater(order.index("video"), verify.FEW_PACKETS)
        self.assertEqual(verify.first_frame(verify.inspect(path, verify.inspection(path)))["width"], 64)

    def test_written_frames_of_a_file_that_cannot_be_read_are_0(self):
        (self.folder / "no.mp4").write_bytes(b"no video")
        self.assertEqual(verify.written_frames(str(self.folder / "no.mp4")), 0)


class Joining(Tools):
    def joined(self, profile, *others, with_sound=True, colors=None, **told):
        """The options of ffmpeg without its constant options, and the notes."""
        source = self.input(PICTURE, *({"index": number} | stream for number, stream in enumerate(others, 1)), **told)
        source.path, source.delay, source.start = "a|b", 0.25, 0.5
        self.tool("ffmpeg")
        picture, out = os.memfd_create("picture"), os.memfd_create("out")
        streams = encode.plan_streams(source, profiles.PROFILES[profile], with_sound)
        with open(self.folder / "errors", "w", encoding="utf-8") as errors:
            process = encode.join(picture, source, profiles.PROFILES[profile], out, errors, streams, colors)
            self.assertEqual(os.getpgid(process.pid), process.pid, "Ctrl-C does not reach it")
            self.assertEqual(process.wait(), 0)
        words = self.called()
        begin = ["-v", "error", "-nostdin", "-y", "-copyts", "-itsoffset", "0.250000", "-i", f"/proc/self/fd/{picture}",
                 "-itsoffset", "-0.500000", "-i", "file:a|b", "-map", "0:v", "-c", "copy", "-map_metadata", "1", "-map_chapters", "1"]
        end = ["-avoid_negative_ts", "disabled", "-f", profiles.PROFILES[profile].container, f"/proc/self/fd/{out}"]
        self.assertEqual((words[:len(begin)], words[-len(end):]), (begin, end))
        os.close(picture)
        os.close(out)
        tags = ["-metadata:s:v:0", "language=", "-metadata:s:v:0", "title="]
        rest = words[len(begin):-len(end)]
        at = rest.index(tags[0])
        self.assertEqual(rest[at:at + 4], tags)
        return rest[:at] + rest[at + 4:], streams[2]

    def sounds(self, profile, *codecs):
        return self.joined(profile, *({"codec_type": "audio", "codec_name": codec} for codec in codecs))

    def test_ffmpeg_command_of_join_copies_sound_that_fits_the_container_and_encodes_other(self):
        """Each stream is copied if the container can hold it, else encoded."""
        def note(codec, encoder, container):
            why = "few players play it in mp4 files" if container == "mp4" else "webm files cannot hold it"
            return f"its {codec} sound is encoded as {encoder}: {why}"

        for codec in ("aac", "mp3", "ac3", "eac3", "alac", "opus"):
            self.assertEqual(self.sounds("mp4", codec), (["-map", "1:1", "-c:1", "copy"], []))
        self.assertEqual(self.sounds("mp4", "mp2", "aac"), (
            ["-map", "1:1", "-c:1", "aac", "-b:1", "192k", "-map", "1:2", "-c:2", "copy"], [note("mp2", "aac", "mp4")]))
        self.assertEqual(self.sounds("mp4", "flac"), (["-map", "1:1", "-c:1", "copy", "-strict", "experimental"], []))
        self.assertEqual(self.sounds("webm", "opus", "aac"), (
            ["-map", "1:1", "-c:1", "copy", "-map", "1:2", "-c:2", "libopus", "-b:2", "128k", "-filter:2",
             "aformat=channel_layouts=mono|stereo|3.0|quad|5.0|5.1|6.1|7.1"],
            [note("aac", "libopus", "webm")]))
        for profile in ("mkv", "lossless"):
            self.assertEqual(self.sounds(profile, "pcm_s16le"), (["-map", "1:1", "-c:1", "copy"], []))
        self.assertEqual(self.joined("mp4", {"codec_type": "audio", "codec_name": "aac"}, with_sound=False), ([], []))

    def test_ffmpeg_command_of_join_keeps_subtitles_and_timecode_that_fit_and_drops_data(self):
        def left(what, container):
            return [f"its {what} is left out: {container} files cannot hold it"]

        text, bitmap = ({"codec_type": "subtitle", "codec_name": name} for name in ("subrip", "hdmv_pgs_subtitle"))
        self.assertEqual(self.joined("mkv", text, bitmap), (
            ["-map", "1:1", "-c:1", "copy", "-map", "1:2", "-c:2", "copy"], []))
        self.assertEqual(self.joined("mp4", text, bitmap), (
            ["-map", "1:1", "-c:1", "mov_text"], left("track of subtitles (hdmv_pgs_subtitle)", "mp4")))
        self.assertEqual(self.joined("mkv", {"codec_type": "subtitle", "codec_name": "mov_text"})[0][-1], "srt")
        self.assertEqual(self.joined("mp4", {"codec_type": "subtitle", "codec_name": "ass"}), (
            ["-map", "1:1", "-c:1", "mov_text"],
            ["its ass track of subtitles is encoded as mov_text: mp4 files cannot hold it"]))
        data = {"codec_type": "data", "codec_name": "klv"}
        for profile in profiles.PROFILES:
            self.assertEqual(self.joined(profile, data),
                             ([], ["its data track (klv) is left out: data tracks are not copied"]))
        bitmap = {"codec_type": "subtitle", "codec_name": "dvd_subtitle"}
        self.assertEqual(self.joined("mp4", bitmap), (["-map", "1:1", "-c:1", "copy"], []))
        code = {"codec_type": "data", "codec_tag_string": "tmcd", "tags": {"timecode": "01:00:00:00"}}
        self.assertEqual(self.joined("mp4", code), (["-metadata", "timecode=01:00:00:00"], []))

    def test_ffmpeg_command_of_join_contains_the_colours_as_options(self):
        for profile, words in (("mp4", ["-bsf:v:0", "h264_metadata=video_full_range_flag=1:colour_primaries=1"
                                        ":transfer_characteristics=13:matrix_coefficients=5"]),
                               ("webm", ["-bsf:v:0", "vp9_metadata=color_space=bt601:color_range=pc"]), ("lossless", [])):
            stored = ["-color_primaries:v:0", "1", "-color_trc:v:0", "13", "-colorspace:v:0", "5", "-color_range:v:0", "2"]
            self.assertEqual(self.joined(profile, colors=(1, 13, 5, True)), (stored + words, []))


if __name__ == "__main__":
    main()
