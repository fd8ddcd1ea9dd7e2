#!/usr/bin/python3
"""The progress that users see: bars and lines of progress, messages, and --status (transcode/progress.py)."""

import io
import os
import pty
import subprocess
import termios
import unittest.mock

from cases import PROGRAM, UNTOUCHED, Case, TranscodeCase, main
from transcode import progress


class Stream(io.StringIO):
    """A stream that stores flushed text in `seen`."""
    seen = ""

    def flush(self):
        self.seen += self.getvalue()
        self.seek(0)
        self.truncate()


class Terminal(Stream):
    def __init__(self, columns):
        super().__init__()
        self.columns = columns

    def isatty(self):
        return True

    def fileno(self):
        return 2


class Screens(Case):
    def screen(self, out, err=None):
        self.out, self.err = out, err or Stream()
        for name, stream in (("stdout", self.out), ("stderr", self.err)):
            self.replace(progress.sys, name, stream)
        self.replace(progress.os, "get_terminal_size", lambda _: self.err)
        return progress.Screen("program")

    def said(self):
        texts = [stream.seen for stream in (self.out, self.err)]
        self.out.seen = self.err.seen = ""
        return texts

    def test_progress_escapes_control_characters_in_names_and_messages(self):
        told = self.screen(Stream())
        told.hear("in\n", {"note": "odd"})
        self.assertEqual(self.said(), ["", "in\\n: note: odd\n"])
        told.hear("in", {"problem": "bad\x1b"})
        self.assertEqual(self.said(), ["", "program: in: bad\\x1b\n"])
        told.hear("in", {"done": {"frames": 50, "seconds": 4.0, "length": 2.0}}, ["a.mp4", "b\n"])
        self.assertEqual(self.said(), ["in: 50 frames in 4.0 s (12 frames/s, 0.5 times playing speed); wrote a.mp4,"
                                       " b\\n\n", ""])
        told.hear("in", {"part": "x"})
        self.assertEqual(self.said(), ["", ""])

    def test_progress_on_a_terminal_without_width_prints_lines(self):
        told = self.screen(Stream(), Terminal(0))
        told.hear("in", {"progress": {"frame": 1, "of": 0, "rate": 2}})
        self.assertEqual(self.said(), ["in: frame 1, 2 frames/s\n", ""])

    def test_progress_without_terminal_prints_a_line_every_five_seconds(self):
        told = self.screen(Stream())
        now = self.replace(progress.time, "monotonic", unittest.mock.Mock())
        for at, said, text in (
                (100, (10, 40, 5.0), "in\\n: frame 10 of about 40, 25 %, 5 frames/s, 0:00:06 left\n"),
                (104.9, (20, 40, 5.0), ""),
                (105, (39, 40, 0.4), "in\\n: frame 39 of about 40, 97 %, 0 frames/s, 0:00:02 left\n"),
                (110, (7, 0, 5.0), "in\\n: frame 7, 5 frames/s\n"),
                (115, (0, 40, 0.0), "in\\n: frame 0 of about 40, 0 %, 0 frames/s\n"),
                (120, (1, 1, 1.0), "in\\n: frame 1 of about 1, 100 %, 1 frames/s, 0:00:00 left\n")):
            now.return_value = at
            told.hear("/folder/in\n", {"progress": dict(zip(("frame", "of", "rate"), said))})
            self.assertEqual(self.said(), [text, ""])
        now.return_value = 121
        told.hear("other", {"progress": {"frame": 1, "of": 0, "rate": 2}})
        self.assertEqual(self.said()[0], "other: frame 1, 2 frames/s\n", "each input has its own time")

    def test_progress_on_a_terminal_shows_bars(self):
        """Bars are on standard error. Messages appear above them, each on its stream."""
        told = self.screen(Stream(), Terminal(100))
        told.line("hello")
        self.assertEqual(self.said(), ["hello\n", ""])
        told.hear("/folder/a\n", {"progress": {"frame": 10, "of": 40, "rate": 2}})
        told.hear("b", {"progress": {"frame": 3, "of": 0, "rate": 4}})
        out, err = self.said()
        self.assertEqual(out, "")
        self.assertRegex(err, r"a\\n:  25%.*10/40 .* frames/s")
        self.assertRegex(err, r"b: 3 frames")
        told.hear("b", {"note": "odd"})
        out, err = self.said()
        self.assertEqual(out, "")
        self.assertIn("b: note: odd\n", err)
        self.assertRegex(err.split("odd")[1], "25%")
        told.hear("/folder/a\n", {"done": {"frames": 50, "seconds": 4.0, "length": 2.0}}, ["o"])
        self.assertEqual(self.said()[0], "/folder/a\\n: 50 frames in 4.0 s (12 frames/s, 0.5 times playing speed); wrote o\n")
        told.forget("b")
        told.forget("b")
        self.assertEqual(told.bars, {})


