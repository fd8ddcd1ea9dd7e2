#!/usr/bin/python3
"""The command line of regions-transcode, with fake jobs: options, refusals, skipped outputs, messages, signals."""

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest.mock

import media
from cases import PROGRAM, UNTOUCHED, StandInCase, called, main
import files  # after cases, which sets the path
import filters
from transcode import command, command_line, manifest, scheduling


class CommandLine(StandInCase):
    def test_command_line_when_invalid_exits_with_2(self):
        self.assertEqual(command_line.parse(["a", "--out", "b", "--filter", "c", "--jobs", "4"]).jobs, 4)
        said = called(command_line.parse, ["--help"])
        self.assertEqual(said.status, 0)
        for words in ("usage: regions-transcode", "default: mp4", "Takes videos through a filter of GStreamer elements"):
            self.assertIn(words, " ".join(said.out.split()))
        for arguments in ([], ["a"], ["a", "-o", "b"], ["a", "--filter", "b"],
                          ["a", "-o", "b", "--filter", "c", "--profile", "avi"],
                          ["a", "-o", "b", "--filter", "c", "-j", "many"]):
            self.assertEqual(called(command_line.parse, arguments).status, 2)

    def test_output_names_begin_with_the_input_name_and_end_with_their_format(self):
        options = self.parsed("x", "--json", "--labels", "--profile", "webm")
        self.assertEqual(scheduling.outputs_of("/a/b.c.avi", options), {
            "video": f"{self.out}/b.c.webm", "jsonl": f"{self.out}/b.c.jsonl", "labels": f"{self.out}/b.c.labels.mkv"})
        self.assertEqual(scheduling.outputs_of("plain", self.parsed("x")), {"video": f"{self.out}/plain.mp4"})
        self.assertEqual(scheduling.outputs_of("x.mp4", self.parsed("x", "--json")),
                         {"video": f"{self.out}/x.mp4", "jsonl": f"{self.out}/x.jsonl"})

    def test_invalid_command_and_command_that_would_overwrite_a_file_are_refused(self):
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

    def test_output_folder_when_unwritable_is_named_in_the_error(self):
        """The error names the folder, once, and no input."""
        inputs = self.inputs("one.mp4", "two.mp4")
        why = "cannot write into the folder /proc: No such file or directory"
        for words in ((), ("--segments", "1")):
            options = self.parsed(*inputs, *words)
            options.out = "/proc"
            self.assertEqual(called(command.main, options), (2, "", f"regions-transcode: {why}\n"))
        with self.assertRaisesRegex(OSError, why), manifest.locked("/proc/one.mp4"):
            pass

    def test_job_results_of_each_kind_are_printed_and_counted(self):
        good, bad, silent, noted, better = self.inputs("good.avi", "bad.avi", "silent.avi", "noted.avi", "good2.avi")
        empty = self.input("empty.avi")
        pathlib.Path(empty).write_text("")
        missing = str(self.folder / "missing.avi")
        said = self.ran(good, bad, empty, missing, silent, noted, better, "--json")
        self.assertEqual(said.status, 1)
        done = "{}: 50 frames in 4.0 s (12 frames/s, 0.5 times playing speed); wrote {}.mp4, {}.jsonl\n"
        self.assertEqual(said.out, "".join(done.format(source, *[f"{self.out}/{name}"] * 2)
                                           for source, name in ((good, "good"), (better, "good2"))))
        program = "regions-transcode: "
        self.assertEqual(said.err, (
            f"{program}{bad}: is bad\n{program}{empty}: the file is empty\n"
            f"{program}{missing}: cannot be read: No such file or directory\n"
            f"{program}{silent}: the job ended with status 7\n{noted}: note: odd\n{program}{noted}: earlier\n"
            f"{program}5 of 7 inputs failed: {bad}, {empty}, {missing}, {silent}, {noted}\n"))
        self.assertEqual(self.files(self.out), [
            "good.jsonl", "good.mp4", "good.mp4.made.json", "good2.jsonl", "good2.mp4", "good2.mp4.made.json"])
        self.assertEqual(self.settings(good), {
            "source": good, "outputs": {"video": f"{self.out}/good.mp4", "jsonl": f"{self.out}/good.jsonl"},
            "filter": UNTOUCHED, "profile": "mp4", "device": -1, "with_sound": True,
            "accept_partial": False})

    def test_job_settings_contain_the_command_line_options(self):
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

    def test_existing_output_with_equal_settings_is_skipped_and_any_other_is_refused(self):
        """An output of the same input and settings is skipped. Any other output stays, and an error names the difference."""
        good, = self.inputs("good.avi")
        video, made = self.out / "good.mp4", self.out / "good.mp4.made.json"

        def again(*arguments, differs=None, **changed):
            """Whether it was worked on."""
            options = self.parsed(good, *arguments)
            for name, value in changed.items():
                setattr(options, name, value)
            said = called(command.main, options)
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
        self.assertFalse(again(filter="cclabel", differs=f'filter was "{UNTOUCHED}" and is now "cclabel"'))
        self.assertFalse(again("--no-sound", differs="sound was true and is now false"))
        self.assertFalse(again("--json", differs='outputs was ["video"] and is now ["jsonl", "video"]'))
        os.utime(good, (5, 5))
        self.assertFalse(again(), "the content is the same")
        pathlib.Path(good).write_text("y")
        self.assertFalse(again(differs="the content of its input has changed"))
        pathlib.Path(good).write_text("longer")
        self.assertFalse(again(differs="size was 1 and is now 6"))
        self.replace(manifest, "checksum", lambda _: "of this")
        self.assertTrue(again("--force"))
        self.assertFalse(again())
        with unittest.mock.patch.object(filters, "version", lambda: "99"):
            was = json.loads(made.read_text())["version"]
            self.assertFalse(again(differs=f'version was "{was}" and is now "99"'))
        os.remove(made)
        self.assertFalse(again(differs="its record good.mp4.made.json does not exist"))
        os.mkfifo(made)
        self.assertFalse(again(differs="its record good.mp4.made.json cannot be read: not a regular file"))
        os.remove(made)
        for text in ("", "3", "[" * 200_000, "\0\xff"):
            made.write_text(text)
            self.assertFalse(again(differs=f"its record {made} is damaged"))
        os.remove(video)
        self.assertTrue(again(), "without an output there is nothing to lose")
        os.remove(good)
        said = self.ran(good)
        self.assertEqual(said.status, 1, "a missing input is not skipped")

    def test_output_when_another_run_writes_it_is_refused(self):
        """An output that another run writes is left alone. The lock of a run that has ended does not count."""
        good, other = self.inputs("good.avi", "good2.avi")
        self.out.mkdir()
        with manifest.locked(str(self.out / "good.mp4")):
            said = self.ran(good, other)
            self.assertEqual((said.status, said.err.splitlines()[0]), (
                1, f"regions-transcode: {good}: another run is writing {self.out}/good.mp4"))
        self.assertEqual(self.files(self.out), ["good2.mp4", "good2.mp4.made.json"])
        (self.out / ".regions-good.mp4.lock").touch()
        self.assertEqual(self.ran(good).status, 0)
        self.assertEqual(len(self.files(self.out)), 4)

    def test_temporary_files_after_a_killed_run_are_removed(self):
        self.out.mkdir()
        (self.out / ".regions-abc.part").touch()
        (self.out / ".regions-a.mp4.lock").touch()
        (self.out / "mine.part").touch()
        os.mkfifo(self.out / ".regions-pipe.part")  # which would be waited for
        (self.out / ".regions-link.part").symlink_to("mine.part")
        with files.Output(str(self.out / "a")) as open_one:
            self.assertEqual(self.ran(*self.inputs("good.avi")).status, 0)
            self.assertEqual(self.files(self.out), sorted([os.path.basename(open_one.part), ".regions-pipe.part", "good.mp4",
                                                           ".regions-link.part", "good.mp4.made.json", "mine.part"]))

    def test_transcode_with_invalid_filter_exits_with_2(self):
        said = media.run(PROGRAM, self.input("bad.txt"), "-o", self.out, "--filter", "nonsense", status=2)
        self.assertEqual(said, "regions-transcode: the filter 'nonsense' cannot be made: no element \"nonsense\"\n")


