#!/usr/bin/python3
"""Jobs (transcode/job.py) in the test's own process: outputs and messages of one file, failures, interrupts, inputs that
cannot be decoded."""

import gc
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest.mock

import numpy

import media
from cases import LABELLED, PLAIN, Case, JobCase, TranscodeCase, main, notes, program, wait_until, x264_settings
from gstreamer import GLib, Gst, keep_thread_state  # after cases, which sets the path
from transcode import encode, exports, ffprobe, job, probe, run_job, segments


class Outputs(JobCase):
    def test_job_with_all_outputs_writes_them_and_names_the_video_last(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", "yuv420p")
        jobs = []
        transcode = job.Job.transcode
        self.replace(job.Job, "transcode", lambda one: (jobs.append(one), transcode(one)))
        messages = self.job(clip, "video", "jsonl", "labels")
        self.assertEqual([one.pipeline.get_state(0).state for one in jobs], [Gst.State.NULL], "nothing plays on")
        parts = [one["part"] for one in messages if "part" in one]
        self.assertEqual(len(set(parts)), 4, "one for the picture alone")
        for part in parts:
            self.assertEqual(os.path.dirname(part), str(self.out))
            self.assertFalse(os.path.exists(part))
        done, = [one["done"] for one in messages if "done" in one]
        self.assertEqual(done["frames"], 10)
        self.assertAlmostEqual(done["length"], 0.4, places=6)
        self.assertTrue(0 < done["seconds"] < 300)
        self.assertEqual([one for one in messages if not {"part", "done", "progress"} & set(one)], [])
        self.assertEqual(self.files(self.out), ["out.jsonl", "out.labels.mkv", "out.mp4"])
        self.assertEqual(media.stream(self.video(), "codec_name", "pix_fmt", "width", "height"),
                         {"codec_name": "h264", "pix_fmt": "yuv420p", "width": "64", "height": "48"})
        rows = [json.loads(line) for line in pathlib.Path(self.outputs["jsonl"]).read_text().splitlines()]
        self.assertEqual([row["frame"] for row in rows], list(range(10)))
        numpy.testing.assert_allclose([row["time"] for row in rows], numpy.arange(10) / 25, atol=1e-3)
        labels = media.frames(self.outputs["labels"], "gray16le")
        self.assertEqual([row["regions-total"] for row in rows], [picture.max() for picture in labels])
        self.assertGreater(labels.max(), 0)
        for path in (self.video(), self.outputs["labels"]):
            numpy.testing.assert_allclose(media.times(path), media.times(clip), atol=1e-3)
        # The video is the last to have its name.
        names = []
        replace = os.replace
        self.replace(os, "replace", lambda part, path: (names.append(path), replace(part, path)))
        self.job(clip, "video", "jsonl", "labels")
        self.assertEqual(names[-1], self.outputs["video"])
        self.assertEqual(len(names), 3)

    def test_thread_limit_is_set_on_decoder_filter_and_encoder(self):
        """As many as a cluster gave to the job, in decoder, filter and encoder."""
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        packets, add, seen = job.Decoder.packets, job.Job.add, []

        def read(decoder, file, picture):
            seen.append(picture.codec_context.thread_count)
            return packets(decoder, file, picture)

        def added(one, part, pad):
            add(one, part, pad)
            seen.extend(element.get_property("cpu-threads") for element in part.children
                        if element.find_property("cpu-threads"))

        self.replace(job.Decoder, "packets", read)
        self.replace(job.Job, "add", added)
        for threads in (1, 3):
            seen.clear()
            self.job(clip, threads=threads)
            self.assertEqual(seen, [threads, threads])
            self.assertEqual(x264_settings(self.video())["threads"], str(threads))

    def test_job_with_many_frames_has_few_of_them_in_memory(self):
        """Frames of MPEG-2 are in reference cycles, because their side data is read. Others need no garbage collector."""
        buffer, counts = job.Decoder.buffer, []

        def counted(decoder, frame, *arguments):
            if decoder.frames % 50 == 49:
                counts.append(sum(isinstance(one, type(frame)) for one in gc.get_objects()))
            return buffer(decoder, frame, *arguments)

        self.replace(job.Decoder, "buffer", counted)
        self.addCleanup(gc.enable)
        gc.disable()
        for codec in ("mpeg2video", "libx264"):
            counts.clear()
            self.job(self.clip("in.mkv", "testsrc=size=64x48:rate=25:duration=16", "-c:v", codec, "-pix_fmt", "yuv420p"), "video")
            self.assertEqual(len(counts), 8)
            self.assertLess(max(counts), 120, codec)

    def test_job_with_only_a_table_requested_writes_no_video(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.job(clip, "jsonl")
        self.assertEqual(self.files(self.out), ["out.jsonl"])

    def test_gray_output_of_a_filter_is_stored_as_gray16_in_lossless_and_as_yuv420_in_mp4(self):
        """Gray pictures of a filter are stored as gray16 in the lossless profile and as yuv420p in MP4."""
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", "yuv420p", "-colorspace", "bt709", "-color_range",
                         "tv", "-color_primaries", "bt709", "-color_trc", "bt709")
        self.job(clip, filter="cclabel output=labels", profile="lossless")
        self.assertEqual(media.stream(self.video(), "pix_fmt")["pix_fmt"], "gray16le")
        self.job(clip, filter="cclabel output=mask", profile="mp4")
        self.assertEqual(media.stream(self.video(), "pix_fmt")["pix_fmt"], "yuv420p")
        self.assertEqual({*numpy.unique(media.frames(self.video(), "gray") // 128)}, {0, 1})

    def test_output_has_the_size_that_the_filter_gives(self):
        """The video has the size of the filter's pictures."""
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.job(clip, filter="videocrop name=a ! " + LABELLED)
        self.assertEqual(media.stream(self.video(), "width")["width"], "64")
        self.job(clip, filter="videoscale ! video/x-raw,width=32,height=32 ! " + LABELLED)
        self.assertEqual(media.stream(self.video(), "width", "height"), {"width": "32", "height": "32"})

    def test_sound_of_aac_is_copied_and_of_wavpack_is_encoded_with_a_note(self):
        tone = ("-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")
        clip = self.clip("in.mp4", PLAIN, *tone, "-c:a", "aac")
        messages = self.job(clip, "video", "jsonl")
        self.assertEqual(media.sound_sum(self.video()), media.sound_sum(clip))
        self.assertEqual(len([one for one in messages if "part" in one]), 3, "one for the picture alone")
        self.assertEqual(self.files(self.out), ["out.jsonl", "out.mp4"])
        self.assertEqual([one for one in messages if "note" in one], [])
        packed = self.clip("in.mkv", PLAIN, *tone, "-c:a", "wavpack")
        messages = self.job(packed)
        self.assertEqual([one["note"] for one in messages if "note" in one],
                         ["its wavpack sound is encoded as aac: few players play it in mp4 files"])
        self.assertGreater(len(media.sound_times(self.video())), 10)
        self.assertEqual(media.sound_times(self.video())[0] < 0.1, True)
        self.job(clip, with_sound=False)
        self.assertEqual(media.sound_times(self.video()), [])
        self.job(clip, "jsonl")
        self.assertEqual(self.files(self.out), ["out.jsonl", "out.mp4"])


class Reasons(JobCase):
    def test_job_when_writing_fails_reports_the_error_as_its_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        for error, reason in ((OSError(5, "the reason"), "the reason"), (OSError("a text alone"), "a text alone"),
                              (OSError(5, "the reason", "a name"), "a name: the reason"), (OSError(), "OSError"),
                              (exports.SidecarProblem("of a sidecar"), "of a sidecar"),
                              (GLib.Error("of GLib"), "of GLib")):
            with unittest.mock.patch.object(exports.Lines, "write", unittest.mock.Mock(side_effect=error)):
                self.assertEqual(self.problem(clip, "video", "jsonl"), reason)

    def test_job_when_it_fails_before_the_pipeline_starts_reports_the_error_as_its_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        for error, reason in ((OSError(5, "the reason"), "the reason"), (OSError("a text alone"), "a text alone"),
                              (job.InputProblem("of the input"), "of the input"), (GLib.Error("of GLib"), "of GLib"),
                              (MemoryError(), "MemoryError")):
            with unittest.mock.patch.object(job.Job, "transcode", unittest.mock.Mock(side_effect=error)):
                self.assertEqual(self.problem(clip), reason)

    def test_job_with_unwritable_output_names_the_file_in_its_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        with open("/dev/full", "wb") as full:
            for kind, line in (("jsonl", LABELLED), ("video", LABELLED), ("labels", LABELLED)):
                def opened(path):
                    output = unittest.mock.MagicMock(path=path, fd=full.fileno(), part=None)
                    output.__enter__.return_value = output
                    return output

                self.replace(job, "Output", opened)
                problem = self.problem(clip, kind, filter=line)
                self.assertRegex(problem, f"^{self.outputs[kind]} cannot be written: .*[Nn]o space left")

    def test_job_with_invalid_filter_reports_a_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.assertEqual(self.problem(clip, filter="nonsense"),
                         "the filter 'nonsense' cannot be made: no element \"nonsense\"")

    def test_job_when_the_decoder_gives_no_frame_reports_its_message(self):
        for why, problem in (("of the container", "of the container"), (None, "why not")):
            one = self.half_done()
            one.decoder.frames, one.decoder.problem = 0, why
            self.replace(job, "why_no_frame", lambda _: "why not")
            self.assertEqual(one.why_empty(), f"holds no video frame that can be decoded: {problem}")

    def test_job_when_joining_loses_frames_reports_a_problem_with_the_reason(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        for errors, reason in (("echo first >&2; echo why >&2", ": why"), ("true", "")):
            def shortened(picture, _source, _profile, out, messages, *_, errors=errors):
                command = (f"ffmpeg -v error -nostdin -y -i /proc/self/fd/{picture} -c copy -frames:v 3 -f mp4"
                           f" /proc/self/fd/{out}; {errors}")
                return subprocess.Popen(["sh", "-c", command], stderr=messages, pass_fds=(picture, out))

            with unittest.mock.patch.object(encode, "join", shortened):
                self.assertEqual(self.problem(clip), f"3 of 10 frames were written{reason}")


class Notes(JobCase):
    def test_job_that_changes_the_pixel_format_reports_a_note(self):
        for pixels, profile, messages in (
                ("yuv420p", "mp4", []), ("yuv420p", "webm", []), ("yuv444p", "mp4", []), ("gray", "lossless", []),
                ("yuv422p", "webm", ["its Y42B pixels are coded as I420"]),
                ("bgr0", "mp4", ["its BGRx pixels are coded as Y444"])):
            clip = self.clip(f"{pixels}.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", pixels)
            found = notes(self.job(clip, profile=profile))
            self.assertEqual(len(found), len(messages), found)
            for note, words in zip(found, messages):
                self.assertEqual(note.rsplit(" ", 1)[0], words.rsplit(" ", 1)[0])

    def test_job_that_converts_pixels_after_decoding_reports_a_note(self):
        for pixels, count in (("yuv440p", 1), ("yuv420p", 0)):
            clip = self.clip(f"{pixels}.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", pixels)
            self.assertEqual(len([note for note in notes(self.job(clip)) if note.startswith("its yuv440p pixels are ")]), count)

    def test_job_with_accepted_damage_reports_a_note_instead_of_a_problem(self):
        whole = self.clip("in.avi", PLAIN, "-c:v", "mjpeg", "-q:v", "2")
        cut = self.folder / "cut.avi"
        cut.write_bytes(whole.read_bytes()[:whole.stat().st_size // 2])
        damage = "cut off or damaged$"
        messages = self.job(cut, accept_partial=True)
        self.assertRegex(notes(messages)[-1], damage)
        self.assertEqual([list(message) for message in messages][-1], ["done"])
        self.assertEqual(self.files(self.out), ["out.mp4"])
        self.video().unlink()
        messages = self.job(cut, status=1)
        self.assertEqual([note for note in notes(messages) if "damaged" in note], [])
        self.assertRegex(messages[-1]["problem"], "cut off or damaged; the readable part is in files with .partial in their"
                         r" names \(--accept-partial accepts it as whole\)$")
        self.assertEqual(self.files(self.out), ["out.partial.mp4"])
        for file in self.out.iterdir():
            file.unlink()
        messages = self.job(whole)
        self.assertEqual(notes(messages), [])


class Trouble(JobCase):
    def test_job_waits_for_joining_although_a_late_message_ends_its_main_loop(self):
        class Late(job.Job):
            def run_joiner(self, *what):
                GLib.idle_add(self.loop.quit)
                return super().run_joiner(*what)

        self.job(self.clip("in.mkv", PLAIN), kind=Late)
        self.assertEqual(len(media.times(self.video())), 10)

    def test_job_when_its_pipeline_fails_closes_its_tables_without_their_remaining_lines(self):
        """Otherwise Python writes the lines later to another file that has got the same descriptor."""
        made, make = [], job.writer_of
        self.replace(job, "writer_of", lambda *of: made.append(make(*of)) or made[-1])
        self.problem(self.clip("in.mkv", PLAIN), "video", "jsonl", filter=f"identity error-after=5 ! {LABELLED}")
        self.assertEqual([(lines.file.closed, lines.raw.is_discarded) for lines in made], [(True, True)])

    def test_job_when_joining_fails_reports_a_problem_and_leaves_no_file(self):
        clip = self.clip("in.mkv", PLAIN, "-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p", "-c:a", "mp2")
        tries = []

        def failing(_picture, _source, _profile, _out, errors, *_):
            tries.append(subprocess.Popen(["sh", "-c", "echo first >&2; echo why >&2; exit 3"], stderr=errors))
            return tries[-1]

        self.replace(encode, "join", failing)
        messages = self.job(clip, "video", "jsonl", status=1)
        self.assertEqual(messages[-2:], [{"note": "its mp2 sound is encoded as aac: few players play it in mp4 files"},
                                      {"problem": "its other streams cannot be added to the output: why"}])
        self.assertEqual(len(tries), 1, "the sound is not the reason")
        self.assertEqual(self.files(self.out), [])
        self.replace(job, "Input", unittest.mock.Mock(side_effect=job.InputProblem("no ffprobe")))
        self.assertEqual(self.problem(clip), "no ffprobe")

    def test_job_when_interrupted_exits_with_130_and_leaves_no_file(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=30", "-c:v", "rawvideo", "-f", "matroska")
        see = job.Job.see_frame
        for number in (signal.SIGINT, signal.SIGTERM):
            def frame(one, pad, buffer, number=number):
                if one.frames == 3:
                    os.kill(os.getpid(), number)
                    wait_until(lambda: one.interrupted)
                return see(one, pad, buffer)

            with unittest.mock.patch.object(job.Job, "see_frame", frame):
                self.assertEqual(self.problem(clip, "video", "jsonl", "labels", status=130), "interrupted")
        # While the sound is joined.
        short = self.clip("in.mp4", PLAIN, "-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")
        started = []

        def slow(*_):
            os.kill(os.getpid(), signal.SIGINT)
            started.append(subprocess.Popen(["sleep", "60"]))
            return started[0]

        self.replace(encode, "join", slow)
        self.assertEqual(self.problem(short, status=130), "interrupted")
        self.assertEqual(started[0].wait(10), -signal.SIGKILL)

    def test_job_with_input_without_video_reports_a_problem(self):
        text = self.folder / "text.avi"
        text.write_text("this is no video\n" * 100)
        self.assertRegex(self.problem(text), "^holds no video that can be decoded here: .+")
        tone = self.clip("sound.wav", "sine=duration=0.2")
        self.assertEqual(self.problem(tone), "holds no video stream: only audio")
        self.assertRegex(self.problem(self.folder / "missing"), "No such file or directory$")
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")

        def nothing(one):
            one.decoder = job.Decoder(one.input, None)

        with unittest.mock.patch.object(job.Job, "transcode", nothing):
            self.assertEqual(self.problem(clip), "holds no video frame that can be decoded: the decoder makes no picture of its 10 packets")

    def test_job_with_a_playlist_as_input_opens_no_other_file(self):
        """Neither the named files nor the network are accessed, whatever the list's name is."""
        clip = self.clip("other.ts", PLAIN, "-c:v", "mpeg2video")
        # ffmpeg 7.1 takes no file for one of hls by another name.
        by_name = "extension_picky" in media.run("ffmpeg", "-v", "error", "-h", "demuxer=hls")
        self.clip("other.mkv", PLAIN, "-c:v", "ffv1")
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            hls = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.4,\n{}\n#EXT-X-ENDLIST\n"
            dash = ('<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" profiles="urn:mpeg:dash:'
                    'profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1" '
                    'bandwidth="1"><BaseURL>{}</BaseURL></Representation></AdaptationSet></Period></MPD>\n')
            sdp = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {} RTP/AVP 26\n"
            for form, text in (("hls", hls.format(clip.name)), ("hls", hls.format(clip)),
                               ("concat", "ffconcat version 1.0\nfile other.mkv\n"), ("", hls.format(f"http://{address}/a.ts")),
                               ("", f"ffconcat version 1.0\nfile http://{address}/a.mkv\n"),
                               ("", dash.format(f"http://{address}/a.mp4")), ("", sdp.format(server.getsockname()[1]))):
                for name in ("list.mp4", "list.m3u8"):
                    listed = self.folder / name
                    listed.write_text(text)
                    sure = form and not (form == "hls" and by_name and name == "list.mp4")
                    messages = rf"^is a list \({form}\) of other files" if sure else "^is a list|^holds no video"
                    self.assertRegex(self.problem(listed), messages, text)
            server.settimeout(0)
            self.assertRaises(BlockingIOError, server.accept)

    def test_job_with_an_internal_error_reports_it_as_its_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.replace(job.Job, "see_frame", unittest.mock.Mock(side_effect=ValueError("of mine")))
        self.assertEqual(self.problem(clip, "video", "jsonl"),
                         "internal error of this program (the input is not the cause): ValueError: of mine")

    def test_job_when_its_filter_fails_reports_a_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.assertEqual(self.problem(clip, "jsonl", filter="identity"),
                         "frame 0 has no `regions` metadata: add an element to the filter that finds regions, such as cclabel")
        self.assertEqual(self.problem(clip, "video", "labels", filter="identity"),
                         "frame 0 has no label map: add an element to the filter that attaches one, such as cclabel")
        self.assertIn("Failed after iterations as requested", self.problem(clip, filter="identity error-after=3"))
        self.assertEqual(self.problem(clip, filter="cclabel source=alpha").split(":")[0].count("\n"), 0)

    def test_job_with_a_fifo_as_output_reports_a_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        os.mkfifo(self.out / "out.mp4")
        messages = self.job(clip, status=1)
        self.assertEqual(messages, [{"problem": f"cannot write {self.out / 'out.mp4'}: it exists and is not a regular file"}])
        self.assertEqual(self.files(self.out), ["out.mp4"])

    def test_job_with_repeated_warnings_reports_each_once_with_its_count(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")

        def run(one, original=job.Job.transcode):
            original(one)
            for text in ("first", "second", "first"):
                warning = GLib.Error.new_literal(Gst.StreamError.quark(), text, Gst.StreamError.FAILED)
                one.on_message(None, Gst.Message.new_warning(one.pipeline, warning, "detail"))

        self.replace(job.Job, "transcode", run)
        messages = self.job(clip)
        self.assertEqual([line["note"] for line in messages if "note" in line], ["first (2 times)", "second"])

    def test_job_with_several_errors_reports_the_first(self):
        one = self.half_done()
        error = GLib.Error.new_literal(Gst.StreamError.quark(), "bad", Gst.StreamError.DECODE)
        one.on_message(None, Gst.Message.new_error(Gst.ElementFactory.make("identity"), error, "line\ncause"))
        one.stop("a later one")
        self.assertEqual(one.problem, "bad (cause)")

    def test_job_without_a_frame_for_120_s_reports_a_problem(self):
        """The first frame, a frame after others, and the first frame that the filter passes."""
        stuck = "no frame left the filter for 120 s: {} frames were decoded, {} filtered"
        for waited, decoded, frames, problem in (
                (119.9, 0, 0, None), (120.1, 0, 0, "no frame could be decoded within 120 s"), (119.9, 9, 7, None),
                (120.1, 9, 7, stuck.format(9, 7)), (120.1, 9, 0, stuck.format(9, 0))):
            one = self.half_done(frames=frames)
            one.decoder.frames = decoded
            with unittest.mock.patch.object(job.time, "monotonic", lambda one=one, w=waited: one.moved + w):
                self.assertTrue(one.tick())
            self.assertEqual(one.problem, problem)

    def test_job_when_its_filter_hangs_reports_a_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.replace(job, "PATIENCE", 1)
        see = job.Job.see_frame

        def frame(one, pad, buffer):
            see(one, pad, buffer)
            wait_until(lambda: one.problem)

        self.replace(job.Job, "see_frame", frame)
        self.assertRegex(self.problem(clip), r"^no frame left the filter for 1 s: \d+ frames were decoded, 1 filtered$")

    def test_job_progress_has_frame_total_and_rate(self):
        for frames, length, seconds, progress in (
                (30, 4.0, 2.0, {"frame": 30, "of": 100, "rate": 15.0}),
                (130, 4.0, 4.0, {"frame": 130, "of": 130, "rate": 32.5}),
                (30, 0.0, 2.0, {"frame": 30, "of": 0, "rate": 15.0}),
                (3, 0.0, 0.0, {"frame": 3, "of": 0, "rate": 3000.0})):
            messages = []
            one = self.half_done(frames=frames, started=50.0, moved=50.0, say=lambda messages=messages, **what: messages.append(what))
            one.input.length = length
            with unittest.mock.patch.object(job.time, "monotonic", lambda s=seconds: 50.0 + s):
                self.assertTrue(one.tick(), "it is asked again")
            self.assertEqual(messages, [{"progress": progress}])

    def test_job_passes_device_and_label_request_to_its_filter(self):
        made = job.filters.made
        calls = []
        self.replace(job.filters, "made", lambda *what: calls.append(what) or made(*what))
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.job(clip, "jsonl")
        self.job(clip, "jsonl", "labels", device=3, filter=LABELLED + " device=cpu")
        self.assertEqual(calls, [(LABELLED, (), -1, False), (LABELLED + " device=cpu", (), 3, True)])

    def test_job_when_its_standard_input_is_closed_exits_with_130(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=30", "-c:v", "rawvideo", "-f", "matroska")
        reader, writer = os.pipe()
        settings = {"source": str(clip), "outputs": {"video": str(self.out / "out.mp4")}, "profile": "mp4",
                    "filter": "identity sleep-time=10000 ! " + LABELLED}
        work = subprocess.Popen(["/usr/bin/python3", run_job.__file__, str(writer), "file", json.dumps(settings)],
                                stdin=subprocess.PIPE, pass_fds=(writer,))
        os.close(writer)
        with open(reader, encoding="utf-8") as messages:
            said = [json.loads(messages.readline()), json.loads(messages.readline())]
            self.assertEqual([list(one) for one in said], [["part"], ["progress"]])
            work.stdin.close()
            rest = [json.loads(line) for line in messages]
        self.assertEqual(work.wait(60), 130)
        self.assertEqual(rest[-1], {"problem": "interrupted"})
        self.assertEqual(self.files(self.out), [])


# A decoder of whose frames three are taken.
EARLY = """
import sys
from gstreamer import Gst
from transcode import decode, probe

class Full:
    frames = 0

    def emit(self, *_):
        self.frames += 1
        return Gst.FlowReturn.OK if self.frames < 4 else Gst.FlowReturn.EOS

    def set_property(self, *_):
        pass

decoder = decode.Decoder(probe.Input(sys.argv[1]), Full())
decoder.thread.start()
decoder.thread.join()
"""


class Ends(Case):
    def test_process_with_frames_left_in_the_decoder_exits_without_an_error(self):
        """Otherwise Python waited for their threads in 2 to 4 of 10 runs."""
        clip = self.clip("in.mp4", "testsrc2=size=640x480:rate=25:duration=2", "-pix_fmt", "yuv420p")
        for _ in range(8):
            done = subprocess.run([sys.executable, "-c", EARLY, clip], cwd=media.ROOT / "pipelines", capture_output=True,
                                  text=True, check=False, timeout=20 * media.PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Callbacks(unittest.TestCase):
    def test_callbacks_of_a_streaming_thread_share_its_state_of_python(self):
        """Otherwise each callback makes and frees one."""
        seen, counts = threading.local(), []

        def count(_pad, _info):
            keep_thread_state()
            seen.count = getattr(seen, "count", 0) + 1
            counts.append(seen.count)
            return Gst.PadProbeReturn.OK

        pipeline = Gst.parse_launch("videotestsrc num-buffers=3 ! fakesink name=end")
        pipeline.get_by_name("end").sinkpads[0].add_probe(Gst.PadProbeType.BUFFER, count)
        pipeline.set_state(Gst.State.PLAYING)
        pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        pipeline.set_state(Gst.State.NULL)
        self.assertEqual(counts, [1, 2, 3])


CODED = ("-pix_fmt", "yuv420p", "-g", "5")
SOON = 100 * media.PATIENCE  # seconds; an input that waits for a frame takes job.PATIENCE, which is 120 s
NOTHING = "^holds no video frame that can be decoded: "
REASONS = {"cut.jpg": NOTHING + ".+", "init.mp4": NOTHING + "it holds no packets of video$",
           "inside.ts": NOTHING + r"the decoder refuses its packets \(.+\)$"}


def crc(section):
    """The checksum at the end of a section of MPEG-TS."""
    value = 0xffffffff
    for byte in section:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04c11db7 if value >> 31 else 0)) & 0xffffffff
    return value.to_bytes(4, "big")


def retyped(stream, old, new):
    """An MPEG-TS whose program map gives a stream another type."""
    packets = bytearray(stream)
    for at in range(0, len(packets), 188):
        section = at + 5  # after the header and the pointer field
        if packets[at + 1] & 0x40 and packets[section] == 2:
            end = section + 3 + (packets[section + 1] & 15) * 256 + packets[section + 2]
            assert packets[section + 12] == old, "the first stream of the program"
            packets[section + 12] = new
            packets[end - 4:end] = crc(packets[section:end - 4])
    return bytes(packets)


class Undecodable(JobCase, TranscodeCase):
    def setUp(self):
        super().setUp()
        self.plain = self.clip("plain.mp4", "testsrc2=size=64x48:rate=25:duration=1", *CODED)

    def written(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def without_decoder(self):
        """Files of codecs that no FFmpeg decodes, each with the codec as the error names it."""
        whole = self.plain.read_bytes()
        for tag in (b"zzzz", b"enc1"):
            path = self.written(f"{tag.decode()}.mp4", whole.replace(b"avc1", tag).replace(b"avcC", b"free"))
            yield path, f"unknown codec (tag {tag.decode()})"
        path = self.clip("a64.mkv", "testsrc2=size=320x200:rate=25:duration=0.4", "-c:v", "a64multi")
        yield path, "unknown codec (tag a64m)"
        stream = self.clip("plain.ts", "testsrc2=size=64x48:rate=25:duration=1", "-c:v", "libx264", *CODED, "-f",
                           "mpegts").read_bytes()
        yield self.written("avs3.ts", retyped(stream, 0x1b, 0xd4)), "codec avs3 (tag "

    def without_frames(self):
        """Files whose decoder gives no frame."""
        photo = self.clip("photo.jpg", "testsrc2=size=64x48", "-frames:v", "1").read_bytes()
        yield self.written("cut.jpg", photo[:len(photo) // 8])
        fragments = self.folder / "fragments.mp4"
        media.run("ffmpeg", "-v", "error", "-y", "-i", self.plain, "-c", "copy", "-movflags",
                  "frag_keyframe+empty_moov+default_base_moof", fragments)
        whole = fragments.read_bytes()
        yield self.written("init.mp4", whole[:whole.index(b"moof") - 4])
        # The packets after the first, which is the only key frame.
        yield self.clip("inside.ts", "testsrc2=size=64x48:rate=25:duration=1", "-c:v", "mpeg2video", "-g", "100",
                        "-bsf:v", "noise=drop=key", "-f", "mpegts")

    def soon(self, call, *arguments, **options):
        began = time.monotonic()
        found = call(*arguments, **options)
        self.assertLess(time.monotonic() - began, SOON)
        return found

    def test_job_with_a_codec_without_decoder_names_the_codec(self):
        for clip, codec in self.without_decoder():
            with self.subTest(clip.name):
                self.assertIn(f"no decoder is installed for its video: {codec}", self.problem(clip, "video", "jsonl"))
                self.assertEqual(self.errors, "", "no traceback")
                with self.assertRaisesRegex(ffprobe.InputProblem, "^no decoder is installed for its video: "):
                    segments.plan(str(clip), 1, 0)

    def test_job_when_the_decoder_gives_no_frame_ends_soon_with_the_reason(self):
        for clip in self.without_frames():
            with self.subTest(clip.name):
                problem = self.soon(self.problem, clip, "video", "jsonl")
                self.assertRegex(problem, REASONS[clip.name])
                self.assertEqual(self.errors, "", "no traceback")

    def test_job_with_encrypted_video_reports_a_problem(self):
        encrypted = self.folder / "encrypted.mp4"
        media.run("ffmpeg", "-v", "error", "-y", "-i", self.plain, "-c", "copy", "-encryption_scheme", "cenc-aes-ctr",
                  "-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb", "-encryption_kid",
                  "a7e61c373e219033c21091fa607bf3b8", encrypted)
        self.assertEqual(self.soon(self.problem, encrypted), "its video is encrypted: decrypt it first")

    def test_job_when_its_filter_drops_all_frames_reports_a_problem(self):
        for filter in ("identity drop-probability=1", "valve drop=true drop-mode=forward-sticky-events"):
            for kind in ("video", "jsonl"):
                self.assertEqual(self.soon(self.problem, self.plain, kind, filter=filter),
                                 "the filter dropped all 25 frames")
        self.replace(job, "PATIENCE", 1)  # a valve keeps the end of the stream, too
        self.assertEqual(self.problem(self.plain, filter="valve drop=true"),
                         "no frame left the filter for 1 s: 25 frames were decoded, 0 filtered")

    def test_scripts_with_undecodable_input_print_one_line(self):
        for clip in [next(self.without_frames()), next(self.without_decoder())[0]]:
            for name, out in (("overlay", [self.folder / "out.mp4"]), ("table", []),
                              ("difference", [self.folder / "out.png"])):
                said = self.soon(program, media.script(name), clip, *out)
                self.assertEqual((said.status, said.out), (1, ""))
                self.assertRegex(said.err, rf"^{name}: {clip}: (holds no video frame that|no decoder is installed)")
                self.assertEqual(said.err.count("\n"), 1)

    def errors_of(self, *arguments):
        return [line for line in self.transcode(*arguments, status=1).splitlines() if line.startswith("regions-transcode: ")]

    def test_transcode_with_many_undecodable_inputs_ends_soon_with_their_reasons(self):
        clips = [*self.without_frames(), *(clip for clip, _ in self.without_decoder())]
        for number in range(4):
            clips.append(self.written(f"more{number}.mp4", clips[1].read_bytes()))
        lines = self.soon(self.errors_of, *clips)
        self.assertEqual(len(lines), len(clips) + 1)
        for clip, line in zip(clips, lines):
            self.assertRegex(line, rf"{clip}: (holds no video frame that can be|no decoder is installed for its)")
        self.assertEqual(self.files(self.out), [])

    def test_segments_of_undecodable_input_report_a_problem(self):
        for clip in [*self.without_frames(), next(self.without_decoder())[0]]:
            lines = self.soon(self.errors_of, "--segments", "0.2", "--attempts", "1", clip)
            self.assertRegex(lines[0], rf"{clip}: .*(holds no video frame that can be decoded|no decoder is installed)")
        # Cut files whose decoder gives nothing for a part: a file replaced after it was planned.
        spans = segments.plan(str(self.plain), 0.2, 0)["spans"]
        self.assertGreater(len(spans), 2)
        data = bytearray(self.plain.read_bytes())
        packets = media.run("ffprobe", "-v", "error", "-show_entries", "packet=pos,size", "-of", "csv=p=0", self.plain)
        for size, position in (map(int, line.split(",")[:2]) for line in packets.split()):
            data[position + 5:position + size] = bytes(size - 5)  # the type of the first NAL unit stays
        empty = self.written("empty.mp4", data)
        for span in spans[1:3]:
            messages = self.segment(empty, span)
            self.assertRegex(messages[-1]["problem"], "^no frame of this segment can be decoded: .+")

    def segment(self, clip, span):
        return self.soon(self.job, clip, "video", status=1, span=span, kind=segments.Segment)


if __name__ == "__main__":
    main()
