#!/usr/bin/python3
"""regions-transcode itself, with jobs that are stand-ins: what is refused, skipped, told, counted, and how it
ends when jobs fail, are killed or interrupted."""

import asyncio
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import signal
import unittest
import unittest.mock

import inside
import media

PATH = media.ROOT / "pipelines" / "transcode" / "regions-transcode"
UNTOUCHED = "cclabel output=none"
# A job that does what the name of its input says, after it wrote its settings beside the input.
JOB = """import json, os, signal, sys, time
channel, settings = int(sys.argv[1]), json.loads(sys.argv[2])
name = os.path.basename(settings["source"]).split(".")[0]
with open(settings["source"] + ".settings", "w") as file:
    json.dump(settings, file)
def say(**what):
    os.write(channel, json.dumps(what).encode() + b"\\n")
part = os.path.join(os.path.dirname(settings["outputs"]["video"]), ".part-" + name)
open(part, "w").close()
say(part=part)
say(part=part + "-2")
signal.signal(signal.SIGINT, lambda *_: sys.exit(130) if name == "polite" else None)
if name == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if name in ("polite", "deaf"):
    if name == "polite":
        os.remove(part)
    say(note="waits")
    time.sleep(60)
os.remove(part)
if name.startswith("good"):
    for path in settings["outputs"].values():
        open(path, "w").close()
    say(done={"frames": 50, "seconds": 4.0, "length": 2.0})
if name == "bad":
    say(problem="is bad")
if name == "told":
    say(problem="earlier")
    say(note="odd")
sys.exit(1 if name in ("bad", "told") else 7 if name == "silent" else 0)
"""


def loaded():
    loader = importlib.machinery.SourceFileLoader("program", str(PATH))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader("program", loader))
    loader.exec_module(program)
    return program


