"""Files in segments: what regions-transcode does where it is to cut them. The truth is in manifests on disk; whatever
dies, the same command goes on."""

import asyncio
import contextlib
import math
import os
import sys
import time

import attempts
import manifest
import processes
import status
import storage
from progress import Progress

MOST_PENDING = 1000  # tasks that a cluster is given at once
HERE = os.path.dirname(os.path.abspath(__file__))


class Archive:
    def __init__(self, queue, warm_up, cluster=None):
        """`queue`: the run. `warm_up`: seconds that the filter wants, None where it is not to be cut. Without a `cluster`
        (a cluster.Cluster) segments run on this machine."""
        self.cluster = cluster
        self.pending = asyncio.Semaphore(MOST_PENDING)  # tasks of the cluster
        self.queue, self.options, self.screen = queue, queue.options, queue.screen
        self.warm_up = self.options.warm_up if self.options.warm_up is not None else warm_up
        self.exact = self.options.exact or self.warm_up is None
        self.slots = asyncio.Queue()
        for slot in range(self.options.jobs):
            self.slots.put_nowait(slot)
        self.files = {}  # by source, what summary.json says
        self.progress = Progress(self.screen, len(self.options.inputs))
        self.began = time.time()

    @contextlib.asynccontextmanager
    async def slot(self):
        number = await self.slots.get()
        try:
            yield number
        finally:
            self.slots.put_nowait(number)

    def made(self, made):
        """What a plan has to say to be that of an output (see record.wanted)."""
        how = {"segments": self.options.segments, "warm-up": self.warm_up} if not self.exact else {"segments": None}
        return made | how

    def goes_on(self, outputs, made):
        """Whether a run before this one began the output in the same way."""
        known = manifest.Manifest(outputs, self.queue.store)
        known.pull()
        return bool(known.spans) and not known.difference(self.made(made))

    async def transcode(self, source, outputs, made):
        """Makes the outputs of a file; returns what went wrong, or None."""
        outputs = {kind: os.path.abspath(path) for kind, path in outputs.items()}
        known, made = manifest.Manifest(outputs, self.queue.store), self.made(made)
        told = self.files[source] = {"began": time.time(), "segments": 0, "attempts": 0, "frames": 0}
        differs = known.difference(made)
        if self.options.segment and (differs or not known.spans):
            return f"its plan has other settings: {differs}" if differs else "it has no plan: run the same command with --plan first"
        if differs:
            self.screen.line(f"{source}: starts again: {differs}", sys.stderr)
        if (self.options.force and not self.options.segment) or differs or not known.spans:
            plan = {}
            if problem := await self.attempted(lambda: self.plan(source, plan)):
                told["quarantined"] = 1
                return problem
            if plan["why"] and not self.exact:
                self.screen.line(f"{source}: note: not cut into segments: {plan['why']}", sys.stderr)
            known.begin(made, plan)
        known.tidy()
        spans = known.spans
        told["segments"] = len(spans)
        self.progress.begin(source, spans)
        if self.options.plan:
            self.screen.line(f"{source}: {len(spans)} segment{'s' * (len(spans) > 1)}")
            return None
        found = await asyncio.gather(*(self.segment(source, known, number, spans)
                                       for number in self.share(source, len(spans))))
        told["attempts"] = sum(one["attempts"] for one in found if "attempts" in one)
        problems = [f"segment {number + 1} of {len(spans)}: {one['problem']}" if len(spans) > 1 else one["problem"]
                    for number, one in zip(self.share(source, len(spans)), found) if "problem" in one]
        told["quarantined"] = sum(one["state"] == manifest.QUARANTINED for one in found)
        if self.queue.interrupted:
            return "interrupted"
        if problems:
            return "; ".join(problems) + (f"; the others are kept in {known.folder}" if len(spans) > 1 else "")
        told["frames"] = sum(one["done"]["frames"] for one in found)
        if len(spans) == 1 or self.is_part:
            return None
        problem = await self.attempted(lambda: self.assemble(source, known))
        told["quarantined"] = bool(problem)
        return problem

    async def attempted(self, work):
        """Work that is no segment's, until it tells no problem. Returns the problem of the last attempt, or None."""
        for _ in range(self.options.attempts):
            try:
                problem = await work()
            except OSError as error:
                problem = error.strerror or str(error)
            if not problem or self.queue.interrupted:
                return problem
        return f"quarantined after {self.options.attempts} attempts: {problem}"

    @property
    def is_part(self):
        """Whether outputs are for another command to finish."""
        return bool(self.options.plan or self.options.segment)

    def share(self, source, count):
        """Numbers of the segments of a file that are this run's to do."""
        mine, of = self.options.segment or (1, 1)
        return range((mine - 1 + self.options.inputs.index(source)) % of, count, of)

    async def plan(self, source, plan):
        """Fills in a plan (see cutting.py); returns what went wrong, or None."""
        if self.exact:
            plan |= {"why": "it was asked for", "spans": [None]}
            return None
        async with self.slot():
            return await processes.run(os.path.join(HERE, "cutting.py"), {
                "source": await self.queue.fetched(source), "seconds": self.options.segments, "warm_up": self.warm_up},
                lambda said: plan.update(said["plan"]), self.begun(source))

    def begun(self, name):
        """For processes.run: the process is one that an interruption ends."""
        return lambda process: self.queue.begun(name, process)

    async def segment(self, source, known, number, spans):
        """Attempts a segment until it is done or quarantined. Returns it as the manifest has it, `problem` more where
        it is not done."""
        try:
            before = known.segment(number)
            if await asyncio.to_thread(known.finished, number):
                self.progress.finish(source, number, before["done"]["frames"], by_earlier=True)
                return before
            if before["state"] != manifest.WAITING:  # fresh attempts; those of before stay told
                known.write(number, before | {"state": manifest.WAITING})
        except OSError as problem:
            return {"state": manifest.FAILED, "problem": problem.strerror or str(problem)}
        for _ in range(self.options.attempts):
            async with self.pending if self.cluster else self.slot() as slot:
                if self.queue.interrupted:
                    return before
                after = await self.attempt(self.task(source, known, number, spans[number], slot or 0), source, spans)
            if after["state"] == manifest.DONE:
                self.say_done(source, after, number, spans)
                self.progress.finish(source, number, after["done"]["frames"])
                return after
            if "problem" in after or self.queue.interrupted:
                return after
            self.progress.fail()
            self.screen.line(f"{source}: segment {number + 1} of {len(spans)} failed: {after['problems'][-1]}",
                             sys.stderr)
        after |= {"state": manifest.QUARANTINED}
        with contextlib.suppress(OSError):  # where it cannot be written, it waits
            known.write(number, after)
        return after | {"problem": f"quarantined after {self.options.attempts} attempts: {after['problems'][-1]}"}

    async def attempt(self, task, source, spans):
        """As attempts.attempt. An attempt counts, too, where the folder or the storage of outputs fails."""
        number = task["number"]

        def heard(said):
            if "progress" in said:
                self.progress.hear(source, number, said["progress"]["frame"], said["progress"]["of"])

        try:
            if not self.cluster:
                return await attempts.attempt(task, heard, self.begun((source, number)), lambda: self.queue.interrupted)
            shown = f"{os.path.basename(source)} {number + 1} of {len(spans)}"
            # Ray shows a task the GPUs that it may use, and counts processors.
            task["settings"] |= {"device": -1, "threads": max(1, math.ceil(self.options.cpus_per_task))}
            after = await self.cluster.attempt(task, shown, lambda: self.queue.interrupted)
            await asyncio.to_thread(attempts.manifest_of(task).pull, number)
            return after
        except OSError as problem:
            return attempts.failed(attempts.manifest_of(task).segment(number), problem.strerror or str(problem))

    def task(self, source, known, number, span, slot):
        """See attempts.attempt."""
        settings = self.queue.settings(source, slot)
        program = "job.py"
        if len(known.spans) > 1:
            program = "segment.py"
            settings |= {"span": span, "probed": known.plan.get("probed")}
        return {"source": source if storage.is_address(source) else os.path.abspath(source), "outputs": known.outputs,
                "store": known.store and known.store.address, "number": number, "settings": settings,
                "keep": not self.cluster and not self.options.segment,
                "program": os.path.join(HERE, program), "wrapper": []}

    def say_done(self, source, segment, number, spans):
        for note in segment["notes"]:
            if note not in self.files[source].setdefault("notes", []):
                self.files[source]["notes"].append(note)
                self.screen.line(f"{source}: note: {note}", sys.stderr)
        if len(spans) == 1:
            self.screen.hear(source, {"done": segment["done"]}, self.queue.names(source))

    async def assemble(self, source, known):
        """Joins segments."""
        if known.store:  # whose files other machines may have made
            for number in range(len(known.spans)):
                if not await asyncio.to_thread(known.finished, number):
                    return f"segment {number + 1} of {len(known.spans)} has changed since it was written: run the same command again"

        def heard(said):
            if "done" in said:
                said["done"]["seconds"] = time.time() - self.files[source]["began"]
            self.screen.hear(source, said, known.outputs.values())

        settings = self.queue.settings(source, 0) | {
            "source": await self.queue.fetched(source), "outputs": known.outputs, "filter": "identity",
            "probed": known.plan.get("probed")}
        async with self.slot():
            return await processes.run(os.path.join(HERE, "assembly.py"), settings, heard,
                                       self.begun(source))

    def note(self, source, problem):
        """How a file ended."""
        self.progress.end(source)
        known = self.files.setdefault(source, {})
        known["state"] = "failed" if problem else "done" if "segments" in known else "skipped"
        if known.pop("quarantined", 0):
            known["state"] = manifest.QUARANTINED
        if problem:
            known["problem"] = problem

    def summarise(self):
        """Writes summary.json."""
        self.screen.forget("")
        if self.is_part:
            return
        states = [told["state"] for told in self.files.values()]
        counts = {state: states.count(state) for state in sorted(set(states))}
        seconds = time.time() - self.began
        frames = sum(told.get("frames", 0) for told in self.files.values())
        inputs = {source: self.files[source] for source in self.options.inputs if source in self.files}
        path = os.path.join(self.options.out, status.SUMMARY)
        manifest.write_json(path, {
            "files": counts, "began": self.began, "seconds": round(seconds, 1), "frames": frames, "inputs": inputs})
        if self.queue.store:
            self.queue.store.publish([path])
