#!/usr/bin/python3
"""Files that are in the output folder before regions-transcode starts, at every name that it writes or reads there: it
writes through no link, waits for no FIFO, and reports every conflict."""

import os
import shutil
import unittest.mock

import media
from cases import KEYS, SMALL, UNTOUCHED, TranscodeCase, called, main, run_here
from transcode import command, command_line, processes  # after cases, which sets the path


OUTPUTS = ("--json", "--labels", "--export", "csv", "--export", "coco-rle", "--export", "mot")
TRACKED = UNTOUCHED + " track=true"
SEGMENTS = "in.mp4.segments"
DEVICE = "device "
FORMER = ("video.txt", "labels.txt")  # which joining once wrote
LOCKS = (".regions-in.mp4.lock", ".regions-job.lock", SEGMENTS + "/.regions-0001.lock")


class OutputFolder(TranscodeCase):
    def setUp(self):
        super().setUp()
        self.source = self.clip("in.mp4", SMALL, *KEYS)

    def make(self, *arguments):
        """Runs the program in this process. Returns its exit status and its output."""
        words = [str(self.source), "-o", str(self.out), "--filter", TRACKED, *OUTPUTS, *arguments]
        with unittest.mock.patch.object(processes, "run", run_here):
            said = called(lambda: command.main(command_line.parse(words)))
        self.assertNotIn("Traceback", said.err)
        self.assertIn(said.status, (0, 1, 2), said.err)
        return said.status, said.out + said.err

    def forget(self):
        shutil.rmtree(self.out, ignore_errors=True)

    def names(self, *arguments):
        """The names of all files that a run leaves, and of its segments' files before its end, except the plan."""
        self.assertEqual(self.make(*arguments, "--plan")[0], 0)
        self.assertEqual(self.make(*arguments, "--segment", "1/1")[0], 0)
        found = {f"{SEGMENTS}/{path.name}" for path in (self.out / SEGMENTS).iterdir()} - {f"{SEGMENTS}/plan.json"}
        self.assertEqual(self.make(*arguments)[0], 0)
        found |= {path.name for path in self.out.iterdir()} | {f"{SEGMENTS}/{name}" for name in FORMER}
        self.forget()
        self.assertGreater(len(found), 8 + 3 * 3, found)
        return sorted(found)

    def linked(self, names):
        """Makes links of these names in the output folder, each to its own file."""
        victims = self.folder / "victims"
        victims.mkdir(exist_ok=True)
        for number, name in enumerate(names):
            (victims / str(number)).write_text("as it was")
            (self.out / name).parent.mkdir(parents=True, exist_ok=True)
            (self.out / name).unlink(missing_ok=True)
            (self.out / name).symlink_to(victims / str(number))
        return victims

    def expect_untouched(self, victims):
        for victim in victims.iterdir():
            self.assertEqual(victim.read_text(), "as it was")

    def test_links_in_the_output_folder_are_replaced_and_their_targets_unchanged(self):
        cut = ("--segments", "0.7")
        names = self.names("--segments", "0.7")
        for arguments, planned, taken in ((cut, True, names), (("--force", *cut), False, names), (("--force",), False, [
                name for name in names if "/" not in name and name not in ("job.json", "summary.json")])):
            self.forget()
            if planned:
                self.make("--segments", "0.7", "--plan")
            victims = self.linked(taken + ([] if planned else [f"{SEGMENTS}/plan.json"]))
            status, text = self.make(*arguments)
            self.assertEqual(status, 0, text)
            self.expect_untouched(victims)
            self.assertFalse([path for path in self.out.iterdir() if path.is_symlink()])
            self.assertEqual(len(media.times(self.out / "in.mp4")), 80)

    def test_output_folder_with_a_link_as_lock_file_is_refused(self):
        for name in LOCKS:
            self.forget()
            self.make("--segments", "0.7", "--plan")
            victims = self.linked([name])
            status, text = self.make("--segments", "0.7", "--attempts", "1")
            self.assertNotEqual(status, 0, text)
            self.assertIn("Too many levels of symbolic links", text)
            self.expect_untouched(victims)

    def test_segments_folder_that_is_a_link_is_refused(self):
        self.make("--segments", "0.7", "--plan")
        (self.out / SEGMENTS).rename(self.folder / "elsewhere")
        (self.out / SEGMENTS).symlink_to(self.folder / "elsewhere")
        status, text = self.make("--segments", "0.7", "--attempts", "1")
        self.assertEqual(status, 1, text)
        self.assertIn(f"{SEGMENTS}: ", text)
        self.assertEqual([path.name for path in (self.folder / "elsewhere").iterdir()], ["plan.json"])

    def test_output_folder_with_fifos_or_links_to_devices_does_not_block_the_run(self):
        names = [*self.names("--segments", "0.7"), *LOCKS, SEGMENTS + "/plan.json", ".regions-x.part",
                 SEGMENTS + "/.regions-x.part"]
        self.make("--segments", "0.7", "--plan")
        planned = self.out.rename(self.folder / "planned")
        for name in names + [DEVICE + name for name in names if name.endswith(".json")]:
            with self.subTest(name):
                self.forget()
                shutil.copytree(planned, self.out)
                path = self.out / name.removeprefix(DEVICE)
                path.unlink(missing_ok=True)
                if name.startswith(DEVICE):
                    path.symlink_to("/dev/zero")
                else:
                    os.mkfifo(path)
                status, text = self.make("--segments", "0.7", "--attempts", "1")
                if status:
                    self.assertIn(path.name.replace(".regions-", "").replace(".lock", ""), text)


if __name__ == "__main__":
    main()