class Program(inside.Case):
    def setUp(self):
        super().setUp()
        self.program = loaded()
        self.out = self.folder / "out"
        jobs = self.folder / "jobs"
        jobs.mkdir()
        (jobs / "job.py").write_text(JOB)
        self.replace(self.program, "HERE", str(jobs))
        self.replace(self.program, "cuda_devices", lambda: 0)

    def input(self, name):
        path = self.folder / name
        path.write_text("x")
        return str(path)

    def inputs(self, *names):
        return [self.input(name) for name in names]

    def parsed(self, *arguments):
        return self.program.parse([*map(str, arguments), "-o", str(self.out), "--filter", UNTOUCHED])

    def ran(self, *arguments):
        return inside.called(self.program.main, self.parsed(*arguments))

    def settings(self, source):
        return json.loads(pathlib.Path(source + ".settings").read_text())

    def refused(self, why, *arguments, **changed):
        options = self.parsed(*arguments)
        for name, value in changed.items():
            setattr(options, name, value)
        self.assertEqual(inside.called(self.program.main, options), (2, "", f"regions-transcode: {why}\n"))
        self.assertFalse(self.out.exists(), "nothing was made")

    def test_arguments(self):
        options = self.parsed("a", "b")
        self.assertEqual(vars(options), {
            "inputs": ["a", "b"], "out": str(self.out), "filter": UNTOUCHED, "profile": "mp4", "json": False, "export": [],
            "labels": False, "jobs": 1, "force": False, "accept_partial": False, "no_sound": False})
        options = self.parsed("a", "--profile", "webm", "--json", "--labels", "-j", "3", "--force", "--no-sound")
        self.assertEqual((options.profile, options.json, options.labels, options.jobs, options.force,
                          options.no_sound), ("webm", True, True, 3, True, True))
        self.assertEqual(self.program.parse(["a", "--out", "b", "--filter", "c", "--jobs", "4"]).jobs, 4)
        said = inside.called(self.program.parse, ["--help"])
        self.assertEqual(said.status, 0)
        # Python 3.13 names the value of an option with two names once.
        text = re.sub(r"(-\w) [A-Z]+, (--\w+ [A-Z]+)", r"\1, \2", " ".join(said.out.split()))
        for words in ("usage: regions-transcode", "Takes videos through a filter of GStreamer elements", "IN video files",
                      "-o, --out DIR where outputs go", "elements that every frame passes, as gst-launch takes them",
                      "mp4 (H.264 in MP4), mkv (H.264 in Matroska), webm (VP9 in WebM), lossless (FFV1 in Matroska,"
                      " every pixel kept); default: mp4", "write the regions of each frame, one JSON object a line",
                      "write the label of each pixel as 16-bit video (FFV1 in Matroska, lossless)",
                      "-j, --jobs N inputs worked on at once, spread over the GPUs there are; default: 1",
                      "write outputs that are there again", "leave the sound out"):
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
        self.refused("-j wants a number from 1 on, not 0", one, jobs=0)
        self.refused("-j wants a number from 1 on, not -2", one, jobs=-2)
        self.refused(f"{one} would be written to {out}/one.mp4, which is an input; choose another folder with -o", one,
                     out=out)
        link = self.folder / "link"
        link.symlink_to(self.folder)
        self.refused(f"{one} would be written to {link}/one.mp4, which is an input; choose another folder with -o", one,
                     out=str(link))
        self.refused(f"{one} and {twin} would both be written to {self.out}/one.mp4; transcode them into different"
                     " folders", one, twin)
        self.refused(f"the filter 'nonsense' cannot be made: no element \"nonsense\"", one, filter="nonsense")
        self.refused(f"cannot make the folder {one}: File exists", one, out=one)
        self.refused(f"cannot make the folder {one}/x: Not a directory", one, out=one + "/x")
        labels, mkv = self.inputs("a.avi", "a.labels.avi")
        self.refused(f"{labels} and {mkv} would both be written to {self.out}/a.labels.mkv; transcode them into"
                     " different folders", labels, mkv, "--labels", "--profile", "mkv")
        self.assertEqual([pathlib.Path(path).read_text() for path in (one, twin)], ["x", "x"])

    def test_jobs_and_what_they_tell(self):
        good, bad, silent, told, better = self.inputs("good.avi", "bad.avi", "silent.avi", "told.avi", "good2.avi")
        empty = self.input("empty.avi")
        pathlib.Path(empty).write_text("")
        missing = str(self.folder / "missing.avi")
        said = self.ran(good, bad, empty, missing, silent, told, better, "--json")
        self.assertEqual(said.status, 1)
        done = "{}: 50 frames in 4.0 s (12 a second, 0.5 times its speed); wrote {}.mp4, {}.jsonl\n"
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
            "filter": UNTOUCHED, "profile": "mp4", "device": -1, "with_sound": True,
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
            "filter": UNTOUCHED, "profile": "mkv", "device": -1, "with_sound": False,
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
                    1, f"regions-transcode: {good}: {video} is there, but {differs}; --force writes it again"))
            else:
                self.assertEqual((said.status, said.err), (0, ""))
            if worked := os.path.exists(good + ".settings"):
                os.remove(good + ".settings")
            elif not differs:
                self.assertEqual(said.out, f"{good}: skipped, {video} is there\n")
            return worked

        self.assertTrue(again())
        self.assertFalse(again())
        self.assertEqual(set(json.loads(made.read_text())), {"source", "size", "time", "content", "filter", "profile",
                                                             "sound", "outputs", "version"})
        self.assertFalse(again(filter="cclabel", differs=f'filter was "{UNTOUCHED}", is "cclabel"'))
        self.assertFalse(again("--no-sound", differs="sound was true, is false"))
        self.assertFalse(again("--json", differs='outputs was ["video"], is ["jsonl", "video"]'))
        os.utime(good, (5, 5))
        self.assertFalse(again(), "the content is the same")
        pathlib.Path(good).write_text("y")
        self.assertFalse(again(differs="the input's content is another"))
        pathlib.Path(good).write_text("longer")
        self.assertFalse(again(differs="size was 1, is 6"))
        self.replace(self.program.record, "content", lambda _: "of this")
        self.assertTrue(again("--force"))
        self.assertFalse(again())
        with unittest.mock.patch.object(__import__("filters"), "version", lambda: "99"):
            was = json.loads(made.read_text())["version"]
            self.assertFalse(again(differs=f'version was "{was}", is "99"'))
        os.remove(made)
        self.assertFalse(again(differs="nothing tells what it was made of (good.mp4.made.json is not there)"))
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
                1, f"regions-transcode: {good}: another run writes {self.out}/good.mp4 now"))
        self.assertEqual(self.files(self.out), ["good2.mp4", "good2.mp4.made.json"])
        (self.out / ".regions-good.mp4.lock").touch()
        self.assertEqual(self.ran(good).status, 0)
        self.assertEqual(len(self.files(self.out)), 4)

    def test_what_killed_runs_left(self):
        self.out.mkdir()
        (self.out / ".regions-abc.part").touch()
        (self.out / ".regions-a.mp4.lock").touch()
        (self.out / "mine.part").touch()
        with __import__("files").Output(str(self.out / "a")) as open_one:
            self.assertEqual(self.ran(*self.inputs("good.avi")).status, 0)
            self.assertEqual(self.files(self.out), sorted([os.path.basename(open_one.part), "good.mp4",
                                                           "good.mp4.made.json", "mine.part"]))

    def test_a_job_that_is_killed(self):
        killed, good = self.inputs("killed.avi", "good.avi")
        said = self.ran(killed, good)
        self.assertEqual(said.status, 1)
        self.assertEqual(said.err, f"regions-transcode: {killed}: the process was ended by SIGKILL\n"
                         f"regions-transcode: 1 of 2 inputs failed: {killed}\n")
        self.assertEqual(self.files(self.out), ["good.mp4", "good.mp4.made.json"])

    def interrupted(self, name, *numbers):
        """A run that gets signals while its first job works."""
        first, second = self.inputs(name, "good.avi")
        numbers = list(numbers)
        hear = self.program.Screen.hear

        def heard(screen, source, said, written=()):
            hear(screen, source, said, written)
            if "note" in said:
                os.kill(os.getpid(), numbers.pop(0))

        interrupt = self.program.Queue.interrupt

        def again(queue):
            interrupt(queue)
            if numbers:
                asyncio.get_running_loop().call_later(0.3, os.kill, os.getpid(), numbers.pop(0))

        with (unittest.mock.patch.object(self.program.Screen, "hear", heard),
              unittest.mock.patch.object(self.program.Queue, "interrupt", again)):
            said = self.ran(first, second)
        self.assertEqual(said.status, 130)
        self.assertEqual(said.err, f"{first}: note: waits\nregions-transcode: interrupted; what is finished stays, the"
                         " same command goes on\n")
        self.assertEqual(said.out, "")
        self.assertFalse(os.path.exists(second + ".settings"), "no other job begins")
        self.assertEqual(self.files(self.out), [])

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.interrupted("polite.avi", number)
        self.interrupted("deaf.avi", signal.SIGINT, signal.SIGTERM)

    def test_jobs_at_once(self):
        """As many as asked for, each slot with a device of its own where there are several."""
        names = self.inputs(*(f"good{i}.avi" for i in range(5)))
        self.replace(self.program, "cuda_devices", lambda: 2)
        running, most = set(), []
        transcode = self.program.Queue.transcode

        async def counted(queue, source, outputs, slot):
            running.add(source)
            most.append(len(running))
            try:
                return await transcode(queue, source, outputs, slot)
            finally:
                running.discard(source)

        self.replace(self.program.Queue, "transcode", counted)
        for jobs, at_once in ((1, 1), (2, 2), (9, 5)):
            most.clear()
            self.assertEqual(self.ran(*names, "--force", "-j", str(jobs)).status, 0)
            self.assertEqual(max(most), at_once)
            devices = [self.settings(name)["device"] for name in names]
            self.assertEqual(set(devices), {0} if jobs == 1 else {0, 1})
        self.assertEqual(devices, [0, 1, 0, 1, 0])
        self.assertEqual([self.program.device_for(slot, 3) for slot in range(5)], [0, 1, 2, 0, 1])
        self.assertEqual([self.program.device_for(4, devices) for devices in (0, 1, 2)], [-1, -1, 0])

    def test_inputs_are_taken_in_their_order(self):
        names = self.inputs("good3.avi", "good1.avi", "good2.avi")
        lines = self.ran(*names).out.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], names)

    def test_how_many_devices_there_are(self):
        program = loaded()
        for starts, counts, number, expected in ((0, 0, 3, 3), (1, 0, 3, 0), (0, 1, 3, 0), (0, 0, 0, 0)):
            def count(pointer, counts=counts, number=number):
                pointer._obj.value = number
                return counts

            driver = unittest.mock.Mock(cuInit=lambda flags, s=starts: s if flags == 0 else 99, cuDeviceGetCount=count)
            with unittest.mock.patch.object(program.ctypes, "CDLL", lambda name, driver=driver: (
                    driver if name == "libcuda.so.1" else None)):
                self.assertEqual(program.cuda_devices(), expected)
        with unittest.mock.patch.object(program.ctypes, "CDLL", side_effect=OSError):
            self.assertEqual(program.cuda_devices(), 0)

    def test_as_a_program(self):
        said = media.run(PATH, self.input("bad.txt"), "-o", self.out, "--filter", "nonsense", status=2)
        self.assertEqual(said, "regions-transcode: the filter 'nonsense' cannot be made: no element \"nonsense\"\n")


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
