"""Decides which inputs and segments are processed when. Queue processes inputs, and Archive processes the segments of an
input (regions-transcode --segments). The state of segments is in manifests on disk. If any process dies, the same command
continues the work."""

import asyncio
import contextlib
import ctypes
import math
import os
import signal
import sys
import time

from files import explain, partial_name
from transcode import cluster, ffprobe, manifest, processes, storage
from transcode.profiles import EXPORTS, PROFILES
from transcode.progress import SUMMARY, Progress, Screen, complain

FILES_OF_CLUSTER = 16  # files whose segments a cluster gets at the same time
MOST_PENDING = 1000  # maximum number of tasks submitted to a cluster at the same time


def outputs_of(source, options):
    """Returns the paths of the outputs of an input by kind: "video", "jsonl", "labels", …."""
    stem = os.path.join(options.out, os.path.splitext(os.path.basename(source))[0])
    outputs = {"video": stem + PROFILES[options.profile].suffix}
    outputs |= {kind: stem + EXPORTS[kind] for kind in options.export}
    if options.events:
        outputs["events"] = stem + ".events.jsonl"
    if options.labels:
        outputs["labels"] = stem + ".labels.mkv"
    return outputs


def in_segments(options):
    """Whether the command line requests a manifest: inputs in segments, or each input as one segment."""
    return options.segments is not None or options.exact