class JobsOfARun(StandInCase):
    def test_job_when_killed_is_reported_and_the_next_job_succeeds(self):
        killed, good = self.inputs("killed.avi", "good.avi")
        said = self.ran(killed, good)
        self.assertEqual(said.status, 1)
        self.assertEqual(said.err, f"regions-transcode: {killed}: the job was ended by SIGKILL\n"
                         f"regions-transcode: 1 of 2 inputs failed: {killed}\n")
        self.assertEqual(self.files(self.out), ["good.mp4", "good.mp4.made.json"])

    def interrupted(self, name, *numbers):
        """A run that gets signals while its first job works."""
        first, second = self.inputs(name, "good.avi")
        numbers = list(numbers)
        hear = scheduling.Screen.hear

        def heard(screen, source, said, written=()):
            hear(screen, source, said, written)
            if "note" in said:
                os.kill(os.getpid(), numbers.pop(0))

        interrupt = scheduling.Queue.interrupt

        def again(queue):
            interrupt(queue)
            if numbers:
                asyncio.get_running_loop().call_later(0.3, os.kill, os.getpid(), numbers.pop(0))

        with (unittest.mock.patch.object(scheduling.Screen, "hear", heard),
              unittest.mock.patch.object(scheduling.Queue, "interrupt", again)):
            said = self.ran(first, second)
        self.assertEqual(said.status, 130)
        self.assertEqual(said.err, f"{first}: note: waits\nregions-transcode: interrupted; finished files stay, and the"
                         " same command goes on\n")
        self.assertEqual(said.out, "")
        self.assertFalse(os.path.exists(second + ".settings"), "no other job begins")
        self.assertEqual(self.files(self.out), [])

    def test_transcode_when_interrupted_exits_with_130_and_leaves_no_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.interrupted("polite.avi", number)
        self.interrupted("deaf.avi", signal.SIGINT, signal.SIGTERM)

    def test_program_interrupted_while_it_loads_ends_without_output_and_without_a_trace(self):
        clip = self.clip("long.mp4", "testsrc2=size=640x480:rate=25:duration=20", "-pix_fmt", "yuv420p", "-preset", "ultrafast")
        for tenths in range(1, 7):
            work = subprocess.Popen([PROGRAM, clip, "-o", self.out, "--filter", UNTOUCHED], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, start_new_session=True)
            time.sleep(tenths / 20)
            os.killpg(work.pid, signal.SIGINT)
            out, err = work.communicate(timeout=60 * media.PATIENCE)
            self.assertIn(work.returncode, (-signal.SIGINT, 130), tenths)
            self.assertNotIn("KeyboardInterrupt", out + err)
            self.assertEqual(self.files(self.out) if self.out.exists() else [], [])

    def test_jobs_with_two_gpus_alternate_between_them(self):
        """At most --jobs inputs at the same time. With several devices, each slot has its own device."""
        names = self.inputs(*(f"good{i}.avi" for i in range(5)))
        self.replace(scheduling, "cuda_devices", lambda: 2)
        running, most = set(), []
        transcode = scheduling.Queue.transcode

        async def counted(queue, source, outputs, slot):
            running.add(source)
            most.append(len(running))
            try:
                return await transcode(queue, source, outputs, slot)
            finally:
                running.discard(source)

        self.replace(scheduling.Queue, "transcode", counted)
        for jobs, at_once in ((1, 1), (2, 2), (9, 5)):
            most.clear()
            self.assertEqual(self.ran(*names, "--force", "-j", str(jobs)).status, 0)
            self.assertEqual(max(most), at_once)
            devices = [self.settings(name)["device"] for name in names]
            self.assertEqual(set(devices), {0} if jobs == 1 else {0, 1})
        self.assertEqual(devices, [0, 1, 0, 1, 0])
        self.assertEqual([scheduling.device_for(slot, 3) for slot in range(5)], [0, 1, 2, 0, 1])
        self.assertEqual([scheduling.device_for(4, devices) for devices in (0, 1, 2)], [-1, -1, 0])

    def test_several_inputs_are_processed_in_the_given_order(self):
        names = self.inputs("good3.avi", "good1.avi", "good2.avi")
        lines = self.ran(*names).out.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], names)

    def test_cuda_device_count_is_that_of_the_driver_and_0_if_the_driver_fails(self):
        unittest.mock.patch.stopall()
        for starts, counts, number, expected in ((0, 0, 3, 3), (1, 0, 3, 0), (0, 1, 3, 0), (0, 0, 0, 0)):
            def count(pointer, counts=counts, number=number):
                pointer._obj.value = number
                return counts

            driver = unittest.mock.Mock(cuInit=lambda flags, s=starts: s if flags == 0 else 99, cuDeviceGetCount=count)
            with unittest.mock.patch.object(scheduling.ctypes, "CDLL", lambda name, driver=driver: (
                    driver if name == "libcuda.so.1" else None)):
                self.assertEqual(scheduling.cuda_devices(), expected)
        with unittest.mock.patch.object(scheduling.ctypes, "CDLL", side_effect=OSError):
            self.assertEqual(scheduling.cuda_devices(), 0)


