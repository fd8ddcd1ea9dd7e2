#!/usr/bin/python3
"""What regions-transcode refuses, skips, tells and counts, with jobs that are stand-ins."""

import json
import os
import pathlib
import re
import unittest
import unittest.mock

import inside
import media
import stand_in_jobs


class Program(stand_in_jobs.Case):
    def test_arguments(self):
        options = self.parsed("a", "b")
        self.assertEqual(vars(options), {
            "inputs": ["a", "b"], "out": str(self.out), "filter": stand_in_jobs.UNTOUCHED, "profile": "mp4", "json": False, "export": [],
            "labels": False, "jobs": 1, "force": False, "accept_partial": False, "no_sound": False, "segments": None, "warm_up": None, "exact": False,
            "plan": False, "segment": None, "status": False, "attempts": 3,
            "cluster": None, "cpus_per_task": 1, "gpus_per_task": 0, "memory_per_task": 0})
        options = self.parsed("a", "--profile", "webm", "--json", "--labels", "-j", "3", "--force", "--no-sound")
        self.assertEqual((options.profile, options.json, options.labels, options.jobs, options.force,
                          options.no_sound), ("webm", True, True, 3, True, True))
        self.assertEqual(self.program.parse(["a", "--out", "b", "--filter", "c", "--jobs", "4"]).jobs, 4)
        said = inside.called(self.program.parse, ["--help"])
        self.assertEqual(said.status, 0)
        # Python 3.13 names the value of an option with two names once.
        text = re.sub(r"(-\w) [A-Z]+, (--\w+ [A-Z]+)", r"\1, \2", " ".join(said.out.split()))
        for words in ("usage: regions-transcode", "Takes videos through a filter of GStreamer elements", "IN video files",
                      "-o, --out DIR folder of the outputs", "elements that every frame passes, as gst-launch takes them",
                      "mp4 (H.264 in MP4), mkv (H.264 in Matroska), webm (VP9 in WebM), lossless (FFV1 in Matroska,"
                      " every pixel kept); default: mp4", "write the regions of each frame, one JSON object a line",
                      "write the label of each pixel as 16-bit video (FFV1 in Matroska, lossless)",
                      "-j, --jobs N number of inputs processed at the same time, spread over all GPUs; default: 1",
                      "write outputs that exist again", "leave the sound out"):
            self.assertIn(words, text)
        for arguments in ([], ["a"], ["a", "-o", "b"], ["a", "--filter", "b"],
                          ["a", "-o", "b", "--filter", "c", "--profile", "avi"],
                          ["a", "-o", "b", "--filter", "c", "-j", "many"]):
            self.assertEqual(inside.called(self.program.parse, arguments).status, 2)

    def test_names_of_outputs(self):
        options = self.parsed("x", "--json", "--labels", "--profile", "webm")
        self.assertEqual(self.program.outputs_of("/a/b.c.avi", options), {
            "video": f"{self.out}/b.c.webm", "jsonl": f"{self.out}/b.c.jsonl", "labels": f"{self.out}/b.c.labels.mkv"})
        self.assertEqual(self.program.outputs_of("plain", self.parsed("x")), {"video": f"{self.out}/plain.mp4"})
        self.assertEqual(self.program.outputs_of("x.mp4", self.parsed("x", "--json")),
                         {"video": f"{self.out}/x.mp4", "jsonl": f"{self.out}/x.jsonl"})

    def test_refusals(self):
        (self.folder / "twin").mkdir()
        one, twin = self.inputs("one.mp4", "twin/one.mkv")
        out = str(self.folder)
        self.refused("-j 0: expected a number from 1", one, jobs=0)
        self.refused("-j -2: expected a number from 1", one, jobs=-2)
        self.refused(f"{one} would be written to {out}/one.mp4, which is an input; choose another folder with -o", one,
                     out=out)
        link = self.folder / "link"
        link.symlink_to(self.folder)
        self.refused(f"{one} would be written to {link}/one.mp4, which is an input; choose another folder with -o", one,
                     out=str(link))
        self.refused(f"{one} and {twin} would both be written to {self.out}/one.mp4; transcode them into different"
                     " folders", one, twin)
        self.refused(f"the filter 'nonsense' cannot be made: no element \"nonsense\"", one, filter="nonsense")
        self.refused(f"the folder {one} cannot be made: File exists", one, out=one)
        self.refused(f"the folder {one}/x cannot be made: Not a directory", one, out=one + "/x")
        labels, mkv = self.inputs("a.avi", "a.labels.avi")
        self.refused(f"{labels} and {mkv} would both be written to {self.out}/a.labels.mkv; transcode them into"
                     " different folders", labels, mkv, "--labels", "--profile", "mkv")
        self.assertEqual([pathlib.Path(path).read_text() for path in (one, twin)], ["x", "x"])

    def test_folders_that_cannot_be_written(self):
        """The error names the folder, once, and no input."""
        inputs = self.inputs("one.mp4", "two.mp4")
        why = "cannot write into the folder /proc: No such file or directory"
        for words in ((), ("--segments", "1")):
            options = self.parsed(*inputs, *words)
            options.out = "/proc"
            self.assertEqual(inside.called(self.program.main, options), (2, "", f"regions-transcode: {why}\n"))
        with self.assertRaisesRegex(OSError, why), self.program.record.locked("/proc/one.mp4"):
            pass

    def test_jobs_and_what_they_tell(self):
        good, bad, silent, told, better = self.inputs("good.avi", "bad.avi", "silent.avi", "told.avi", "good2.avi")
        empty = self.input("empty.avi")
        pathlib.Path(empty).write_text("")
        missing = str(self.folder / "missing.avi")
        said = self.ran(good, bad, empty, missing, silent, told, better, "--json")
        self.assertEqual(said.status, 1)
        done = "{}: 50 frames in 4.0 s (12 frames/s, 0.5 times playing speed); wrote {}.mp4, {}.jsonl\n"
        self.assertEqual(said.out, "".join(done.format(source, *[f"{self.out}/{name}"] * 2)
                                           for source, name in ((good, "good"), (better, "good2"))))
        program = "regions-transcode: "
        self.assertEqual(said.err, (
            f"{program}{bad}: is bad\n{program}{empty}: the file is empty\n"
            f"{program}{missing}: cannot be read: No such file or directory\n"
            f"{program}{silent}: the job ended with status 7\n{told}: note: odd\n{program}{told}: earlier\n"
            f"{program}5 of 7 inputs failed: {bad}, {empty}, {missing}, {silent}, {told}\n"))
        self.assertEqual(self.files(self.out), [
            "good.jsonl", "good.mp4", "good.mp4.made.json", "good2.jsonl", "good2.mp4", "good2.mp4.made.json"])
        self.assertEqual(self.settings(good), {
            "source": good, "outputs": {"video": f"{self.out}/good.mp4", "jsonl": f"{self.out}/good.jsonl"},
            "filter": stand_in_jobs.UNTOUCHED, "profile": "mp4", "device": -1, "with_sound": True,
            "accept_partial": False})

    def test_settings_of_jobs(self):
        good, = self.inputs("good.avi")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        said = self.ran("good.avi", "--labels", "--profile", "mkv", "--no-sound")
        self.assertEqual((said.status, said.err), (0, ""))
        self.assertTrue(said.out.startswith("good.avi: 50 frames"))
        self.assertEqual(self.settings(good), {
            "source": good, "outputs": {"video": f"{self.out}/good.mkv", "labels": f"{self.out}/good.labels.mkv"},
            "filter": stand_in_jobs.UNTOUCHED, "profile": "mkv", "device": -1, "with_sound": False,
            "accept_partial": False})

    def test_what_is_done_is_skipped(self):
        """What was made of the same input in the same way; what was made otherwise stays, and it is said how."""
        good, = self.inputs("good.avi")
        video, made = self.out / "good.mp4", self.out / "good.mp4.made.json"

        def again(*arguments, differs=None, **changed):
            """Whether it was worked on."""
            options = self.parsed(good, *arguments)
            for name, value in changed.items():
                setattr(options, name, value)
            said = inside.called(self.program.main, options)
            if differs:
                self.assertEqual((said.status, said.err.splitlines()[0]), (
                    1, f"regions-transcode: {good}: {video} exists, but {differs}; --force writes it again"))
            else:
                self.assertEqual((said.status, said.err), (0, ""))
            if worked := os.path.exists(good + ".settings"):
                os.remove(good + ".settings")
            elif not differs:
                self.assertEqual(said.out, f"{good}: skipped: {video} exists\n")
            return worked

        self.assertTrue(again())
        self.assertFalse(again())
        self.assertEqual(set(json.loads(made.read_text())), {"source", "size", "time", "content", "filter", "profile",
                                                             "sound", "outputs", "version"})
        self.assertFalse(again(filter="cclabel", differs=f'filter was "{stand_in_jobs.UNTOUCHED}", is "cclabel"'))
        self.assertFalse(again("--no-sound", differs="sound was true, is false"))
        self.assertFalse(again("--json", differs='outputs was ["video"], is ["jsonl", "video"]'))
        os.utime(good, (5, 5))
        self.assertFalse(again(), "the content is the same")
        pathlib.Path(good).write_text("y")
        self.assertFalse(again(differs="the input's content has changed"))
        pathlib.Path(good).write_text("longer")
        self.assertFalse(again(differs="size was 1, is 6"))
        self.replace(self.program.record, "content", lambda _: "of this")
        self.assertTrue(again("--force"))
        self.assertFalse(again())
        with unittest.mock.patch.object(__import__("filters"), "version", lambda: "99"):
            was = json.loads(made.read_text())["version"]
            self.assertFalse(again(differs=f'version was "{was}", is "99"'))
        os.remove(made)
        self.assertFalse(again(differs="its record is missing (good.mp4.made.json does not exist)"))
        os.mkfifo(made)
        self.assertFalse(again(differs="its record is missing (good.mp4.made.json cannot be read: not a"
                                       " regular file)"))
        os.remove(made)
        for text in ("", "3", "[" * 200_000, "\0\xff"):
            made.write_text(text)
            self.assertFalse(again(differs=f"{made} is damaged"))
        os.remove(video)
        self.assertTrue(again(), "without an output there is nothing to lose")
        os.remove(good)
        said = self.ran(good)
        self.assertEqual(said.status, 1, "an input that is gone is no skipped one")

    def test_two_runs_with_one_folder(self):
        """An output that another run writes is left to it; the lock of a run that ended is none."""
        good, other = self.inputs("good.avi", "good2.avi")
        self.out.mkdir()
        with self.program.record.locked(str(self.out / "good.mp4")):
            said = self.ran(good, other)
            self.assertEqual((said.status, said.err.splitlines()[0]), (
                1, f"regions-transcode: {good}: another run is writing {self.out}/good.mp4"))
        self.assertEqual(self.files(self.out), ["good2.mp4", "good2.mp4.made.json"])
        (self.out / ".regions-good.mp4.lock").touch()
        self.assertEqual(self.ran(good).status, 0)
        self.assertEqual(len(self.files(self.out)), 4)

    def test_what_killed_runs_left(self):
        self.out.mkdir()
        (self.out / ".regions-abc.part").touch()
        (self.out / ".regions-a.mp4.lock").touch()
        (self.out / "mine.part").touch()
        os.mkfifo(self.out / ".regions-pipe.part")  # which would be waited for
        (self.out / ".regions-link.part").symlink_to("mine.part")
        with __import__("files").Output(str(self.out / "a")) as open_one:
            self.assertEqual(self.ran(*self.inputs("good.avi")).status, 0)
            self.assertEqual(self.files(self.out), sorted([os.path.basename(open_one.part), ".regions-pipe.part", "good.mp4",
                                                           ".regions-link.part", "good.mp4.made.json", "mine.part"]))

    def test_as_a_program(self):
        said = media.run(stand_in_jobs.PATH, self.input("bad.txt"), "-o", self.out, "--filter", "nonsense", status=2)
        self.assertEqual(said, "regions-transcode: the filter 'nonsense' cannot be made: no element \"nonsense\"\n")


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