class JobProgress(Case):
    def setUp(self):
        super().setUp()
        self.now = 100.0
        self.replace(progress.time, "monotonic", lambda: self.now)
        self.screen = unittest.mock.Mock()

    def shown(self):
        """The latest progress of a file and of the whole job."""
        return tuple(call.args for call in self.screen.show.call_args_list[-2:])

    def test_progress_of_several_segments_is_the_sum_of_their_frames(self):
        known = progress.Progress(self.screen, 3)
        known.begin("a", [{"packets": 40}, {"packets": 60}])
        self.now += 2
        known.hear("a", 1, 10, 60)
        # The two files that are not planned yet are taken for as long.
        self.assertEqual(self.shown(), (("a", 10, 100, 5), ("", 10, 300, 5, "0 of 3 files, 0 of 2 segments")))
        known.fail()
        known.hear("a", 1, 4, 60)
        self.assertEqual(self.shown()[1], ("", 4, 300, 2, "0 of 3 files, 0 of 2 segments, 1 retry"))
        known.fail()
        known.finish("a", 1, 60)
        known.finish("a", 0, 40)
        known.end("a")
        known.end("b")  # is skipped
        known.begin("c", [None])
        known.hear("c", 0, 25, 50)
        self.assertEqual(self.shown(), (("c", 25, 50, 12.5), ("", 125, 150, 62.5, "2 of 3 files, 2 of 3 segments, 2 retries")))

    def test_frames_of_an_earlier_run_count_as_done_but_not_for_the_rate(self):
        """Frames of an earlier run count as done, and the rate ignores them."""
        known = progress.Progress(self.screen, 1)
        known.begin("a", [{"packets": 40}, {"packets": 60}])
        known.finish("a", 0, 40, by_earlier=True)
        self.now += 4
        known.hear("a", 1, 20, 60)
        self.assertEqual(self.shown()[1], ("", 60, 100, 5, "0 of 1 files, 1 of 2 segments"))


class Terminals(TranscodeCase):
    def test_transcode_on_a_terminal_shows_progress(self):
        clip = self.clip("in.mp4", "testsrc2=size=64x48:rate=25:duration=2", "-pix_fmt", "yuv420p")
        # The run takes at least a second, so that progress is reported.
        slow = f"identity sleep-time=20000 ! {UNTOUCHED}"
        for columns, told in ((100, r"\rin.mp4:  ?\d+%\|.*\| \d+/50 \[.*, \d+\.\d+ frames/s\]"),
                              (0, r"in.mp4: frame \d+ of about 50, \d+ %, \d+ frames/s")):
            with self.subTest(columns):
                reader, writer = pty.openpty()
                termios.tcsetwinsize(writer, (24, columns))
                work = subprocess.Popen([str(PROGRAM), "--force", "-o", str(self.out), "--filter", slow, str(clip)],
                                        stdout=writer, stderr=writer)
                os.close(writer)
                shown = b""
                try:
                    while more := os.read(reader, 4096):
                        shown += more
                except OSError:  # the end of a terminal
                    pass
                os.close(reader)
                self.assertEqual(work.wait(), 0, shown)
                self.assertRegex(shown.decode(), told)
                self.assertRegex(shown.decode(), r"in.mp4: 50 frames in [\d.]+ s \(\d+ frames/s, [\d.]+ times playing"
                                 r" speed\); wrote .*out/in.mp4")


class Status(TranscodeCase):
    def test_status_of_a_folder_without_a_job_exits_with_2(self):
        self.out.mkdir()
        for text in ("", "3", "[" * 200_000, '{"outputs": 3}', '{"outputs": {"a": 3}}', '{"outputs": {"a": {}}}',
                     '{"outputs": {"a": {"video": 3}}}', '{"outputs": {"a": {"video": "\\u0000"}}}',
                     '{"outputs": {"a": {"video": "\\ud800"}}}', "{}", None):
            path = self.out / "job.json"
            path.unlink(missing_ok=True)
            os.mkfifo(path) if text is None else path.write_text(text)
            said = self.status(2)
            self.assertIn("not a regular file" if text is None else "contains no valid job.json", said)
            self.assertNotIn("Traceback", said)

    def test_status_with_a_damaged_summary_exits_with_2(self):
        self.out.mkdir()
        (self.out / "job.json").write_text('{"outputs": {"a.mp4": {"video": "a.mp4"}}, "began": 1}')
        for text in ('{"began": 2, "inputs": 3}', '{"began": 2, "inputs": ["a.mp4"]}', '{"began": 2, "inputs": {"a.mp4": 3}}',
                     '{"began": 2, "inputs": {"a.mp4": {"problem": 3}}}', '{"began": "2", "inputs": {}}'):
            (self.out / "summary.json").write_text(text)
            said = self.status(2)
            self.assertIn("summary.json is damaged: remove it", said)
            self.assertNotIn("Traceback", said)
        for text in ("", "3", "{}", '{"began": 2, "inputs": {"a.mp4": {}}}'):
            (self.out / "summary.json").write_text(text)
            self.assertIn("a.mp4: waiting", self.status(1))
        (self.out / "job.json").write_text('{"outputs": {"a.mp4": {"video": "a.mp4"}}, "began": "1"}')
        self.assertIn("contains no valid job.json", self.status(2))


if __name__ == "__main__":
    main()
