#!/usr/bin/python3
"""What fails of files in segments, other than segments themselves: planning, joining, records that cannot be written or are
damaged. With jobs that are stand-ins."""

import collections
import json
import os
import pathlib
import unittest
import unittest.mock

import stand_in_jobs  # which names the folder of the others
import manifest
import processes

SEGMENTS = 3
DEEP = "[" * 200_000  # Python's reader of JSON calls itself for each


class Attempts(stand_in_jobs.Case):
    def setUp(self):
        super().setUp()
        self.replace(processes, "run", self.job)
        self.problems = collections.defaultdict(list)  # by program and input, of its attempts
        self.began, self.devices = collections.Counter(), []
        self.source, self.other = self.inputs("one.mp4", "two.mp4")

    async def job(self, program, settings, hear, *_):
        """In place of processes.run."""
        what = os.path.basename(program), os.path.basename(settings["source"])
        self.began[what] += 1
        self.devices.append(settings.get("device"))
        if self.problems[what]:
            return self.problems[what].pop(0)
        if what[0] == "cutting.py":
            hear({"plan": {"why": None, "spans": [{"packets": 10}] * SEGMENTS, "probed": None}})
            return None
        for path in settings["outputs"].values():
            pathlib.Path(path).write_text(what[0])
        hear({"done": {"frames": 10, "seconds": 1, "length": 1}})
        return None

    def run_on(self, *sources, status=0):
        said = self.ran(*sources, "--segments", "1")
        self.assertEqual(said.status, status, said.err)
        told = json.loads((self.out / "summary.json").read_text())["inputs"]
        return said, [told[source] for source in sources]

    def test_what_fails_in_passing(self):
        for program in ("cutting.py", "assembly.py"):
            self.problems[program, "one.mp4"] = ["fails", "fails again"]
        _, (told,) = self.run_on(self.source)
        self.assertEqual((told["state"], told["segments"], told["attempts"]), ("done", SEGMENTS, SEGMENTS))
        self.assertEqual([self.began[name, "one.mp4"] for name in ("cutting.py", "segment.py", "assembly.py")],
                         [3, SEGMENTS, 3])

    def test_what_fails_each_time(self):
        """The file is quarantined, others go on, and the next run tries again."""
        for program in ("cutting.py", "assembly.py"):
            self.problems[program, "one.mp4"] = ["fails"] * 3
            said, told = self.run_on(self.source, self.other, status=1)
            self.assertIn(f"{self.source}: quarantined after 3 attempts: fails\n", said.err)
            self.assertEqual([one["state"] for one in told], ["quarantined", "done" if program == "cutting.py" else "skipped"])
            self.assertIn("fails", told[0]["problem"])
        self.run_on(self.source)
        self.assertEqual(self.began["segment.py", "one.mp4"], SEGMENTS, "none was repeated")

    def test_records_that_cannot_be_written(self):
        """As where storage is out of reach for a while."""
        write, refused = manifest.Manifest.write, []

        def failing(known, number, told):
            if "one.mp4" in known.folder and (len(refused) < times):
                refused.append(number)
                raise OSError(5, "out of reach")
            return write(known, number, told)

        for times, state in ((2, "done"), (10**6, "quarantined")):
            refused.clear()
            with unittest.mock.patch.object(manifest.Manifest, "write", failing):
                said = self.ran(self.source, self.other, "--segments", "1", "--force")
            told = json.loads((self.out / "summary.json").read_text())["inputs"]
            self.assertEqual([told[source]["state"] for source in (self.source, self.other)], [state, "done"], said.err)
        self.assertIn("quarantined after 3 attempts: out of reach", said.err)
        self.assertGreater(len(refused), 3 * SEGMENTS)

    def test_damaged_records(self):
        """Are as if they were not there."""
        self.problems["assembly.py", "one.mp4"] = ["fails"] * 3
        self.run_on(self.source, status=1)
        folder = self.out / "one.mp4.segments"
        for text in ("", "{", "{}", "[]", "3", '{"state": "done"}', '{"state": "done", "attempts": 1, "problems": [], "done": {},'
                     ' "checksums": {}}', '{"state": "failed", "attempts": "x", "problems": []}', '{"state": 3}', "\0\xff",
                     '{"state": "failed", "attempts": 1, "problems": []}', DEEP):
            self.began.clear()
            (folder / "0001.json").write_text(text)
            self.problems["assembly.py", "one.mp4"] = ["fails"] * 3
            self.run_on(self.source, status=1)
            self.assertEqual((self.began["cutting.py", "one.mp4"], self.began["segment.py", "one.mp4"]), (0, 1), text)
        plan = json.loads((folder / "plan.json").read_text())
        of_this = [json.dumps(plan | {"spans": spans}) for spans in ([3, 3], [{}, {}], [{"packets": "x"}] * 2, [None] * 2, 3, {})]
        for text in ("", "{}", '{"spans": 3, "made": {}}', '{"spans": [], "made": 3}', '{"spans": [null]}', DEEP, *of_this):
            self.began.clear()
            (folder / "plan.json").write_text(text)
            self.problems["assembly.py", "one.mp4"] = ["fails"] * 3
            self.run_on(self.source, status=1)
            self.assertEqual((self.began["cutting.py", "one.mp4"], self.began["segment.py", "one.mp4"]), (1, SEGMENTS), text)

    def test_segments_are_spread_over_devices(self):
        self.replace(self.program, "cuda_devices", lambda: 2)
        self.assertEqual(self.ran(self.source, "--segments", "1", "-j", "2").status, 0)
        self.assertEqual(set(self.devices) - {None}, {0, 1})

    def test_what_is_known_of_the_job_cannot_be_written(self):
        with unittest.mock.patch.object(manifest, "write_json", side_effect=OSError(28, "No space left on device")):
            said = self.ran(self.source, "--segments", "1")
        self.assertEqual((said.status, said.err), (1, "regions-transcode: No space left on device\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
