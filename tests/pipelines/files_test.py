#!/usr/bin/python3
"""Files that programs read and write: files.py, and names that look like options, pipelines, commands or patterns, as input
and as output of every program. The right file is written, and nothing else in the folder changes."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest.mock

import media
from cases import UNTOUCHED, Case, Said, called, main, program, run_here
import files  # after cases, which sets the path
import objects
from transcode import command, command_line, processes


class Files(Case):
    def test_path_that_cannot_be_read_gets_the_reason_and_readable_path_gets_none(self):
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

    def test_json_reader_returns_none_for_a_damaged_or_too_large_file(self):
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

    def test_temporary_files_of_ended_programs_are_removed_and_other_files_kept(self):
        """All of it is removed, except files of a running program and files of other programs."""
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

    def test_control_characters_in_printed_names_are_escaped(self):
        for text, shown in (("", ""), ("plain é 漢.mp4", "plain é 漢.mp4"), ("a\nb", "a\\nb"),
                            ("\x1b[31m", "\\x1b[31m"), ("\udcff", "\\udcff"), ("tab\t", "tab\\t"),
                            ("\u202e", "\\u202e"), ("'\"\\", "'\"\\")):
            self.assertEqual(files.printable(text), shown)

    def test_error_of_a_refused_command_line_contains_no_control_characters(self):
        """Messages of all programs escape control characters in names."""
        for name, words in (("wand", ("a", "1", "2", "b", "1", "seed", "\x1b[31m")), ("objects.py", ("--\x1b[31m",)),
                               ("transcode/regions-transcode", ("a", "--\x1b[31m", "-o", "b"))):
            said = program(media.script(name), *words)
            self.assertEqual(said.status, 2)
            self.assertNotIn("\x1b", said.err)
            self.assertIn("\\x1b[31m", said.err)

    def mode(self, path):
        return stat.S_IMODE(os.stat(path).st_mode)

    def test_output_file_when_kept_gets_its_final_name_and_content(self):
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
                             "its content is on the disk when it gets its name")
            self.assertIsNone(output.part)
        self.assertEqual((path.read_text(), self.files()), ("one two", ["out.mp4"]))
        with self.assertRaises(OSError):
            os.fstat(output.fd)

    def test_output_file_when_not_kept_leaves_the_earlier_file_unchanged(self):
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

    def test_output_with_unwritable_path_raises_an_error(self):
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

    def test_output_with_a_name_without_folder_is_in_the_working_folder(self):
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        with files.Output("out") as output:
            self.assertEqual(os.path.dirname(output.part), str(self.folder))
            output.keep()
        self.assertEqual(self.files(), ["out"])




# Each holds several dangers: whichever acts, the file is not found, or others change.
NAMES = (b"-q $(touch made)`touch made`;touch made y ! filesink location=victim ! new\nline %s \xff\xfe",
         b"concat:a|b %05d two  words 'quoted' x\" ! filesink location=\"victim back\\slash\\")
FRAMES = 3
# Links at names at which a careless program would write its unfinished file.
PARTS = (b"%s.part", b".%s.part", b"%s.silent.part")


def video(name, *more):
    return lambda source, out: program(media.script(name), source, out, *more)


def quickstart(source, out):
    """Its results have their own names, in a folder that has the name."""
    return called(objects.main, ["--out=" + os.fsdecode(out), "--", os.fsdecode(source)])


def transcode(source, out):
    words = ["--json", "--labels", "--filter", UNTOUCHED, "--out=" + os.fsdecode(out), "--", os.fsdecode(source)]
    with unittest.mock.patch.object(processes, "run", run_here):  # a process of jobs would stay in the first folder
        return called(lambda: command.main(command_line.parse(words)))


def embedded(source):
    done = subprocess.run([media.script("with-plugin"), sys.executable, media.script("embed/regions.py"), source],
                          capture_output=True, check=False, timeout=300)
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


VIDEOS = {"overlay": video("overlay"), "background": video("background"), "labels": video("labels")}
PHOTOS = {"difference": video("difference"), "depth-objects": video("depth-objects"),
          "wand": lambda source, out: program(media.script("wand"), source, "5", "5", out)}
READERS = {"table": lambda source: program(media.script("table"), source),
           "live": lambda source: program(media.script("live"), source), "regions.py": embedded}
FOLDERS = {"quickstart": quickstart, "regions-transcode": transcode}


def contents(folder):
    return {os.path.relpath(os.path.join(place, name), folder):
            pathlib.Path(os.fsdecode(os.path.join(place, name))).read_bytes()
            for place, _, names in os.walk(folder) for name in names}


class Names(Case):
    """Each program, with two names as input and as output."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = pathlib.Path(folder.name)
        media.make(cls.made / "video", f"testsrc2=size=32x32:rate=25:duration={FRAMES / 25}", "-f", "lavfi",
                   "-i", f"sine=duration={FRAMES / 25}", "-pix_fmt", "yuv420p", "-f", "matroska")
        media.make(cls.made / "photo", "testsrc2=size=32x32", "-frames:v", "1", "-f", "image2", "-c:v",
                   "png")

    def in_folder(self, kind, name, *outputs):
        """A new folder with an input of that name, a file that must stay unchanged, and links to it at names that an
        unfinished output could have. The real names cannot be guessed."""
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        folder = os.fsencode(made.name)
        shutil.copy(self.made / kind, os.path.join(folder, name))
        with open(os.path.join(folder, b"victim"), "wb") as victim:
            victim.write(b"as it was")
        for out in outputs:
            os.makedirs(os.path.join(folder, os.path.dirname(out)), exist_ok=True)
            for part in PARTS:
                path, name = os.path.split(os.path.join(folder, out))
                os.symlink(os.path.join(folder, b"victim"), os.path.join(path, part % name))
        return folder

    def run_in(self, folder, call, *words):
        before = os.getcwd()
        os.chdir(folder)
        try:
            done = call(*words)
        finally:
            os.chdir(before)
        self.assertIn(done.status, (0, None), done.out + done.err)
        self.assertNotIn("Traceback", done.err)
        return done.out

    def expect_written(self, folder, before, outputs):
        """The outputs are there and are pictures; the rest is as it was."""
        after = contents(folder)
        for out in outputs:
            plain = pathlib.Path(os.fsdecode(folder)) / "plain"
            plain.write_bytes(after.pop(out))
            self.assertTrue(media.stream(plain, "codec_name"), out)
        self.assertEqual(after, before)

    def each(self, scripts, check):
        for script, call in scripts.items():
            for name in NAMES:
                with self.subTest(script, name=name):
                    check(call, name)

    def test_scripts_with_file_names_like_options_or_commands_write_only_their_output(self):
        for kind, scripts in (("video", VIDEOS), ("photo", PHOTOS)):
            def check(call, name, kind=kind):
                source, out = name + b".png", name + b".out"  # with this suffix, FFmpeg reads %05d as a counter
                folder = self.in_folder(kind, source, out)
                before = contents(folder)
                self.run_in(folder, call, source, out)
                self.expect_written(folder, before, [out])

            self.each(scripts, check)

    def test_output_with_a_name_like_an_option_or_shell_command_changes_no_other_file(self):
        def check(call, name):
            folder = self.in_folder("video", name + b".in", *(name + b".d/" + out for out in (
                b"overlay.mp4", b"still.png", name + b".mp4", name + b".jsonl", name + b".labels.mkv")))
            before = contents(folder)
            self.run_in(folder, call, name + b".in", name + b".d")
            made = {out: data for out, data in contents(folder).items() if out not in before}
            self.assertIn(len(made), (2, 4))
            pictures = [out for out in made if not out.endswith((b".jsonl", b".made.json"))]
            self.expect_written(folder, before | {out: made[out] for out in made if out not in pictures}, pictures)

        self.each(FOLDERS, check)

    def test_readers_with_file_names_like_options_or_commands_write_no_file(self):
        def check(call, name):
            folder = self.in_folder("video", name)
            before = contents(folder)
            with unittest.mock.patch.dict(os.environ, {"SINK": "fakesink"}):
                text = self.run_in(folder, call, name)
            self.assertGreater(len(text.splitlines()), 0)
            self.expect_written(folder, before, [])

        self.each(READERS, check)

    def test_replace_image_with_a_name_like_an_option_or_shell_command_is_read(self):
        for name in NAMES:
            with self.subTest(name=name):
                folder = self.in_folder("video", b"in")
                shutil.copy(self.made / "photo", os.path.join(folder, name))
                before = contents(folder)
                self.run_in(folder, video("background", "replace-with=image", b"replace-image=" + name), b"in", b"out")
                self.expect_written(folder, before, [b"out"])

    def test_output_at_a_symbolic_link_replaces_it_and_at_a_pipe_is_refused(self):
        folder = self.in_folder("video", b"in")
        os.symlink(b"victim", os.path.join(folder, b"link"))
        os.mkfifo(os.path.join(folder, b"pipe"))
        self.run_in(folder, video("labels"), b"in", b"link")
        self.assertFalse(os.path.islink(os.path.join(folder, b"link")))
        with open(os.path.join(folder, b"victim"), "rb") as victim:
            self.assertEqual(victim.read(), b"as it was")
        for out, reason in ((b"pipe", "not a regular file"), (b".", "not a regular file"),
                            (b"in", "is the input"), (b"missing/out", "cannot write into")):
            before = os.getcwd()
            os.chdir(folder)
            done = program(media.script("labels"), b"in", out)
            os.chdir(before)
            self.assertNotEqual(done.status, 0)
            self.assertIn(reason, done.err)


if __name__ == "__main__":
    main()
