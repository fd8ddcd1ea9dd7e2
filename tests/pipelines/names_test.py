#!/usr/bin/python3
"""Files whose names look like options, pipelines, commands or patterns, as input and as output of every
script: the right file is written, and nothing else in the folder changes."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import media

# Each holds several dangers: whichever acts, the file is not found, or others change.
NAMES = (b"-q $(touch made)`touch made`;touch made y ! filesink location=victim ! new\nline %s \xff\xfe",
         b"concat:a|b %05d two  words 'quoted' x\" ! filesink location=\"victim back\\slash\\")
FRAMES = 3
# Links where a program that knows no better would write its unfinished file.
PARTS = (b"%s.part", b".%s.part", b"%s.silent.part")


def video(name, *more):
    return lambda source, out: [media.script(name), source, out, *more]


def objects(source, out):
    """Its results have names of their own, in a folder that has the name."""
    return [media.script("with-plugin"), sys.executable, media.script("objects.py"),
            "--out=" + os.fsdecode(out), "--", source]


def transcode(source, out):
    return [media.script("transcode/regions-transcode"), "--json", "--labels", "--filter",
            "cclabel output=none", "--out=" + os.fsdecode(out), "--", source]


VIDEOS = {"overlay": video("overlay"), "background": video("background"), "labels": video("labels"),
          "superpixels": video("superpixels")}
PHOTOS = {"difference": video("difference"), "depth-objects": video("depth-objects"),
          "wand": lambda source, out: [media.script("wand"), source, "5", "5", out]}
READERS = {"table": lambda source: [media.script("table"), source],
           "live": lambda source: [media.script("live"), source],
           "regions.py": lambda source: [media.script("with-plugin"), sys.executable,
                                         media.script("embed/regions.py"), source]}
FOLDERS = {"quickstart": objects, "regions-transcode": transcode}


def contents(folder):
    return {os.path.relpath(os.path.join(place, name), folder):
            pathlib.Path(os.fsdecode(os.path.join(place, name))).read_bytes()
            for place, _, names in os.walk(folder) for name in names}


class Names(unittest.TestCase):
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
        """A folder of its own with an input of that name, a file that must stay as it is, and links to it where
        an output would be unfinished: those have names that cannot be guessed."""
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

    def run_in(self, folder, command, **environment):
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300,
                              env=os.environ | environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn(b"Traceback", done.stderr)
        return done.stdout

    def expect_written(self, folder, before, outputs):
        """The outputs are there and are pictures; the rest is as it was."""
        after = contents(folder)
        for out in outputs:
            plain = pathlib.Path(os.fsdecode(folder)) / "plain"
            plain.write_bytes(after.pop(out))
            self.assertTrue(media.stream(plain, "codec_name"), out)
        self.assertEqual(after, before)

    def each(self, scripts, check):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            checks = [(script, name, pool.submit(check, command, name))
                      for script, command in scripts.items() for name in NAMES]
        for script, name, done in checks:
            with self.subTest(script, name=name):
                done.result()

    def test_videos_and_photographs(self):
        for kind, scripts in (("video", VIDEOS), ("photo", PHOTOS)):
            def check(command, name, kind=kind):
                source, out = name + b".png", name + b".out"  # FFmpeg knows by this that %05d counts
                folder = self.in_folder(kind, source, out)
                before = contents(folder)
                self.run_in(folder, command(source, out))
                self.expect_written(folder, before, [out])

            self.each(scripts, check)

    def test_into_a_folder(self):
        def check(command, name):
            folder = self.in_folder("video", name + b".in", *(name + b".d/" + out for out in (
                b"overlay.mp4", b"still.png", name + b".mp4", name + b".jsonl", name + b".labels.mkv")))
            before = contents(folder)
            self.run_in(folder, command(name + b".in", name + b".d"))
            made = {out: data for out, data in contents(folder).items() if out not in before}
            self.assertIn(len(made), (2, 4))
            pictures = [out for out in made if not out.endswith((b".jsonl", b".made.json"))]
            self.expect_written(folder, before | {out: made[out] for out in made if out not in pictures}, pictures)

        self.each(FOLDERS, check)

    def test_what_only_reads(self):
        def check(command, name):
            folder = self.in_folder("video", name)
            before = contents(folder)
            text = self.run_in(folder, command(name), SINK="fakesink")
            self.assertGreater(len(text.splitlines()), 0)
            self.expect_written(folder, before, [])

        self.each(READERS, check)

    def test_a_picture_for_the_background(self):
        for name in NAMES:
            with self.subTest(name=name):
                folder = self.in_folder("video", b"in")
                shutil.copy(self.made / "photo", os.path.join(folder, name))
                before = contents(folder)
                self.run_in(folder, [media.script("background"), b"in", b"out", "replace-with=image",
                                     b"replace-image=" + name])
                self.expect_written(folder, before, [b"out"])

    def test_an_output_that_is_a_link_or_no_file(self):
        folder = self.in_folder("video", b"in")
        os.symlink(b"victim", os.path.join(folder, b"link"))
        os.mkfifo(os.path.join(folder, b"pipe"))
        self.run_in(folder, [media.script("labels"), b"in", b"link"])
        self.assertFalse(os.path.islink(os.path.join(folder, b"link")))
        with open(os.path.join(folder, b"victim"), "rb") as victim:
            self.assertEqual(victim.read(), b"as it was")
        for out, reason in ((b"pipe", b"not a regular file"), (b".", b"not a regular file"),
                            (b"in", b"is the input"), (b"missing/out", b"cannot write into")):
            done = subprocess.run([media.script("labels"), b"in", out], cwd=folder, capture_output=True,
                                  check=False, timeout=300)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
