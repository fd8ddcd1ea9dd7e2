#!/usr/bin/env python3
"""Times the peers that come as packages on the benchmark's pictures: SciPy, scikit-image, cc3d and
cv2 on the CPU, CuPy and NPP on the GPU. A missing one is named and left out.

Every peer's answer is compared with our CPU's labels (up to numbering) before it is timed. Writes
one JSON object a line, like bench/programs/cclabel --json.
"""
import argparse
import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy
except ImportError:
    sys.exit("cclabel_peers.py: numpy is missing; bench/run makes an environment that has it")

HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """This peer is not installed here."""


class HostPeer:
    """A function from a picture to labels on the CPU."""

    tasks = ("labels",)
    backend = "cpu"
    thread_counts = (1,)

    def set_threads(self, count):
        pass

    def time(self, image, connectivity, task, runs, seconds):
        """Labels and the wall-clock times in microseconds."""
        samples = []
        labels = self.label(image, connectivity, task)
        begin = time.perf_counter()
        while len(samples) < runs:
            start = time.perf_counter()
            self.label(image, connectivity, task)
            stop = time.perf_counter()
            samples.append((stop - start) * 1e6)
            if stop - begin > seconds and len(samples) >= 3:
                break
        return labels, samples


class SciPy(HostPeer):
    def __init__(self):
        import scipy
        from scipy import ndimage
        self.ndimage = ndimage
        self.name = "SciPy " + scipy.__version__

    def label(self, image, connectivity, task):
        structure = self.ndimage.generate_binary_structure(2, 2 if connectivity == 8 else 1)
        return self.ndimage.label(image, structure)[0]


class ScikitImage(HostPeer):
    def __init__(self):
        import skimage
        from skimage import measure
        self.measure = measure
        self.name = "scikit-image " + skimage.__version__

    def label(self, image, connectivity, task):
        return self.measure.label(image, connectivity=2 if connectivity == 8 else 1)


class Cc3d(HostPeer):
    tasks = ("labels", "table")

    def __init__(self):
        import cc3d
        self.cc3d = cc3d
        self.name = "cc3d " + importlib.metadata.version("connected-components-3d")

    def label(self, image, connectivity, task):
        labels = self.cc3d.connected_components(image, connectivity=connectivity)
        if task == "table":
            self.cc3d.statistics(labels)
        return labels


class Cv2(HostPeer):
    tasks = ("labels", "table")

    def __init__(self):
        import cv2
        self.cv2 = cv2
        self.name = "OpenCV " + cv2.__version__ + " (Python)"
        self.thread_counts = sorted({1, min(2, cv2.getNumberOfCPUs()), cv2.getNumberOfCPUs()})

    def set_threads(self, count):
        self.cv2.setNumThreads(count)

    def label(self, image, connectivity, task):
        if task == "table":
            return self.cv2.connectedComponentsWithStats(image, connectivity=connectivity)[1]
        return self.cv2.connectedComponents(image, connectivity=connectivity)[1]


class CuPy:
    """Timed by events around the call; it waits for the GPU inside."""

    tasks = ("labels",)
    backend = "cuda"
    thread_counts = (0,)

    def __init__(self):
        import cupy
        from cupyx.scipy import ndimage
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise Missing("no GPU")
        self.cupy = cupy
        self.ndimage = ndimage
        self.name = "CuPy " + cupy.__version__

    def set_threads(self, count):
        pass

    def time(self, image, connectivity, task, runs, seconds):
        cupy = self.cupy
        structure = cupy.ones((3, 3), bool)
        if connectivity == 4:
            structure[::2, ::2] = False
        on_device = cupy.asarray(image)
        labels = self.ndimage.label(on_device, structure)[0]
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        samples = []
        for run in range(runs + 1):
            start.record()
            self.ndimage.label(on_device, structure)
            stop.record()
            stop.synchronize()
            if run > 0:
                samples.append(cupy.cuda.get_elapsed_time(start, stop) * 1e3)
        return cupy.asnumpy(labels), samples


class Npp:
    """The toolkit's library, through a program built here."""

    tasks = ("labels",)
    backend = "cuda"
    thread_counts = (0,)
    checks_itself = True

    def __init__(self):
        nvcc = shutil.which("nvcc")
        if not nvcc:
            raise Missing("no nvcc to build it with")
        self.folder = tempfile.TemporaryDirectory()
        program = os.path.join(self.folder.name, "npp")
        libraries = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "lib64")
        build = subprocess.run([nvcc, "-O2", "-o", program, os.path.join(HERE, "npp.cpp"),
                                "-lnppif", "-lnppc", "-Xlinker", "-rpath=" + libraries],
                               capture_output=True, text=True)
        if build.returncode:
            raise Missing("npp.cpp does not build: " + build.stderr.strip()[-300:])
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        version = self.process.stdout.readline().decode().strip()
        if not version:
            raise Missing("it does not start; see above")
        self.name = "NPP " + version

    def set_threads(self, count):
        pass

    def time_checked(self, image, truth, connectivity, runs):
        pipe = self.process.stdin
        height, width = image.shape
        pipe.write(f"{width} {height} {connectivity} {runs}\n".encode())
        pipe.write(image.tobytes())
        pipe.write(truth.tobytes())
        pipe.flush()
        line = self.process.stdout.readline().split()
        if len(line) != 3:
            raise Missing("it stopped; see above")
        return float(line[0]), float(line[1]), line[2] == b"1"