def cuda_devices():
    """The number of CUDA devices, from the driver: through GStreamer, this process would hold a context on one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    usable = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    return count.value if usable else 0


def device_for(slot, devices):
    """Jobs that run at the same time are spread over the devices. -1 leaves the choice to the elements."""
    return slot % devices if devices > 1 else -1


class Queue:
    """Processes the inputs of a command, some at the same time."""

    def __init__(self, options, version, warm_up=0, cluster=None):
        self.options, self.version = options, version
        self.store, self.copies = options.store, {}
        self.screen = Screen("regions-transcode")
        if self.store:
            self.screen.names[self.store.folder] = self.store.address
        self.waiting = list(reversed(options.inputs))
        self.running = {}  # process by input
        self.devices = cuda_devices()
        self.failed = []
        self.interrupted = False
        self.archive = Archive(self, warm_up, cluster) if in_segments(options) else None

    async def run(self):
        """Processes all inputs. Returns the exit status."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.interrupt)
        await asyncio.gather(*(self.work(slot) for slot in range(self.at_once())))
        if self.archive:
            self.archive.summarise()
        if self.interrupted:
            complain("interrupted; finished files stay, and the same command goes on")
            return 130
        if self.failed:
            complain(f"{len(self.failed)} of {len(self.options.inputs)} inputs failed: {', '.join(self.failed)}")
        return 1 if self.failed else 0

    def at_once(self):
        """The number of inputs in progress. One more than jobs: segments of the next file use the jobs that the last segments
        of a file leave idle."""
        return self.options.jobs + (FILES_OF_CLUSTER if self.options.cluster is not None else bool(self.archive))

    def interrupt(self):
        """First Ctrl-C: jobs stop and remove their files. Second: jobs are killed."""
        for process in self.running.values():
            if process.returncode is None:
                process.kill() if self.interrupted else process.send_signal(signal.SIGINT)
        self.interrupted = True

    async def work(self, slot):
        while self.waiting and not self.interrupted:
            source = self.waiting.pop()
            problem = self.screen.meant(await self.do(source, outputs_of(source, self.options), slot))
            self.screen.forget(source)
            if self.archive:
                self.archive.note(source, problem)
            if problem and not self.interrupted:
                self.failed.append(source)
                self.screen.hear(source, {"problem": problem})

    async def do(self, source, outputs, slot):
        """Makes the outputs of an input unless they exist. Returns the problem, or None."""
        video = outputs["video"]
        if problem := await asyncio.to_thread(storage.refusal, source):
            return problem
        try:
            # Workers share an output: each writes segments of it.
            with (contextlib.nullcontext() if self.options.segment else manifest.locked(video),
                  storage.Copy(source) as self.copies[source]):
                if storage.is_address(source):
                    self.screen.names[self.copies[source].path] = source
                if self.store:
                    await asyncio.to_thread(self.store.fetch, manifest.record_path(video))
                made = manifest.wanted_record(source, outputs, self.options, self.version)
                going_on = self.archive and self.archive.goes_on(outputs, made)
                if not self.options.force and not going_on and (
                        self.store.exists if self.store else os.path.lexists)(video):
                    if differs := await asyncio.to_thread(manifest.record_difference, video, source, made):
                        return f"{video} exists, but {differs}; --force writes it again"
                    self.screen.line(f"{source}: skipped: {video} exists")
                    return None
                if self.archive:
                    problem = await self.archive.transcode(source, outputs, made)
                else:
                    problem = await self.transcode(source, outputs, slot)
                if not (self.archive and self.archive.is_part):
                    await self.finish(source, outputs, made, problem)
                return problem
        except manifest.Busy as busy:
            return str(busy)
        except OSError as error:
            return explain(error)

    async def finish(self, source, outputs, made, problem):
        """Publishes the outputs, the video last, and then writes their record."""
        if self.store:
            whole = sorted(outputs.values(), key=lambda path: path == outputs["video"])
            await asyncio.to_thread(self.store.publish, map(partial_name, whole) if problem else whole, False)
        if problem:
            return
        known = manifest.record_path(outputs["video"])
        content = await asyncio.to_thread(manifest.checksum, self.copies[source].here)
        await asyncio.to_thread(manifest.write_json, known, made | {"content": content})
        if self.store:
            await asyncio.to_thread(self.store.publish, [known])
        if self.archive:
            await asyncio.to_thread(manifest.Manifest(outputs, self.store).remove)

    async def fetched(self, source):
        """The path of an input on this machine."""
        return await asyncio.to_thread(self.copies[source].fetch)

    def settings(self, source, slot):
        """The settings of a job, except its input and outputs."""
        return {"filter": self.options.filter, "profile": self.options.profile,
                "device": device_for(slot, self.devices), "with_sound": not self.options.no_sound,
                "accept_partial": self.options.accept_partial
                } | ({"rules": self.options.rules_text} if self.options.events else {})

    async def looked(self, source, here):
        """The setting of a job with ffprobe's description of its input at the path `here`. Empty if no call of ffprobe has begun:
        the job calls it."""
        if call := self.options.looks.pop(source, None):
            with contextlib.suppress(ffprobe.InputProblem):
                return {"probed": await asyncio.to_thread(ffprobe.look, here, call)}
        return {}

    def begun(self, name, process):
        self.running[name] = process
        if self.interrupted:
            process.send_signal(signal.SIGINT)

    def names(self, source):
        return outputs_of(source, self.options).values()

    async def transcode(self, source, outputs, slot):
        """Runs one job. Returns the problem, or None."""
        here = await self.fetched(source)
        settings = self.settings(source, slot) | {"source": here, "outputs": outputs} | await self.looked(source, here)
        return await processes.run("file", settings,
                                   lambda message: self.screen.hear(source, message, outputs.values()),
                                   lambda process: self.begun(source, process))


