"""The parts of the GPU suite: what is run on the host, and how it is judged."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import gdp
import measure
from figure_parts import FigureParts
from python_part import PythonPart

HERE = os.path.dirname(os.path.abspath(__file__))
# Small pictures: partial tiles on both sides, an odd size, one row.
SMALL_SIZES = "1x1,300x1,129x65,259x131"
AT_ONCE = max(4, (os.cpu_count() or 4) // 4)  # programs, where no time is measured
HARD_CONTENTS = "maze,rand_g1_d50,rand_g1_d60"
ELEMENTS = ("cclabel track=true", "graphcutbg", "slicsuperpixel")  # that make something of a test picture
OF_ELEMENT = re.compile(r"^## (\w+)$", re.M)  # in docs/elements.md
FLAGSHIP = "graphcutbg output=none {d} ! cclabel source=mask output=none {d} ! regionoverlay {d}"


def host_environment(folder):
    """Programs find the bundled GStreamer and our plugin; the host's python keeps its own."""
    bundle = os.path.join(HERE, "bundle")
    env = dict(os.environ)
    env.update({
        "PATH": os.path.join(bundle, "bin") + ":" + env.get("PATH", ""),
        "LD_LIBRARY_PATH": ":".join([os.path.join(bundle, "lib"), os.path.join(HERE, "bin"),
                                     env.get("LD_LIBRARY_PATH", "")]),
        "GST_PLUGIN_SYSTEM_PATH_1_0": os.path.join(bundle, "plugins"),
        "GST_PLUGIN_SCANNER_1_0": os.path.join(bundle, "libexec", "gst-plugin-scanner"),
        "GST_PLUGIN_PATH_1_0": os.path.join(HERE, "plugin"),
        "GST_REGISTRY_1_0": os.path.join(folder, "gst-registry.bin"),
        "REGIONS_DOCS": os.path.join(HERE, "docs")})
    return env