PEERS = {"scipy": SciPy, "skimage": ScikitImage, "cc3d": Cc3d, "cv2": Cv2, "cupy": CuPy, "npp": Npp}


def same_components(truth, labels):
    """Whether the two label images differ in their numbering alone."""
    truth, labels = truth.ravel().astype(numpy.int64), labels.ravel().astype(numpy.int64)
    if ((truth == 0) != (labels == 0)).any():
        return False
    there = numpy.zeros(truth.max() + 1, numpy.int64)
    there[truth] = labels  # one of the labels seen there; the next line finds any other
    back = numpy.zeros(labels.max() + 1, numpy.int64)
    back[labels] = truth
    return bool((there[truth] == labels).all() and (back[labels] == truth).all())


def picture(program, content, width, height, connectivities):
    """The picture and, for each connectivity, its labels."""
    command = [program, content, f"{width}x{height}"] + [str(c) for c in connectivities]
    data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    pixels = width * height
    # A copy, since some peers refuse memory that they may not write.
    image = numpy.frombuffer(data, numpy.uint8, pixels).reshape(height, width).copy()
    labels = {}
    for i, connectivity in enumerate(connectivities):
        labels[connectivity] = numpy.frombuffer(data, numpy.uint32, pixels,
                                                pixels * (1 + 4 * i)).reshape(height, width)
    return image, labels


def measure(peer, options, content, image, truth, connectivity, task, threads):
    if getattr(peer, "checks_itself", False):
        median, fastest, correct = peer.time_checked(image, truth, connectivity, options.runs)
        count = options.runs
    else:
        labels, samples = peer.time(image, connectivity, task, options.runs, options.seconds)
        median, fastest, count = statistics.median(samples), min(samples), len(samples)
        correct = same_components(truth, labels)
    height, width = image.shape
    return {"what": "time", "by": peer.name, "backend": peer.backend, "threads": threads,
            "criterion": "binary", "connectivity": connectivity, "task": task, "format": "GRAY8",
            "content": content, "width": width, "height": height, "bytes": 5 * width * height,
            "regions": int(truth.max()), "correct": correct,
            "clock": "wall" if peer.backend == "cpu" else "stream", "us": round(median, 3),
            "fastest_us": round(fastest, 3), "runs": count}


def rows_of(peer, options, content, image, labels):
    for connectivity, truth in labels.items():
        for task in options.task.split(","):
            for threads in peer.thread_counts if task in peer.tasks else ():
                peer.set_threads(threads)
                yield measure(peer, options, content, image, truth, connectivity, task, threads)


def present(names):
    peers = []
    for name in names:
        try:
            peers.append(PEERS[name]())
        except (ImportError, Missing) as reason:
            print(f"cclabel_peers.py: {name} is left out: {reason}", file=sys.stderr)
        except Exception as reason:  # a GPU library without a GPU fails in its own way
            print(f"cclabel_peers.py: {name} is left out: {type(reason).__name__}: {reason}",
                  file=sys.stderr)
    return peers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--picture", required=True, help="the program bench/programs/picture")
    parser.add_argument("--peers", default=",".join(PEERS), help="of: " + ", ".join(PEERS))
    parser.add_argument("--size", default="1920x1080,4096x4096")
    parser.add_argument("--content", help="pictures by name (default: the 21 contents)")
    parser.add_argument("--connectivity", default="4,8")
    parser.add_argument("--task", default="labels,table")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1, help="most on one case on the CPU")
    options = parser.parse_args()
    unknown = set(options.peers.split(",")) - set(PEERS)
    if unknown:
        parser.error("no such peer: " + ", ".join(sorted(unknown)))
    contents = (options.content.split(",") if options.content else subprocess.run(
        [options.picture, "--contents"], check=True, stdout=subprocess.PIPE,
        text=True).stdout.split())
    connectivities = [int(c) for c in options.connectivity.split(",")]
    peers = present(options.peers.split(","))
    for size in options.size.split(","):
        width, height = map(int, size.split("x"))
        for content in contents:
            image, labels = picture(options.picture, content, width, height, connectivities)
            for peer in list(peers):
                try:
                    for row in rows_of(peer, options, content, image, labels):
                        print(json.dumps(row), flush=True)
                except Exception as reason:
                    print(f"cclabel_peers.py: {peer.name} is left out from {content} {size} on: "
                          f"{type(reason).__name__}: {reason}", file=sys.stderr)
                    peers.remove(peer)


if __name__ == "__main__":
    main()
