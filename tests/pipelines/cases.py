"""Test cases that run programs of pipelines/ in the test's own process, where they start at once and their parts can be
replaced, or as processes where isolation matters."""

import asyncio
import collections
import contextlib
import json
import os
import pathlib
import re
import runpy
import signal
import sys
import tempfile
import time
import traceback
import unittest.mock
import warnings

import media
import numpy

if (preload := os.environ.get("REGIONS_PRELOAD")) and "LD_PRELOAD" not in os.environ:
    # A plugin with sanitizers requires that their library is loaded first, as in pipelines/with-plugin.
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {
        "LD_PRELOAD": preload, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"})
sys.path.insert(0, str(media.ROOT / "pipelines"))
os.environ["REGIONS_ENVIRONMENT"] = "1"  # the plugin is in the path that the test was given
import gstreamer  # noqa: E402  (after the path)
import objects  # noqa: E402
from transcode import command, command_line, ffprobe, job, processes, profiles, run_job, scheduling  # noqa: E402

PROGRAM = media.ROOT / "pipelines" / "transcode" / "regions-transcode"
Said = collections.namedtuple("Said", "status out err")
PLAIN = "testsrc2=size=64x48:rate=25:duration=0.4"
LABELLED = "cclabel min-area=4 output=none"
UNTOUCHED = "cclabel output=none"
DRAWN = "cclabel min-area=100 output=none ! regionoverlay"
# 80 frames in segments of 20, 20 and 40 frames, see SEGMENTS.
FRAMES = 80
SMALL = f"testsrc2=size=64x48:rate=25:duration={FRAMES / 25}"
KEYS = ("-pix_fmt", "yuv420p", "-force_key_frames", "0,0.8,1.6")
SEGMENTS = ("--segments", "0.7", "-j", "2")


class Case(unittest.TestCase):
    maxDiff = None
    within = None  # the folder that holds the test's own folder; None: the folder of temporary files

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self.within)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def files(self, folder=None):
        return sorted(path.name for path in (folder or self.folder).iterdir())

    def clip(self, name, source=PLAIN, *options):
        return media.make(self.folder / name, source, *options)

    def replace(self, of, name, value):
        patch = unittest.mock.patch.object(of, name, value)
        patch.start()
        self.addCleanup(patch.stop)
        return value

    def give_contexts(self):
        """From here on all caps give contexts."""
        given = gstreamer.Gst.Caps.get_structure

        def get_structure(caps, number):
            found = given(caps, number)
            return found if hasattr(found, "__enter__") else Context(found)
        self.replace(gstreamer.Gst.Caps, "get_structure", get_structure)


class Context:
    """A structure of caps as the Python bindings of GStreamer 1.26 return it."""

    def __init__(self, structure):
        self.structure = structure

    def __enter__(self):
        return self.structure

    def __exit__(self, *_):
        pass


@contextlib.contextmanager
def restored():
    """Restores handlers, hooks, arguments and timers that a program changes in its process."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)}
    hook, arguments, timers = sys.excepthook, sys.argv, []
    add = gstreamer.GLib.timeout_add

    def added(*what):
        timers.append(add(*what))
        return timers[-1]

    removed = gstreamer.GLib.source_remove

    def remove(timer):
        if timer in timers:  # PyGObject has its own timers
            timers.remove(timer)
        return removed(timer)

    try:
        with (unittest.mock.patch.object(gstreamer.GLib, "timeout_add", added),
              unittest.mock.patch.object(gstreamer.GLib, "source_remove", remove)):
            yield
    finally:
        for timer in timers:
            removed(timer)
        sys.excepthook, sys.argv = hook, arguments
        for number, handler in handlers.items():
            signal.signal(number, handler)


def called(call, *arguments):
    """The result or exit status of a call, and its standard output and error."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, restored(), warnings.catch_warnings():
        # unittest makes Python print deprecation warnings; a program does not.
        warnings.simplefilter("ignore", DeprecationWarning)
        kept = [os.dup(fd) for fd in (1, 2)]
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            # Python's own streams belong to the test, and may be no file.
            with (open(1, "w", closefd=False, encoding="utf-8", errors="backslashreplace") as sys.stdout,
                  open(2, "w", closefd=False, encoding="utf-8", errors="backslashreplace") as sys.stderr):
                try:
                    status = call(*arguments)
                except SystemExit as end:
                    status = end.code
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
            for fd, was in zip((1, 2), kept):
                os.dup2(was, fd)
                os.close(was)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
        return Said(status, *texts)


def program(path, *arguments):
    """Runs a script of pipelines/ in this process, as called() does."""
    def run():
        sys.argv = [str(path), *map(text_of, arguments)]
        sys.modules.pop("script", None)  # it stores the program's name
        runpy.run_path(str(path), run_name="__main__")

    return called(run)


