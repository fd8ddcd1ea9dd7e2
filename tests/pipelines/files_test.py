#!/usr/bin/python3
"""files.py and screen.py: which inputs can be read, outputs that are whole or not there, and what is said."""

import io
import os
import stat
import unittest
import unittest.mock

import inside
import media
import files
import screen


class Files(inside.Case):
    def test_inputs_that_cannot_be_read(self):
        (self.folder / "empty").write_bytes(b"")
        (self.folder / "one").write_bytes(b"x")
        os.mkfifo(self.folder / "pipe")
        (self.folder / "link").symlink_to("one")
        (self.folder / "lost").symlink_to("nothing")
        for name, why in (("empty", "the file is empty"), ("one", None), ("link", None),
                          ("pipe", "cannot be read: not a regular file"),
                          ("lost", "cannot be read: No such file or directory"),
                          ("missing", "cannot be read: No such file or directory"),
                          ("", "cannot be read: Is a directory"), ("one/more", "cannot be read: Not a directory")):
            self.assertEqual(files.unreadable(self.folder / name), why, name)
        self.assertEqual(files.unreadable("https://127.0.0.1/a.mp4"),
                         "is an address, but only files can be read: download it first")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        os.makedirs("a:")
        (self.folder / "a:" / "b").write_text("x")
        self.assertIsNone(files.unreadable("a://b"), "a file of such a name is one")

    def test_objects_in_json(self):
        path = self.folder / "one.json"
        for text, found in (("{}", {}), ('{"a": [1]}', {"a": [1]}), ("", None), ("3", None), ("[]", None), ("{", None),
                            ("\0\xff", None), ("[" * 200_000, None), ('{"a": 1}' + " " * 100, None)):
            path.write_text(text, encoding="latin-1")
            self.replace(files, "MAX_JSON", 1 << 20)
            if text.endswith(" "):
                self.replace(files, "MAX_JSON", 7)
            self.assertEqual(files.json_of(path), found, text[:20])
        with self.assertRaises(FileNotFoundError):
            files.json_of(self.folder / "none")

    def test_what_killed_programs_left(self):
        """All of it goes, but for what a living one has, and what is no file of ours."""
        left = [".regions-0.part", ".regions-a b.lock", ".regions-_9.part"]
        mine = ["x.part", "regions-a.part", ".regions-a.parts", ".regions-a b.part", "a.lock"]
        for name in left + mine:
            (self.folder / name).touch()
        os.mkfifo(self.folder / ".regions-pipe.part")
        (self.folder / ".regions-link.part").symlink_to("x.part")
        with files.Output(str(self.folder / "out")) as output:
            files.remove_remains(self.folder)
            self.assertEqual(self.files(), sorted([*mine, ".regions-pipe.part", ".regions-link.part",
                                                   os.path.basename(output.part)]))

    def test_what_a_terminal_obeys_is_escaped(self):
        for text, shown in (("", ""), ("plain é 漢.mp4", "plain é 漢.mp4"), ("a\nb", "a\\nb"),
                            ("\x1b[31m", "\\x1b[31m"), ("\udcff", "\\udcff"), ("tab\t", "tab\\t"),
                            ("\u202e", "\\u202e"), ("'\"\\", "'\"\\")):
            self.assertEqual(files.printable(text), shown)

    def test_command_lines_that_are_refused(self):
        """By each program: what stands in a message is no name that a terminal obeys."""
        for program, words in (("wand", ("a", "1", "2", "b", "1", "seed", "\x1b[31m")), ("objects.py", ("--\x1b[31m",)),
                               ("transcode/regions-transcode", ("a", "--\x1b[31m", "-o", "b"))):
            said = inside.program(media.ROOT / "pipelines" / program, *words)
            self.assertEqual(said.status, 2)
            self.assertNotIn("\x1b", said.err)
            self.assertIn("\\x1b[31m", said.err)

    def mode(self, path):
        return stat.S_IMODE(os.stat(path).st_mode)

    def test_an_output_has_its_name_when_it_is_whole(self):
        path = self.folder / "out.mp4"
        path.write_text("earlier")
        mask = os.umask(0o026)
        self.addCleanup(os.umask, mask)
        with files.Output(str(path)) as output:
            part, = set(self.files()) - {"out.mp4"}
            self.assertRegex(part, r"^\.regions-.+\.part$")
            self.assertEqual(output.part, str(self.folder / part))
            self.assertEqual(output.path, str(path))
            self.assertEqual(self.mode(output.part), 0o640)
            self.assertEqual(os.umask(0o026), 0o026, "is as it was")
            os.write(output.fd, b"one ")
            with open(output.descriptor, "ab") as file:
                file.write(b"two")
            self.assertEqual(path.read_text(), "earlier")
            steps = []
            self.replace(os, "fsync", lambda fd: steps.append(fd))
            replace = os.replace
            self.replace(os, "replace", lambda *names: (steps.append(names), replace(*names)))
            output.keep()
            self.assertEqual(steps, [output.fd, (str(self.folder / part), str(path))],
                             "it is on the disk before it has its name")
            self.assertIsNone(output.part)
        self.assertEqual((path.read_text(), self.files()), ("one two", ["out.mp4"]))
        with self.assertRaises(OSError):
            os.fstat(output.fd)

    def test_an_output_that_is_not_kept_leaves_nothing(self):
        path = self.folder / "out.mp4"
        path.write_text("earlier")
        for end in (None, ValueError):
            with self.assertRaises(ValueError) if end else unittest.mock.MagicMock():
                with files.Output(str(path)) as output:
                    os.write(output.fd, b"half")
                    if end:
                        raise end
            self.assertEqual((path.read_text(), self.files()), ("earlier", ["out.mp4"]))
            with self.assertRaises(OSError):
                os.fstat(output.fd)
        with files.Output(str(path)) as output:  # removed by another program
            os.remove(output.part)
        self.assertEqual(self.files(), ["out.mp4"])

    def test_outputs_that_cannot_be(self):
        os.mkfifo(self.folder / "pipe")
        for name, number, why in ((self.folder, 0, f"cannot write {self.folder}: it exists and is not a regular file"),
                                  (self.folder / "pipe", 0,
                                   f"cannot write {self.folder / 'pipe'}: it exists and is not a regular file"),
                                  (self.folder / "no" / "out", 2,
                                   f"cannot write into the folder {self.folder / 'no'}: No such file or directory")):
            with self.assertRaises(OSError) as refused:
                files.Output(str(name))
            self.assertEqual((refused.exception.errno, refused.exception.strerror), (number, why))
        self.assertEqual(self.files(), ["pipe"])

    def test_a_name_alone_is_in_the_working_folder(self):
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        with files.Output("out") as output:
            self.assertEqual(os.path.dirname(output.part), str(self.folder))
            output.keep()
        self.assertEqual(self.files(), ["out"])

    def test_standard_output_is_kept_as_it_is(self):
        with files.StandardOutput() as output:
            output.keep()
            self.assertEqual((output.fd, output.part, output.path), (1, None, "standard output"))
        os.fstat(1)


class Stream(io.StringIO):
    """What a reader at the other end has got: what was flushed."""
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


class Screens(inside.Case):
    def screen(self, out, err=None):
        self.out, self.err = out, err or Stream()
        for name, stream in (("stdout", self.out), ("stderr", self.err)):
            self.replace(screen.sys, name, stream)
        self.replace(screen.os, "get_terminal_size", lambda _: self.err)
        return screen.Screen("program")

    def said(self):
        texts = [stream.seen for stream in (self.out, self.err)]
        self.out.seen = self.err.seen = ""
        return texts

    def test_sentences(self):
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

    def test_progress_on_a_terminal_of_no_width(self):
        told = self.screen(Stream(), Terminal(0))
        told.hear("in", {"progress": {"frame": 1, "of": 0, "rate": 2}})
        self.assertEqual(self.said(), ["in: frame 1, 2 frames/s\n", ""])

    def test_progress_in_lines(self):
        told = self.screen(Stream())
        now = self.replace(screen.time, "monotonic", unittest.mock.Mock())
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

    def test_progress_on_a_terminal(self):
        """Bars stand on standard error, sentences above them, each on its stream."""
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