class Archive:
    """Processes inputs in segments, each up to --attempts times."""

    def __init__(self, queue, warm_up, cluster=None):
        """`queue`: the Queue of regions-transcode. `warm_up`: the filter's warm-up in seconds, or None if the filter
        does not allow segments. `cluster`: a cluster.Cluster, or None to process segments on this machine."""
        self.cluster = cluster
        self.pending = asyncio.Semaphore(MOST_PENDING)  # limits the tasks submitted to the cluster
        self.queue, self.options, self.screen = queue, queue.options, queue.screen
        self.warm_up = self.options.warm_up if self.options.warm_up is not None else warm_up
        self.exact = self.options.exact or self.warm_up is None
        self.slots = asyncio.Queue()
        for slot in range(self.options.jobs):
            self.slots.put_nowait(slot)
        self.files = {}  # by source: the entry in summary.json
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
        """Returns the settings that a plan must have to be reused: `made` (from manifest.wanted_record) plus segment
        settings."""
        how = {"segments": self.options.segments, "warm-up": self.warm_up} if not self.exact else {"segments": None}
        return made | how

    def goes_on(self, outputs, made):
        """Whether an earlier run began this output with the same settings."""
        known = manifest.Manifest(outputs, self.queue.store)
        known.pull()
        return bool(known.spans) and not known.difference(self.made(made))

    async def transcode(self, source, outputs, made):
        """Makes the outputs of a file. Returns the problem, or None."""
        outputs = {kind: os.path.abspath(path) for kind, path in outputs.items()}
        known, made = manifest.Manifest(outputs, self.queue.store), self.made(made)
        entry = self.files[source] = {"began": time.time(), "segments": 0, "attempts": 0, "frames": 0}
        differs = known.difference(made)
        if self.options.segment and differs:
            return f"its plan was made with other settings ({differs}): run the same command with --plan again"
        if self.options.segment and not known.spans:
            return "it has no plan: run the same command with --plan first"
        if differs:
            self.screen.line(f"{source}: starts again from the beginning, because settings changed: {differs}",
                             sys.stderr)
        if (self.options.force and not self.options.segment) or differs or not known.spans:
            plan = {}
            if problem := await self.attempted(lambda: self.plan(source, plan)):
                entry["quarantined"] = 1
                return problem
            if plan["why"] and not self.exact:
                self.screen.line(f"{source}: note: not cut into segments: {plan['why']}", sys.stderr)
            known.begin(made, plan)
        known.tidy()
        spans = known.spans
        entry["segments"] = len(spans)
        self.progress.begin(source, spans)
        if self.options.plan:
            self.screen.line(f"{source}: {len(spans)} segment{'s' * (len(spans) > 1)}")
            return None
        found = await asyncio.gather(*(self.segment(source, known, number, spans)
                                       for number in self.share(source, len(spans))))
        entry["attempts"] = sum(one["attempts"] for one in found if "attempts" in one)
        problems = [f"segment {number + 1} of {len(spans)}: {one['problem']}" if len(spans) > 1 else one["problem"]
                    for number, one in zip(self.share(source, len(spans)), found) if "problem" in one]
        entry["quarantined"] = sum(one["state"] == manifest.QUARANTINED for one in found)
        if self.queue.interrupted:
            return "interrupted"
        if problems:
            return "; ".join(problems) + (f"; finished segments are kept in {known.folder}" if len(spans) > 1 else "")
        entry["frames"] = sum(one["done"]["frames"] for one in found)
        if len(spans) == 1 or self.is_part:
            return None
        problem = await self.attempted(lambda: self.assemble(source, known))
        entry["quarantined"] = bool(problem)
        return problem

    async def attempted(self, work):
        """Repeats planning or joining until it succeeds, at most --attempts times. Returns the problem of the last
        attempt, or None."""
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
        """Whether another command finishes the outputs, because of --plan or --segment."""
        return bool(self.options.plan or self.options.segment)

    def share(self, source, count):
        """The numbers of a file's segments that this command processes: all, or the share of --segment K/N."""
        mine, of = self.options.segment or (1, 1)
        return range((mine - 1 + self.options.inputs.index(source)) % of, count, of)

    async def plan(self, source, plan):
        """Fills in a plan (see segments.plan). Returns the problem, or None."""
        if self.exact:
            plan |= {"why": "one segment per file was requested (--exact) or the filter requires it", "spans": [None]}
            return None
        async with self.slot():
            here = await self.queue.fetched(source)
            return await processes.run("plan", {
                "source": here, "seconds": self.options.segments, "warm_up": self.warm_up
                } | await self.queue.looked(source, here), lambda said: plan.update(said["plan"]), self.begun(source))

    def begun(self, name):
        """Returns a callback for processes.run that registers the process, so that an interruption ends it."""
        return lambda process: self.queue.begun(name, process)

    async def segment(self, source, known, number, spans):
        """Attempts a segment until it is done or quarantined. Returns its state as in the manifest, with an additional
        `problem` if it is not done."""
        try:
            before = known.segment(number)
            if await asyncio.to_thread(known.finished, number):
                self.progress.finish(source, number, before["done"]["frames"], by_earlier=True)
                return before
            if before["state"] != manifest.WAITING:  # this run attempts it again; earlier problems stay recorded
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
        with contextlib.suppress(OSError):  # if the state cannot be written, the segment stays waiting
            known.write(number, after)
        return after | {"problem": f"quarantined after {self.options.attempts} attempts: {after['problems'][-1]}"}

    async def attempt(self, task, source, spans):
        """Calls cluster.attempt, here or on the cluster. An error of the output folder or storage counts as a failed
        attempt."""
        number = task["number"]

        def heard(said):
            if "progress" in said:
                self.progress.hear(source, number, said["progress"]["frame"], said["progress"]["of"])

        try:
            if not self.cluster:
                return await cluster.attempt(task, heard, self.begun((source, number)), lambda: self.queue.interrupted)
            shown = f"{os.path.basename(source)} {number + 1} of {len(spans)}"
            # Ray makes only the assigned GPUs visible to a task. It counts CPU cores but does not limit threads.
            task["settings"] |= {"device": -1, "threads": max(1, math.ceil(self.options.cpus_per_task))}
            after = await self.cluster.attempt(task, shown, lambda: self.queue.interrupted)
            await asyncio.to_thread(cluster.manifest_of(task).pull, number)
            return after
        except OSError as problem:
            return cluster.failed(cluster.manifest_of(task).segment(number), problem.strerror or str(problem))

    def task(self, source, known, number, span, slot):
        """Returns the `task` for cluster.attempt."""
        settings = self.queue.settings(source, slot)
        kind = "file"
        if len(known.spans) > 1:
            kind = "segment"
            settings |= {"span": span, "probed": known.plan.get("probed")}
        return {"source": source if storage.is_address(source) else os.path.abspath(source), "outputs": known.outputs,
                "store": known.store and known.store.address, "number": number, "settings": settings,
                "keep": not self.cluster and not self.options.segment,
                "kind": kind, "wrapper": []}

    def say_done(self, source, segment, number, spans):
        for note in segment["notes"]:
            if note not in self.files[source].setdefault("notes", []):
                self.files[source]["notes"].append(note)
                self.screen.line(f"{source}: note: {note}", sys.stderr)
        if len(spans) == 1:
            self.screen.hear(source, {"done": segment["done"]}, self.queue.names(source))

    async def assemble(self, source, known):
        """Joins the segments. Returns the problem, or None."""
        if known.store:  # other machines may have made the segments: check the checksums again
            for number in range(len(known.spans)):
                if not await asyncio.to_thread(known.finished, number):
                    return (f"segment {number + 1} of {len(known.spans)} does not match its checksum any more:"
                            " run the same command again")

        def heard(said):
            if "done" in said:
                said["done"]["seconds"] = time.time() - self.files[source]["began"]
            self.screen.hear(source, said, known.outputs.values())

        settings = self.queue.settings(source, 0) | {
            "source": await self.queue.fetched(source), "outputs": known.outputs, "filter": "identity",
            "probed": known.plan.get("probed")}
        async with self.slot():
            return await processes.run("join", settings, heard, self.begun(source))

    def note(self, source, problem):
        """Records the final state of a file for summary.json."""
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
        states = [entry["state"] for entry in self.files.values()]
        counts = {state: states.count(state) for state in sorted(set(states))}
        seconds = time.time() - self.began
        frames = sum(entry.get("frames", 0) for entry in self.files.values())
        inputs = {source: self.files[source] for source in self.options.inputs if source in self.files}
        path = os.path.join(self.options.out, SUMMARY)
        manifest.write_json(path, {
            "files": counts, "began": self.began, "seconds": round(seconds, 1), "frames": frames, "inputs": inputs})
        if self.queue.store:
            self.queue.store.publish([path])
