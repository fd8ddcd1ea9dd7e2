#!/usr/bin/python3
"""A job of 1200 segments whose attempts fail, whose workers die and whose program dies at random: the program's own
scheduling, attempts and manifests, with stand-ins for jobs. No segment is lost or repeated, and attempts are limited."""

import collections
import json
import os
import random

from cases import StandInCase, main
from transcode import cluster, manifest, processes  # after cases, which sets the path


FILES, SEGMENTS, ATTEMPTS, RUNS = 4, 300, 8, 4  # one in 10^8 segments fails so often by chance
POISONED = {("2", 17), ("3", 299)}  # file and segment


class Simulation(StandInCase):
    # In memory: thousands of files are written and replaced, and ext4 without a journal passes over the inodes of those
    # removed in the last minutes one by one, so that each new file took longer.
    within = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    async def job(self, kind, settings, hear, *_):
        """Replaces processes.run."""
        if kind == "plan":
            hear({"plan": {"why": None, "spans": [{"packets": 1, "number": number} for number in range(SEGMENTS)],
                           "probed": None}})
            return None
        name = os.path.basename(settings["source"]).removesuffix(".mp4")
        if kind == "join":
            known = manifest.Manifest(settings["outputs"])
            texts = []
            for number in range(SEGMENTS):
                with open(known.files(number)["video"], encoding="utf-8") as file:
                    texts.append(file.read())
            with open(settings["outputs"]["video"], "w", encoding="utf-8") as file:
                file.write("\n".join(texts))
            hear({"done": {"frames": SEGMENTS, "seconds": 1, "length": 1}})
            return None
        number = settings["span"]["number"]
        self.say("begun", name, number)
        if (name, number) in POISONED:
            return "is poisoned"
        if self.random.random() < 0.05:
            return "failed by chance"
        with open(settings["outputs"]["video"], "w", encoding="utf-8") as file:
            file.write(f"{name} {number}")
        hear({"done": {"frames": 1}})
        return None

    def say(self, *words):
        """Writes a line to a file, which outlives the program."""
        with open(self.folder / "said", "a", encoding="utf-8") as file:
            print(*words, file=file)

    def said(self, word):
        rows = [line.split() for line in (self.folder / "said").read_text().splitlines()]
        return collections.Counter((name, int(number)) for what, name, number in rows if what == word)

    async def attempt(self, task, _name, _stopped):
        """Replaces Cluster.attempt."""
        if self.random.random() < 0.05:
            return cluster.lost(task, "its worker died")
        after = await cluster.attempt(task)
        if after["state"] == manifest.DONE:
            self.say("finished", os.path.basename(task["source"]).removesuffix(".mp4"), task["number"])
            self.left -= 1
            if self.left == 0:
                os._exit(9)
        return after

    def test_job_of_1200_segments_with_failures_loses_and_repeats_no_segment(self):
        seed = int(os.environ.get("REGIONS_SEED", "22"))
        self.random = random.Random(seed)
        self.replace(processes, "run", self.job)
        self.replace(cluster, "Cluster", lambda *_: self)
        sources = self.inputs(*(f"{number}.mp4" for number in range(FILES)))
        for run in range(RUNS):
            self.left = 250 if run < RUNS - 1 else -1  # segments until the program dies
            child = os.fork()
            if not child:
                os._exit(self.ran(*sources, "--segments", "1", "--cluster", "--attempts", str(ATTEMPTS)).status)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            self.assertEqual(status, 9 if run < RUNS - 1 else 1)
        told = json.loads((self.out / "summary.json").read_text())
        begun, finished = self.said("begun"), self.said("finished")
        self.assertEqual(told["files"], {"done": FILES - len(POISONED), "quarantined": len(POISONED)})
        everything = {(str(name), number) for name in range(FILES) for number in range(SEGMENTS)}
        self.assertEqual(set(finished), everything - POISONED, "none is lost")
        self.assertEqual([name for name, count in finished.items() if count > 1], [], "none is repeated")
        self.assertLessEqual(max(begun.values()), ATTEMPTS * RUNS)
        for name, number in POISONED:
            outputs = {"video": str(self.out / f"{name}.mp4")}
            segment = manifest.Manifest(outputs).segment(number)
            self.assertEqual(segment["state"], "quarantined")
            self.assertIn("is poisoned", segment["problems"])
        for name in ("0", "1"):
            self.assertEqual((self.out / f"{name}.mp4").read_text().splitlines(),
                             [f"{name} {number}" for number in range(SEGMENTS)])


if __name__ == "__main__":
    main()