class Refusals(StandInCase):
    """Commands that end before anything is made."""

    def run_parsed(self, *words):
        said = called(lambda: command.main(self.parsed(*words)))
        self.assertEqual(said.status, 2)
        return said.err

    def test_options_of_time_segments_when_invalid_are_refused(self):
        for words, why in ((("--segments", "0"), "--segments 0: expected a number of seconds above 0"),
                           (("--segments", "nan"), "--segments nan: expected a number of seconds above 0"),
                           (("--segments", "1", "--attempts", "0"), "--attempts 0: expected a whole number, 1 or more"),
                           (("--plan",), "--plan and --segment require --segments"),
                           (("--segments", "1", "--segment", "3/2"), "'3/2': expected K/N with K from 1 to N"),
                           (("--segments", "1", "--segment", "0/2"), "'0/2': expected K/N with K from 1 to N"),
                           (("--segments", "1", "--gpus-per-task", "1.5"), "--gpus-per-task 1.5: expected a fraction below 1 or"),
                           (("--segments", "1", "--memory-per-task", "-1"), "--memory-per-task -1: expected a number, 0 or more"),
                           (("--warm-up", "1"), "--warm-up requires --segments"),
                           (("--segments", "1", "--warm-up", "-1"), "--warm-up -1: expected a number of seconds, 0 or more")):
            self.assertIn(why, self.run_parsed("in.mp4", *words))
        self.assertFalse(self.out.exists())

    def test_filter_when_invalid_is_refused_with_the_reason(self):
        source = self.input("in.mp4")
        for chain, reason in (
                ("cclabel ! nonsense", 'no element "nonsense"'),
                ("cclabel ! fakesink", "one unlinked sink pad and one unlinked source pad"),
                ("cclabel color=3", 'no property "color"'),
                ("cclabel threshold=7", "'threshold' of type 'gdouble': expected a number from 0 to 1"),
                ("regionoverlay style=box", "expected one or more of these, joined by +: boxes, outlines")):
            options = self.parsed(source)
            options.filter = chain
            said = called(command.main, options)
            self.assertEqual(said.status, 2)
            self.assertIn(reason, said.err)
            self.assertFalse(self.out.exists())


if __name__ == "__main__":
    main()