def text_of(word):
    """A word of a command line, which may be a path, bytes or a number."""
    return os.fsdecode(word) if isinstance(word, (os.PathLike, bytes)) else str(word)


def script(name, *arguments, status=0):
    """Runs a script of pipelines/ in this process. Returns its standard output and error."""
    said = program(media.script(name), *arguments)
    if (said.status or 0) != status:
        raise AssertionError(f"{name} {arguments} ended with {said.status}, not {status}\n{said.out}{said.err}")
    return said.out + said.err


def wait_until(happened):
    """For streaming threads: the program's main thread goes on meanwhile."""
    end = time.monotonic() + 10 * media.PATIENCE
    while not happened() and time.monotonic() < end:
        time.sleep(0.01)


def x264_settings(path):
    """The settings that the encoder x264 writes into its stream."""
    text = re.search(rb"x264 - core .*? options: ([^\x80\x00]+)", path.read_bytes())[1].decode()
    return dict(option.split("=", 1) for option in text.split() if "=" in option)


def notes(messages):
    return [message["note"] for message in messages if "note" in message]


LOOKED = {}  # results of look()


def look(path, ask=ffprobe.look):
    """ffprobe's description of an input, which all jobs on it share. None if the job is to report the problem."""
    if not os.path.isfile(path):
        return None
    with contextlib.suppress(ffprobe.InputProblem):
        status = os.stat(path)
        key = str(path), status.st_mtime_ns, status.st_size
        if key not in LOOKED:
            LOOKED[key] = ask(str(path))
        return LOOKED[key]
    return None


class JobCase(Case):
    """Jobs in the test's own process."""

    def setUp(self):
        super().setUp()
        self.out.mkdir()

    def job(self, source, *kinds, filter=LABELLED, profile="mp4", status=0, kind=job.Job, **settings):
        """Runs a job of class `kind`. Returns its messages."""
        names = {"video": "out" + profiles.PROFILES[profile].suffix, "jsonl": "out.jsonl", "labels": "out.labels.mkv"}
        self.outputs = {kind: str(self.out / names[kind]) for kind in kinds or ("video",)}
        settings |= {"source": str(source), "outputs": self.outputs, "filter": filter, "profile": profile}
        settings.setdefault("probed", look(source))
        with tempfile.TemporaryFile("w+") as channel:
            said = called(job.main, os.dup(channel.fileno()), json.dumps(settings), kind)
            channel.seek(0)
            lines = list(channel)
        self.errors = said.err
        self.assertEqual(said.status, status, "".join(lines) + said.err)
        return [json.loads(line) for line in lines]

    def problem(self, *arguments, status=1, **settings):
        """The problem of a job that fails and leaves nothing."""
        messages = self.job(*arguments, status=status, **settings)
        self.assertEqual(self.files(self.out), [])
        self.assertEqual([one for one in messages if "done" in one], [])
        problem, = [one["problem"] for one in messages if "problem" in one]
        return problem

    def partial(self, *arguments, **settings):
        """The problem of a job whose input is not whole. Removes the partial outputs."""
        messages = self.job(*arguments, status=1, **settings)
        self.assertEqual(self.files(self.out), sorted(".partial".join(os.path.splitext(os.path.basename(path)))
                                                      for path in self.outputs.values()))
        for path in self.out.iterdir():
            path.unlink()
        problem, = [one["problem"] for one in messages if "problem" in one]
        self.assertIn("--accept-partial", problem)
        return problem

    def video(self):
        return pathlib.Path(self.outputs["video"])

    def half_done(self, **state):
        """A job after the work of its pipeline."""
        one = job.Job("in", {}, None, None, lambda **_: None)
        one.input = unittest.mock.Mock(length=0, start=0, rate=25, picture={"codec_name": "ffv1"}, format={})
        one.decoder = unittest.mock.Mock(frames=1, rate=25, problem=None, damaged=0, has_ended_without_frame=False)
        one.frames = 1
        for name, value in state.items():
            setattr(one, name, value)
        return one


async def run_here(kind, settings, hear, _begun=None, _wrapper=()):
    """Replaces processes.run: runs a job in this process."""
    if kind == "file":
        settings = settings | {"probed": look(settings["source"])}
    with tempfile.TemporaryFile() as channel:
        try:
            status = run_job.run(os.dup(channel.fileno()), kind, json.dumps(settings))
        except Exception:  # any exception is a fault of the program
            return traceback.format_exc()
        channel.seek(0)
        lines = [json.loads(line) for line in channel]
    await asyncio.sleep(0)
    problem = None
    for said in lines:
        if "problem" in said:
            problem = said["problem"]
        elif "part" not in said:
            hear(said)
    return problem or (f"the job ended with status {status}" if status else None)


