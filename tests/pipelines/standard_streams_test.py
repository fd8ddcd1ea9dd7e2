#!/usr/bin/python3
"""Programs whose standard input, output or error is closed, full, or a pipe whose reader has ended. The files are made
nevertheless, and the exit status reports whether they were. If standard output is the result, the program fails."""

import os
import pathlib
import signal
import subprocess

import media
from cases import PROGRAM, JobCase, main


FULL = "No space left on device"
CLOSED = "it is closed"
GONE = "its reader has ended"


class StandardStreams(JobCase):
    def setUp(self):
        super().setUp()
        self.input = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=0.4", "-c:v", "ffv1")
        self.out.rmdir()

    def run_shell(self, redirections, *words, status=0):
        """Runs a program with a shell's redirections. Returns standard output and error, as far as they are read."""
        done = subprocess.run(["bash", "-c", f'exec "$@" {redirections}', "-", *map(str, words)], capture_output=True,
                              text=True, check=False, timeout=100 * media.PATIENCE, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def run_without_reader(self, *words, status=0, both=False):
        """Runs a program whose standard output is a pipe without a reader. Returns standard error."""
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            done = subprocess.run(list(map(str, words)), stdout=pipe, stderr=pipe if both else subprocess.PIPE, text=True,
                                  check=False, timeout=100 * media.PATIENCE, cwd=self.folder, restore_signals=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def transcode(self, *more):
        return [PROGRAM, "-o", self.out, "--filter", "cclabel output=none", self.input, *more]

    def expect_whole(self, *names):
        self.assertEqual(self.files(self.out), sorted(names))
        for path in self.out.glob("*.m[pk][4v]"):
            self.assertEqual(media.stream(path, "width")["width"], "64")
        for path in self.out.iterdir():
            path.unlink()

    def unwritable(self, program, why):
        return f"{program}: standard output cannot be written: {why}. The work goes on.\n"

    def test_transcode_with_closed_or_full_stdout_writes_the_files(self):
        made = "in.mp4", "in.mp4.made.json"
        for redirection, why in ((">/dev/full", FULL), ("<&- >&-", CLOSED)):
            _, errors = self.run_shell(redirection, *self.transcode())
            self.assertEqual(errors, self.unwritable("regions-transcode", why))
            self.expect_whole(*made)
        self.assertEqual(self.run_without_reader(*self.transcode()), self.unwritable("regions-transcode", GONE))
        self.expect_whole(*made)
        for redirection in (">/dev/full 2>&1", "<&- >&- 2>&-"):
            self.assertEqual(self.run_shell(redirection, *self.transcode()), ("", ""))
            self.expect_whole(*made)
        # Standard error alone.
        out, _ = self.run_shell("2>&-", *self.transcode("--json"))
        self.assertIn(f"{self.input}: 10 frames in ", out)
        self.expect_whole("in.jsonl", *made)

    def test_transcode_with_segments_and_closed_streams_writes_the_files(self):
        for redirection in ("<&- >&- 2>&-",):
            self.run_shell(redirection, *self.transcode("--segments", "0.1", "--json"))
            self.expect_whole("in.jsonl", "in.mp4", "in.mp4.made.json", "job.json", "summary.json")

    def test_transcode_with_full_stdout_keeps_the_exit_status_of_its_failure(self):
        bad = self.folder / "bad.mp4"
        bad.write_text("no video\n" * 100)
        for redirection in (">/dev/full 2>&1",):
            self.run_shell(redirection, *self.transcode(bad), status=1)
            self.expect_whole("in.mp4", "in.mp4.made.json")
            self.run_shell(redirection, PROGRAM, self.input, "-o", self.out, "--filter", "nonsense", status=2)

    def test_status_with_closed_or_full_stdout_fails(self):
        self.run_shell("", *self.transcode("--segments", "0.1"))
        words = [PROGRAM, "-o", self.out, "--status"]
        self.assertIn("1 of 1 files", self.run_shell("", *words)[0])
        for redirection, why in ((">&-", CLOSED), (">/dev/full", FULL)):
            self.assertEqual(self.run_shell(redirection, *words, status=1),
                             ("", f"regions-transcode: standard output cannot be written: {why}\n"))
        self.assertEqual(self.run_without_reader(*words, status=-signal.SIGPIPE), "")
        self.assertIn("1 of 1 files", self.run_shell("<&- 2>&-", *words)[0])

    def test_table_script_with_closed_or_full_stdout_fails(self):
        words = [media.script("table"), self.input]
        for redirection, why in ((">&-", CLOSED), (">/dev/full", FULL)):
            self.assertEqual(self.run_shell(redirection, *words, status=1),
                             ("", f"table: standard output cannot be written: {why}\n"))
        self.assertEqual(self.run_without_reader(*words, status=-signal.SIGPIPE), "")
        for redirection in ("<&-", "2>/dev/full"):
            out, _ = self.run_shell(redirection, *words)
            self.assertEqual(len(media.tables(out)), 10)
        # More than a buffer holds.
        longer = self.clip("long.mkv", "testsrc2=size=64x48:rate=25:duration=8", "-c:v", "ffv1")
        out, _ = self.run_shell("| head -1; exit ${PIPESTATUS[0]}", media.script("table"), longer,
                                status=128 + signal.SIGPIPE)
        self.assertEqual(len(media.tables(out)), 1)

    def test_help_option_with_full_stdout_or_no_reader_fails(self):
        for program in (PROGRAM, media.script("table")):
            self.run_shell(">/dev/full", program, "--help", status=1)
            self.assertEqual(self.run_without_reader(program, "--help", status=-signal.SIGPIPE), "")

    def test_scripts_that_cannot_print_still_write_their_output_file(self):
        photo = self.clip("in.png", "testsrc2=size=64x48", "-frames:v", "1")
        self.out.mkdir()
        words = [media.script("overlay"), self.input, self.out / "out.mp4"]
        self.assertEqual(self.run_without_reader(*words), self.unwritable("overlay", GONE))
        self.expect_whole("out.mp4")
        words = [media.script("wand"), photo, 3, 3, self.out / "out.png"]
        self.assertEqual(self.run_shell(">/dev/full", *words)[1], self.unwritable("wand", FULL))
        self.run_shell("<&- >&- 2>&-", *words)
        self.expect_whole("out.png")

    def test_quickstart_with_closed_or_full_stdout_writes_the_files(self):
        words = [media.script("with-plugin"), "/usr/bin/python3", media.script("objects.py"), "--out", self.out, self.input]
        self.assertEqual(self.run_shell(">/dev/full", *words)[1], self.unwritable("quickstart", FULL))
        self.expect_whole("overlay.mp4", "still.png")
        self.run_shell("<&- >&- 2>&-", *words)
        self.expect_whole("overlay.mp4", "still.png")

    def test_live_with_closed_streams_writes_its_frames(self):
        path = self.folder / "frames"
        environment = {"SINK": f"filesink location={path}", "FRAMES": "3"}
        words = ["env", *(f"{name}={value}" for name, value in environment.items()), media.script("live"), "test", "identity"]
        for redirection in ("<&- >&- 2>&-",):
            _, errors = self.run_shell(redirection, *words)
            self.assertNotIn("Traceback", errors)
            self.assertNotIn("Exception", errors)
            self.assertGreater(path.stat().st_size, 0)
            path.unlink()

    def test_numbers_of_closed_standard_streams_are_not_used_for_files(self):
        """A program that opens its input first would get number 0 for it."""
        for name in ("in.png", "out.png"):
            self.assertFalse((self.folder / name).exists())
        photo = self.clip("in.png", "testsrc2=size=64x48", "-frames:v", "1")
        content = photo.read_bytes()
        print_at_once = self.folder / "program.py"
        print_at_once.write_text("import sys\nsys.path[:0] = [%r]\nimport standard_streams\nstandard_streams.reserve()\n"
                                 "import os\nfile = open(%r, 'r+b')\nprint('a line')\n"
                                 "os.write(2, b'error')\nassert file.fileno() > 2\n"
                                 "os.execvp('sh', ['sh', '-c', 'echo line; echo line >&2; true'])\n"
                                 % (str(media.ROOT / "pipelines"), str(photo)))
        for redirection in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
            done = subprocess.run(["bash", "-c", f"exec /usr/bin/python3 {print_at_once} {redirection}"],
                                  capture_output=True, text=True, check=False)
            self.assertNotIn("AssertionError", done.stderr)
            self.assertEqual(pathlib.Path(photo).read_bytes(), content)


if __name__ == "__main__":
    main()
