"""The parts of the GPU suite: programs that run on the host, the checks of their output, and figures."""
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import gdp
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
# Small pictures: partial tiles on both sides, an odd size, one row.
SMALL_SIZES = "1x1,300x1,129x65,259x131"
AT_ONCE = max(4, (os.cpu_count() or 4) // 4)  # programs in parts without timing
HARD_CONTENTS = "maze,rand_g1_d50,rand_g1_d60"
ELEMENTS = ("cclabel track=true", "graphcutbg", "slicsuperpixel")  # with options for a test picture
OUTCOMES = [re.compile(rf"\b{name}=(\d+)") for name in ("failures", "errors", "skipped")]  # in unittest's last line
NO_LIBRARY = "no library of arrays"  # the reason of skipped tests on a host without CuPy and PyTorch
OF_ELEMENT = re.compile(r"^## (\w+)$", re.M)  # in docs/elements.md
FLAGSHIP = "graphcutbg output=none {d} ! cclabel source=mask output=none {d} ! regionoverlay {d}"


def host_environment(folder):
    """The environment in which programs find the bundled GStreamer and this plugin."""
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


def outcomes(text):
    """(passed, failed, skipped) of what unittest wrote last."""
    ran = re.findall(r"^Ran (\d+) tests?", text, re.M)
    failures, errors, skipped = (int((pattern.findall(text) or ["0"])[-1]) for pattern in OUTCOMES)
    failed = failures + errors
    return max(int(ran[-1]) - failed - skipped if ran else 0, 0), failed, skipped


class Suite:
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

    def tests(self, env=None):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(lambda name: self.run_tests(name, env=env), self.pack["tests"]))
        for each in done:
            self.count_tests(*each, must_run_cuda=env is None)

    def older(self):
        """The tests with the code for compute capability 7.5, which the driver compiles for this GPU."""
        cache = {"CUDA_CACHE_PATH": os.path.join(self.folder, "compiled"), "CUDA_CACHE_MAXSIZE": str(4 << 30)}
        self.tests({**self.env, **cache, "CUDA_FORCE_PTX_JIT": "1", "REGIONS_OLD_GPU": "1"})

    def run_tests(self, name, only="*", env=None):
        """(name, exit status, output) of a GoogleTest program."""
        return name, *self.call([self.program(name), "--gtest_brief=1", "--gtest_filter=" + only,
                                 "--gtest_output=json:" + self.report(name)], name, 400 if env else 300, env)

    def count_tests(self, name, status, text, must_run_cuda=True):
        if not os.path.exists(self.report(name)):
            self.fail(f"{name}: no report, status {status}: {text.strip()[-200:]}")
            return
        with open(self.report(name)) as file:
            self.count(name, json.load(file), status, must_run_cuda)

    def report(self, name):
        return os.path.join(self.folder, name + ".json")

    def count(self, name, report, status, must_run_cuda):
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
                    if must_run_cuda and "cuda" in title.lower() and "WithoutDevice" not in test["classname"]:
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
        # Racecheck takes too long for a picture labelled by a single cluster: 129x65 pixels took more than 36 s.
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

        # Allocates each block separately, because memcheck does not see the ends of blocks inside an arena.
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
        # 4 frames per run.
        runs = "5" if self.quick else "25"
        status, text = self.call([self.program("cclabel"), "--backend", "cuda", "--check", runs,
                                  "--size", measure.UHD, "--content", HARD_CONTENTS, "--criterion",
                                  "binary", "--task", "table"], "repeats", 200)
        if status != 0:
            lines = text.strip().splitlines()
            wrong = [line for line in lines if line.startswith("WRONG")] or lines[-1:]
            self.fail(f"status {status}: " + "; ".join(wrong)[:500])

    def whole(self):
        """The GPU's pipelines output the same bytes as the CPU's."""
        clip = os.path.join(HERE, self.pack["clips"]["ball"])
        # With this width, rows have no padding, whose bytes would be undefined.
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
        """Walking people through the flagship chain: every frame has its time, and both backends output the same
        frames."""
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
        """SHA-256 of the pictures that a pipeline outputs, or None if it fails."""
        def read(pipe):
            digest, count = hashlib.sha256(), 0
            while block := pipe.read(1 << 20):
                digest.update(block)
                count += len(block)
            return digest.hexdigest() if count else None
        return self.piped(name, text, read)

    def piped(self, name, text, read):
        """The value of read() for the pipe with the output of a pipeline, or None if the pipeline fails."""
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
        """Four pipelines in one process on one GPU reach their end."""
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

    def python(self):
        folder = os.path.join(HERE, "python")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        paths = [os.path.join(folder, name) for name in ("site", "site-" + version)] + [os.environ.get("PYTHONPATH", "")]
        env = dict(os.environ, PYTHONPATH=":".join(filter(None, paths)))
        command = [sys.executable, "-m", "unittest", "discover", "-v", "-s", os.path.join(folder, "tests")]
        status, text = self.call([*command, "-p", "device_*_test.py"], "tests of the Python package", 300, env)
        passed, failed, skipped = outcomes(text)
        for name, count in (("passed", passed), ("failed", failed), ("skipped", skipped)):
            self.counts[name] += count
        if status != 0 or not passed or NO_LIBRARY in text:
            self.fail(f"the Python package's tests on arrays of the device: {passed} passed, {failed} failed, "
                      f"{skipped} skipped, status {status}" + ", no CuPy and no PyTorch" * (NO_LIBRARY in text))
        self.runner.run([sys.executable, os.path.join(HERE, "bench", "peers", "python_device_peers.py"), "--json",
                         "--picture", self.program("picture")], "label() of Python and its peers", timeout=600, env=env)

    # Figures.

    def programs(self):
        return measure.Programs(os.path.join(HERE, "bin"), os.path.join(HERE, "bench", "peers"),
                                sys.executable, env=self.env)

    def algorithms(self):
        measure.gpu_algorithms(self.runner, self.programs(), self.quick)

    def peers(self):
        measure.gpu_peers(self.runner, self.programs(), self.quick)

    def cpu(self):
        measure.cpu_beside_peers(self.runner, self.programs(), [measure.HD, measure.SQUARE], "1,2",
                                 0.05, "cv2")

    def superpixels(self):
        measure.superpixels(self.runner, self.programs())
        measure.superpixel_ladder(self.runner, self.programs())

    def volumes(self):
        """Volumes, many thresholds, the founding papers' methods, and what tracking adds."""
        cases = [("cclabel_volumes", ["--cuda", "--sizes", "64" if self.quick else "128,256"]),
                 ("cclabel_historic", ["--quick"] if self.quick else ["--sides", "128"])]
        cases += [("cclabel_tracking", ["--cuda", "--discs", discs])
                  for discs in ("300", "1000", "2000")]
        if not self.quick:
            cases += [("cclabel_volumes", ["--cuda", "--thresholds"]),
                      ("cclabel_historic", ["--sides", "256", "smooth-cube"])]
        for name, options in cases:
            self.runner.run([self.program(name), "--json", *options], " ".join([name, *options]),
                            timeout=150, env=self.env)

    def cuts(self):
        """The objects in boxes, and the minimum cuts of real graphs, if the pack has them."""
        self.boxes()
        folder = os.path.join(HERE, "instances")
        if not os.path.isdir(folder):
            self.runner.say("  no instances in this pack")
            return
        for name in sorted(os.listdir(folder)):
            plain = os.path.join(self.folder, name.removesuffix(".xz"))
            with lzma.open(os.path.join(folder, name)) as packed, open(plain, "wb") as file:
                shutil.copyfileobj(packed, file)
            self.runner.run([self.program("maxflow"), "--solver", "cuda", "--runs", "5",
                             "--seconds", "0.5", "--streams", "8", plain], name,
                            env=self.env | {measure.CONNECTIONS: "32"})
            os.remove(plain)

    def boxes(self):
        """20 boxes of 200x400 pixels in frames of 1920x1080. Each contains an ellipse of another colour."""
        import numpy
        random = numpy.random.default_rng(53)
        places = [(20 + 270 * (k % 7), 340 * (k // 7)) for k in range(20)]
        y, x = numpy.mgrid[:1080, :1920]
        picture = 90 + 40 * numpy.sin(x / 37)[..., None] + 30 * numpy.cos(y[..., None] / [23, 31, 41])
        for left, top in places:
            inside = ((x - left - 100) / 80) ** 2 + ((y - top - 200) / 160) ** 2 < 1
            picture[inside] = random.uniform(0, 255, 3)
        frames = b"".join(numpy.clip(picture + random.normal(0, 5, picture.shape), 0, 255).astype(numpy.uint8).tobytes()
                          for _ in range(12))
        corners = ",".join(f"{left},{top},200,400" for left, top in places)
        for options in ([], ["--tracked"], ["--cuda"], ["--cuda", "--tracked"]):
            self.runner.run([self.program("graphcutbg"), "1920x1080", "--set", "source=boxes", "--boxes", corners, "--time",
                             *options], " ".join(["boxes", *options]), stdin=frames)

    def pipelines(self):
        clips = {name: os.path.join(HERE, file) for name, file in self.pack["clips"].items()
                 if name != "walkers"}
        measure.pipelines(self.runner, self.programs(), True, clips, self.quick)

    # On a host with several GPUs.

    def gpus(self):
        """Each GPU gives the first GPU's bytes; frames follow their GPU; and many streams on all GPUs."""
        clip = os.path.join(HERE, self.pack["clips"]["people"])
        count = len(measure.lines(measure.QUERY_GPUS))
        digests = [self.digest(f"the people on GPU {number}",
                               measure.on_gpu(number, clip) + " ! cudadownload ! video/x-raw")
                   for number in range(count)]
        for number, digest in enumerate(digests):
            if digest is None or digest != digests[0]:
                self.fail(f"the results of GPU {number} differ from the results of GPU 0")
            else:
                self.counts["passed"] += 1
        self.count_tests(*self.run_tests("plugin-tests", "*Device*"))
        measure.gpus(self.runner, self.programs(), clip)


PARTS = ("tests", "older", "sanitizer", "repeats", "whole", "superpixels", "volumes", "pipelines", "cuts",
         "soak", "algorithms", "peers", "python", "cpu")
CPU_PARTS = ("cpu",)  # measure the processor of the host
