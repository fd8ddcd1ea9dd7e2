"""regions-transcode with jobs that are stand-ins, for its tests."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal

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


class Case(inside.Case):
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