class TranscodeCase(Case):
    """regions-transcode in the test's own process, with its jobs, unless the test needs processes."""

    def transcode(self, *arguments, status=0, chain=UNTOUCHED, out=None, **options):
        """Runs the program. Returns its standard output and error. `options` of subprocess.run make it a process."""
        words = ["-o", out or self.out, "--filter", chain, *arguments]
        if options:
            return self.run_program(*words, status=status, **options)
        with (unittest.mock.patch.object(processes, "run", run_here),
              unittest.mock.patch.object(scheduling, "cuda_devices", lambda: 0)):
            said = called(lambda: command.main(command_line.parse([text_of(word) for word in words])))
        if said.status != status:
            raise AssertionError(f"{words} ended with {said.status}, not {status}\n{said.out}{said.err}")
        return said.out + said.err

    def run_program(self, *words, status=0, **options):
        """Runs the program as a process."""
        return media.run(PROGRAM, *words, status=status, **options)

    def segments(self, *arguments, **options):
        return self.transcode(*arguments, *SEGMENTS, "--json", **options)

    def status(self, status):
        """The output of --status, which ends with an exit status."""
        said = called(lambda: command.main(command_line.parse(["-o", str(self.out), "--status"])))
        self.assertEqual(said.status, status, said.out + said.err)
        return said.out + said.err

    def summary(self):
        return json.loads((self.out / "summary.json").read_text())

    def written(self):
        """The names of all outputs, without their records and without locks of killed runs."""
        return sorted(path.name for path in self.out.iterdir() if not path.name.endswith((".made.json", ".lock"))
                      ) if self.out.exists() else []

    def expect_same_times(self, clip, out):
        self.assertGreater(len(media.times(clip)), 10)
        numpy.testing.assert_allclose(media.times(out), media.times(clip), atol=1.1e-3)


class QuickstartCase(Case):
    """The quickstart's job in the test's own process."""

    def job(self, *arguments):
        """Runs the job. The result has no lines of progress, which a slow machine prints."""
        said = called(objects.main, ["--out", str(self.out), *map(str, arguments)])
        return said._replace(out=re.sub(r"(?m)^\S+: frame \d+.*\n", "", said.out))

    def refused(self, status, text, *arguments):
        said = self.job(*arguments)
        self.assertEqual((said.status, said.out, said.err), (status, "", text))
        self.assertEqual(self.files(self.out) if self.out.exists() else [], [])


# A job that acts as the name of its input says, after it wrote its settings next to the input.
STAND_IN = """import json, os, signal, sys, time
channel, settings = int(sys.argv[1]), json.loads(sys.argv[3])
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
if name == "noted":
    say(problem="earlier")
    say(note="odd")
sys.exit(1 if name in ("bad", "noted") else 7 if name == "silent" else 0)
"""


class StandInCase(Case):
    """regions-transcode with fake jobs."""

    def setUp(self):
        super().setUp()
        stand_in = self.folder / "stand_in.py"
        stand_in.write_text(STAND_IN)
        self.replace(processes, "JOB", str(stand_in))
        self.replace(scheduling, "cuda_devices", lambda: 0)

    def input(self, name):
        path = self.folder / name
        path.write_text("x")
        return str(path)

    def inputs(self, *names):
        return [self.input(name) for name in names]

    def parsed(self, *arguments):
        return command_line.parse([*map(str, arguments), "-o", str(self.out), "--filter", UNTOUCHED])

    def ran(self, *arguments):
        return called(command.main, self.parsed(*arguments))

    def settings(self, source):
        return json.loads(pathlib.Path(source + ".settings").read_text())

    def refused(self, why, *arguments, **changed):
        options = self.parsed(*arguments)
        for name, value in changed.items():
            setattr(options, name, value)
        self.assertEqual(called(command.main, options), (2, "", f"regions-transcode: {why}\n"))
        self.assertFalse(self.out.exists(), "nothing was made")


def family(number, words=""):
    """The numbers of a process and of its descendants whose command lines or names contain `words`. A job is named after
    its kind: regions-segment."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        line, name, children = (pathlib.Path(f"/proc/{number}/{what}").read_text(errors="replace")
                                for what in ("cmdline", "comm", f"task/{number}/children"))
        found = [number] if words in line.replace("\0", " ") + name else []
        return found + [more for child in children.split() for more in family(int(child), words)]
    return []


def kill_session(leader):
    """Kills a process and all that it started, which have their own process groups. Repeats until none is left, because
    a process may start another during the search. The first thread of a killed process can be a zombie while other
    threads still end and hold its files."""
    found = True
    while found:
        found = False
        for process in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
                state, session, threads = fields[0], int(fields[3]), int(fields[17])
                if session == leader and (state != "Z" or threads > 1):
                    os.kill(int(process), signal.SIGKILL)
                    found = True


def main():
    """Runs the tests of a test program."""
    media.expect_tools()
    unittest.main(verbosity=2)
