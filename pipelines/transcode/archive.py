"""Files in segments: what regions-transcode does where it is to cut them. The truth is in manifests on disk; whatever
dies, the same command goes on."""

import argparse
import asyncio
import contextlib
import os
import sys
import time

import attempts
import manifest
import processes
import storage

MOST_PENDING = 1000  # tasks that a cluster is given at once
HERE = os.path.dirname(os.path.abspath(__file__))


def add_options(parser):
    group = parser.add_argument_group("long files and archives")
    group.add_argument("--segments", type=float, metavar="SECONDS",
                       help="cut inputs at key frames into segments of about so many seconds, and work on -j of them at"
                       " once; what is finished is not repeated when the same command runs again; 60 suits most")
    group.add_argument("--warm-up", type=float, metavar="SECONDS",
                       help="seconds before a segment that its filter learns from; default: 0 for filters that learn"
                       " nothing, else 20")
    group.add_argument("--cluster", nargs="?", const="", metavar="ADDRESS",
                       help="spread segments over a cluster of Ray; without an address over one started here, which only"
                       " this machine reaches")
    group.add_argument("--cpus-per-task", type=float, default=1, metavar="N", help="of a segment on a cluster; default: 1")
    group.add_argument("--gpus-per-task", type=float, default=0, metavar="N",
                       help="of a segment on a cluster, which may be a fraction; default: 0")
    group.add_argument("--memory-per-task", type=float, default=0, metavar="GIB",
                       help="of a segment on a cluster; default: 0, which reserves none")
    group.add_argument("--plan", action="store_true", help="only cut the inputs, for workers")
    group.add_argument("--segment", metavar="K/N", type=share, help="work on the K-th of N shares of planned segments,"
                       " K from 1 on: N such commands may run anywhere at once; the command without it joins what they"
                       " made, and makes what is missing")
    group.add_argument("--status", action="store_true", help="tell how far the job in DIR is; wants -o alone")
    group.add_argument("--exact", action="store_true", help="take each input as one segment")
    group.add_argument("--attempts", type=int, default=3, metavar="N",
                       help="how often a segment may fail in a run before it is quarantined, and the rest goes on;"
                       " default: 3")


def share(text):
    """K/N as numbers."""
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts) or not 1 <= int(parts[0]) <= int(parts[1]):
        raise argparse.ArgumentTypeError(f"'{text}' is not K/N with K from 1 to N")
    return int(parts[0]), int(parts[1])


def is_wanted(options):
    return options.segments is not None or options.exact