class Suite(FigureParts, PythonPart):
    def __init__(self, runner, pack, env, folder, quick):
        self.runner, self.pack, self.env = runner, pack, env
        self.folder, self.quick = folder, quick
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.skips = []

    def program(self, name):
        return os.path.join(HERE, "bin", name)

    def fail(self, text):
        self.runner.failures.append(text)
        self.runner.say("  FAILED " + text)

    def call(self, command, name, timeout, env=None):
        """(exit status or None after the timeout, output)."""
        begin = time.monotonic()
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=timeout, env=env or self.env)
            status, out = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, out = None, late.stdout or b""
        text = out.decode(errors="replace")
        self.runner.log.write(f"$ {' '.join(command)}\n{text[-20000:]}\n")
        self.runner.say(f"  {name}: {time.monotonic() - begin:.0f} s, "
                        + ("status %d" % status if status is not None else "no end"))
        return status, text

    # The parts, in the order they run.

    def tests(self):
        def run(name):
            return name, *self.call([self.program(name), "--gtest_brief=1",
                                     "--gtest_output=json:" + self.report(name)], name, 300)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(run, self.pack["tests"]))
        for name, status, text in done:
            if not os.path.exists(self.report(name)):
                self.fail(f"{name}: no report, status {status}: {text.strip()[-200:]}")
                continue
            with open(self.report(name)) as file:
                self.count(name, json.load(file), status)

    def report(self, name):
        return os.path.join(self.folder, name + ".json")

    def count(self, name, report, status):
        failed = 0
        for group in report["testsuites"]:
            for test in group["testsuite"]:
                title = f"{name}: {test['classname']}.{test['name']}"
                if test.get("failures"):
                    failed += 1
                    self.counts["failed"] += 1
                    self.fail(title)
                elif test.get("result") in ("SKIPPED", "SUPPRESSED"):
                    self.counts["skipped"] += 1
                    self.skips.append(title)
                    if "cuda" in name and "WithoutDevice" not in test["classname"]:
                        self.fail(title + " was skipped, although there is a GPU")
                else:
                    self.counts["passed"] += 1
        if status != 0 and not failed:
            self.fail(f"{name}: ended with status {status}")

    def sanitizer(self):
        tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not os.path.exists(tool):
            self.fail("compute-sanitizer is not installed")
            return
        walk = [self.program("cclabel"), "--backend", "cuda", "--check", "1"]
        few = "maze,spiral,smooth,rand_g1_d50,rand_g16_d50"
        # Pictures that one cluster labels take racecheck too long: one of 129x65 was not done in 36 s.
        plans = {"memcheck": {"binary,equal,difference": SMALL_SIZES},
                 "racecheck": {"equal,difference": "129x65,259x131", "binary": "641x35,659x131"}}
        commands = []
        with open(os.path.join(HERE, "docs", "elements.md"), encoding="utf-8") as file:
            others = [name for name in OF_ELEMENT.findall(file.read()) if name not in " ".join(ELEMENTS)]
        for check, sizes in plans.items():
            for criterion, size in sizes.items():
                commands.append((check, f"labelling by {criterion}",
                                 walk + ["--criterion", criterion, "--size", size,
                                         "--content", few + ",clouds,blobs"]))
            for element in (*ELEMENTS, *others):
                commands.append((check, element, (
                    "gst-launch-1.0 -q videotestsrc pattern=ball num-buffers=5 ! "
                    f"video/x-raw,format=NV12,width=258,height=130 ! {element} device=cuda ! "
                    "fakesink").split()))

        # Within a piece that blocks share, memcheck does not see where one ends.
        env = dict(self.env, REGIONS_FAULTS="apart=1")

        def run(each):
            check, name, command = each
            return f"{check} {name}", *self.call(
                [tool, "--tool", check, "--error-exitcode", "9", "--target-processes", "all",
                 *command], f"{check} {name}", 150, env)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(run, commands))
        for name, status, text in done:
            clean = re.search(r"ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards", text)
            if status != 0 or not clean:
                tail = [line for line in text.splitlines() if line.startswith("=====")][-1:]
                self.fail(f"{name}: status {status} {' '.join(tail)}")

    def repeats(self):
        # 4 frames a run.
        runs = "5" if self.quick else "25"
        status, text = self.call([self.program("cclabel"), "--backend", "cuda", "--check", runs,
                                  "--size", measure.UHD, "--content", HARD_CONTENTS, "--criterion",
                                  "binary", "--task", "table"], "repeats", 200)
        if status != 0:
            lines = text.strip().splitlines()
            wrong = [line for line in lines if line.startswith("WRONG")] or lines[-1:]
            self.fail(f"status {status}: " + "; ".join(wrong)[:500])

    def whole(self):
        """Bytes out of whole pipelines: the GPU's equal the CPU's."""
        clip = os.path.join(HERE, self.pack["clips"]["ball"])
        # A width without padding behind rows, whose bytes no element sets.
        pattern = ("videotestsrc pattern=ball num-buffers=30 ! "
                   "video/x-raw,format={format},width=332,height=211 ! cclabel device={device} {rest}")
        source = f"filesrc location={clip} ! qtdemux ! h264parse ! nvh264dec ! "
        decoded = source + "{between} cclabel "
        cases = {}
        for form in ("NV12", "I420", "BGRA", "RGB", "GRAY8", "GRAY16_LE"):
            cases[f"labels of {form}"] = [
                pattern.format(format=form, device=device, rest="output=labels")
                for device in ("cpu", "cuda")]
            cases[f"overlay on {form}"] = [
                pattern.format(format=form, device=device, rest="output=overlay")
                for device in ("cpu", "cuda")]
        cases["labels of a decoded clip"] = [
            decoded.format(between="cudadownload ! ") + "device=cpu output=labels",
            decoded.format(between="") + "device=cuda output=labels"]
        cases["regions drawn on a decoded clip"] = [
            decoded.format(between="cudadownload ! ") +
            "device=cpu output=none ! regionoverlay device=cpu",
            decoded.format(between="") +
            "device=cuda output=none ! regionoverlay device=cuda ! cudadownload ! video/x-raw"]
        cases["the foreground's regions drawn on a decoded clip"] = [
            source + "cudadownload ! " + FLAGSHIP.format(d="device=cpu"),
            source + FLAGSHIP.format(d="device=cuda") + " ! cudadownload ! video/x-raw"]
        volumes = ("graphcutbg output=none device={0} ! cclabel source=mask depth=4 "
                   "connectivity=26 output=labels device={0}")
        cases["volumes of a decoded clip's foreground"] = [
            source + "cudadownload ! " + volumes.format("cpu"), source + volumes.format("cuda")]
        for form in ("NV12", "I420", "BGRA", "GRAY8"):
            for element, output in (("graphcutbg", "mask"), ("slicsuperpixel", "overlay")):
                cases[f"{element} of {form}"] = [
                    pattern.replace("cclabel", element).format(format=form, device=device,
                                                               rest="output=" + output)
                    for device in ("cpu", "cuda")]
        for name, pair in cases.items():
            digests = [self.digest(name, text) for text in pair]
            if None in digests or digests[0] != digests[1]:
                self.fail(f"{name}: the GPU's bytes differ from the CPU's")
            else:
                self.counts["passed"] += 1
        self.several("four clips at once", decoded.format(between="") +
                     "device=cuda output=none ! regionoverlay device=cuda ! fakesink")
        self.several("four clips cut at once",
                     source + FLAGSHIP.format(d="device=cuda") + " ! fakesink")
        self.footage()

    def footage(self):
        """People who walk, through the flagship chain: every frame at its time, and the same ones
        from both backends."""
        clip = os.path.join(HERE, self.pack["clips"]["walkers"])
        source = f"filesrc location={clip} ! qtdemux ! h264parse ! nvh264dec ! "
        chain = FLAGSHIP.replace("source=mask", "source=mask track=true")
        given = self.piped("times of the footage", source + "cudadownload ! video/x-raw ! gdppay",
                           gdp.timed_digests)
        cpu, cuda = (self.piped(f"footage on {device}", text, gdp.timed_digests)
                     for device, text in (
                         ("cpu", source + "cudadownload ! " + chain.format(d="device=cpu") +
                          " ! gdppay"),
                         ("cuda", source + chain.format(d="device=cuda") +
                          " ! cudadownload ! video/x-raw ! gdppay")))
        if not given or not cpu or not cuda:
            self.fail("footage: a pipeline failed")
            return
        times = [time for time, _ in given]
        if len(times) != self.pack["walkers_frames"]:
            self.fail(f"footage: {len(times)} frames decoded of {self.pack['walkers_frames']}")
        elif [time for time, _ in cuda] != times:
            self.fail("footage: the frames' times are not the input's")
        elif cpu != cuda:
            self.fail("footage: the GPU's frames differ from the CPU's")
        elif sum(a[1] != b[1] for a, b in zip(given, cuda)) < len(times) // 2:
            self.fail("footage: nothing was drawn on most frames")
        else:
            self.counts["passed"] += 1

    def digest(self, name, text):
        """SHA-256 of the pictures that a pipeline gives, or None if it fails."""
        def read(pipe):
            digest, count = hashlib.sha256(), 0
            while block := pipe.read(1 << 20):
                digest.update(block)
                count += len(block)
            return digest.hexdigest() if count else None
        return self.piped(name, text, read)

    def piped(self, name, text, read):
        """read(what a pipeline gives), or None if the pipeline fails."""
        reader, writer = os.pipe()
        command = ["gst-launch-1.0", "-q"] + f"{text} ! fdsink fd={writer}".split()
        begin = time.monotonic()
        self.runner.log.flush()
        process = subprocess.Popen(command, pass_fds=[writer], stdout=self.runner.log,
                                   stderr=self.runner.log, env=self.env)
        os.close(writer)
        patience = threading.Timer(120, process.kill)
        patience.start()
        with open(reader, "rb") as pipe:
            result = read(pipe)
        status = process.wait()
        patience.cancel()
        self.runner.say(f"  {name}: {time.monotonic() - begin:.0f} s, status {status}")
        return result if status == 0 else None

    def several(self, name, text):
        """Four pipelines in one process on one GPU end."""
        status, _ = self.call(["gst-launch-1.0", "-q"] + " ".join([text] * 4).split(), name, 120)
        if status != 0:
            self.fail(name)
        else:
            self.counts["passed"] += 1

    def soak(self):
        report = os.path.join(self.folder, "soak.json")
        status, text = self.call([self.program("soak"), "--streams", "8", "--seconds",
                                  "20" if self.quick else "40", "--report", report], "soak", 300)
        if not os.path.exists(report):
            self.fail(f"soak: no report, status {status}: {text.strip()[-200:]}")
            return
        with open(report) as file:
            row = json.load(file)
        for problem in row["problems"]:
            self.fail("soak: " + problem)
        if status != 0 and not row["problems"]:
            self.fail(f"soak: ended with status {status}")
        self.runner.rows.append({"what": "soak", **row})


PARTS = ("tests", "sanitizer", "repeats", "whole", "superpixels", "volumes", "pipelines", "cuts",
         "soak", "algorithms", "peers", "python", "cpu")
CPU_PARTS = ("cpu",)  # that tell nothing of the GPU