def refusal(options):
    """Why what was asked for of segments cannot be, or None."""
    if options.segments is not None and not 0 < options.segments < float("inf"):
        return f"--segments wants a number of seconds above 0, not {options.segments:g}"
    if options.warm_up is not None and not 0 <= options.warm_up < float("inf"):
        return f"--warm-up wants a number of seconds from 0 on, not {options.warm_up:g}"
    if options.attempts < 1:
        return f"--attempts wants a number from 1 on, not {options.attempts}"
    if (options.plan or options.segment) and not is_wanted(options):
        return "--plan and --segment are of segments: say --segments, too"
    if options.cluster is not None and (not is_wanted(options) or options.plan or options.segment):
        return "--cluster is of segments, and spreads all of them: say --segments, and neither --plan nor --segment"
    if not all(0 <= one < float("inf") for one in (options.cpus_per_task, options.gpus_per_task, options.memory_per_task)):
        return "--cpus-per-task, --gpus-per-task and --memory-per-task want numbers from 0 on"
    if options.gpus_per_task > 1 and options.gpus_per_task % 1:
        return f"--gpus-per-task wants a fraction below 1 or a whole number, not {options.gpus_per_task:g}"
    if options.plan and options.segment:
        return "--plan is for one command before all with --segment"
    if options.warm_up is not None and options.segments is None:
        return "--warm-up is of segments: say --segments, too"
    return None


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
        self.frames = {}  # by source and segment, frames that are done
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
            return f"is not planned so: {differs or 'run the same command with --plan first'}"
        if differs:
            self.screen.line(f"{source}: is begun anew: {differs}", sys.stderr)
        if (self.options.force and not self.options.segment) or differs or not known.spans:
            plan = await self.plan(source)
            if "problem" in plan:
                return plan["problem"]
            if plan["why"] and not self.exact:
                self.screen.line(f"{source}: note: is one segment: {plan['why']}", sys.stderr)
            known.begin(made, plan)
        known.tidy()
        spans = known.spans
        told["segments"] = len(spans)
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
        return await self.assemble(source, known) if len(spans) > 1 and not self.is_part else None

    @property
    def is_part(self):
        """Whether outputs are for another command to finish."""
        return bool(self.options.plan or self.options.segment)

    def share(self, source, count):
        """Numbers of the segments of a file that are this run's to do."""
        mine, of = self.options.segment or (1, 1)
        return range((mine - 1 + self.options.inputs.index(source)) % of, count, of)

    async def plan(self, source):
        if self.exact:
            return {"why": "it was asked for", "spans": [None]}
        made = {}
        async with self.slot():
            problem = await processes.run(os.path.join(HERE, "cutting.py"), {
                "source": await self.queue.fetched(source), "seconds": self.options.segments, "warm_up": self.warm_up},
                made.update, self.begun(source))
        return {"problem": problem} if problem else made["plan"]

    def begun(self, name):
        """For processes.run: the process is one that an interruption ends."""
        return lambda process: self.queue.begun(name, process)

    async def segment(self, source, known, number, spans):
        """Attempts a segment until it is done or quarantined. Returns it as the manifest has it, `problem` more where
        it is not done."""
        name, span = (source, number), spans[number]
        if await asyncio.to_thread(known.finished, number):
            self.count(source, name, known.segment(number)["done"]["frames"], spans)
            return known.segment(number)
        before = known.segment(number)
        if before["state"] != manifest.WAITING:  # fresh attempts; those of before stay told
            known.write(number, before | {"state": manifest.WAITING})
        for _ in range(self.options.attempts):
            async with self.pending if self.cluster else self.slot() as slot:
                if self.queue.interrupted:
                    return before
                task = self.task(source, known, number, span, slot or 0)
                after = await self.attempt(task, name, spans)
            if after["state"] == manifest.DONE:
                self.say_done(source, after, number, spans)
                self.count(source, name, after["done"]["frames"], spans)
                return after
            if "problem" in after or self.queue.interrupted:
                return after
            self.screen.line(f"{source}: segment {number + 1} of {len(spans)} failed: {after['problems'][-1]}",
                             sys.stderr)
        known.write(number, after | {"state": manifest.QUARANTINED})
        return after | {"state": manifest.QUARANTINED, "problem":
                        f"quarantined after {self.options.attempts} attempts: {after['problems'][-1]}"}

    async def attempt(self, task, name, spans):
        def heard(said):
            if "progress" in said:
                self.count(name[0], name, said["progress"]["frame"], spans)

        if self.cluster:
            shown = f"{os.path.basename(name[0])} {name[1] + 1} of {len(spans)}"
            task["settings"]["device"] = -1  # Ray shows a task the GPUs that it may use
            after = await self.cluster.attempt(task, shown, lambda: self.queue.interrupted)
            await asyncio.to_thread(attempts.manifest_of(task).pull, task["number"])
            return after
        return await attempts.attempt(task, heard, self.begun(name), lambda: self.queue.interrupted)

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

    def count(self, source, name, frames, spans):
        self.frames[name] = frames
        total = sum(span["packets"] for span in spans) if len(spans) > 1 else 0
        done = sum(count for (of, _), count in self.frames.items() if of == source)
        self.screen.show(source, done, total, done / max(time.time() - self.began, 1e-3))

    async def assemble(self, source, known):
        """Joins segments."""
        if known.store:  # whose files other machines may have made
            for number in range(len(known.spans)):
                if not await asyncio.to_thread(known.finished, number):
                    return f"segment {number + 1} of {len(known.spans)} is not as it was written; run this again"

        def heard(said):
            if "done" in said:
                said["done"]["seconds"] = time.time() - self.files[source]["began"]
            self.screen.hear(source, said, known.outputs.values())

        settings = self.queue.settings(source, 0) | {
            "source": await self.queue.fetched(source), "outputs": known.outputs, "filter": "identity"}
        async with self.slot():
            return await processes.run(os.path.join(HERE, "assembly.py"), settings, heard,
                                       self.begun(source))

    def note(self, source, problem):
        """How a file ended."""
        known = self.files.setdefault(source, {})
        known["state"] = "failed" if problem else "done" if "segments" in known else "skipped"
        if known.pop("quarantined", 0):
            known["state"] = manifest.QUARANTINED
        if problem:
            known["problem"] = problem

    def summarise(self):
        """Writes summary.json."""
        if self.is_part:
            return
        states = [told["state"] for told in self.files.values()]
        counts = {state: states.count(state) for state in sorted(set(states))}
        seconds = time.time() - self.began
        frames = sum(told.get("frames", 0) for told in self.files.values())
        path = os.path.join(self.options.out, "summary.json")
        manifest.write_json(path, {
            "files": counts, "seconds": round(seconds, 1), "frames": frames, "inputs": self.files})
        if self.queue.store:
            self.queue.store.publish([path])
