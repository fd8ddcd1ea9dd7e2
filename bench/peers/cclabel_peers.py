#!/usr/bin/env python3
"""Times packages that label pictures, on the benchmark's pictures: SciPy, scikit-image, cc3d, cv2 and kornia-rs on the
CPU; CuPy, bkeccl, cuCIM, CV-CUDA, kornia-rs, colorcc and NPP on the GPU. A missing package is named and skipped.

With --criterion equal, pictures are RGB, and neighbours of equal colour are linked. Packages that take numbers get each
colour as one number above 0.

Each answer is compared with the labels of cclabel on the CPU, except for their numbering. Writes one JSON
object per line, like bench/programs/cclabel --json.
"""
import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import time

try:
    import numpy
except ImportError:
    sys.exit("cclabel_peers.py: NumPy is not installed; bench/run makes an environment with it")

from cclabel_device_peers import Bkeccl, ColorCc, CuCim, CuPy, CvCuda, KorniaCuda, Missing, Npp


class HostPeer:
    """A function from a picture to labels on the CPU."""

    criteria = ("binary",)
    connectivities = (4, 8)
    tasks = ("labels",)
    backend = "cpu"
    thread_counts = (1,)

    def set_threads(self, count):
        pass

    def time(self, image, connectivity, task, runs, seconds):
        """Labels and the wall-clock times of the calls in microseconds."""
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
    criteria = ("binary", "equal")

    def __init__(self):
        import skimage
        from skimage import measure
        self.measure = measure
        self.name = "scikit-image " + skimage.__version__

    def label(self, image, connectivity, task):
        return self.measure.label(image, connectivity=2 if connectivity == 8 else 1)


class Cc3d(HostPeer):
    criteria = ("binary", "equal")
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


class KorniaRs(HostPeer):
    """Labels in raster order. Its call has no number of threads."""

    def __init__(self):
        import kornia_rs
        self.call = kornia_rs.imgproc.connected_components
        self.name = "kornia-rs " + importlib.metadata.version("kornia-rs")

    def label(self, image, connectivity, task):
        return self.call(image[..., None], connectivity)[1][..., 0]


PEERS = {"scipy": SciPy, "skimage": ScikitImage, "cc3d": Cc3d, "cv2": Cv2, "kornia": KorniaRs, "cupy": CuPy,
         "bkeccl": Bkeccl, "cucim": CuCim, "cvcuda": CvCuda, "kornia_cuda": KorniaCuda, "colorcc": ColorCc, "npp": Npp}


CHANNELS = {"binary": 1, "equal": 3}  # one byte per channel


def same_components(truth, labels):
    """Whether the two label images are equal except for their numbering."""
    truth, labels = truth.ravel().astype(numpy.int64), labels.ravel().astype(numpy.int64)
    if ((truth == 0) != (labels == 0)).any():
        return False
    there = numpy.zeros(truth.max() + 1, numpy.int64)
    there[truth] = labels  # one of the labels of each component; the comparison below finds any other
    back = numpy.zeros(labels.max() + 1, numpy.int64)
    back[labels] = truth
    return bool((there[truth] == labels).all() and (back[labels] == truth).all())


def picture(program, criterion, content, width, height, connectivities):
    """The picture, one number per pixel, and its labels for each connectivity."""
    command = [program, "--criterion", criterion, content, f"{width}x{height}"]
    data = subprocess.run(command + [str(c) for c in connectivities], check=True,
                          stdout=subprocess.PIPE).stdout
    pixels, channels = width * height, CHANNELS[criterion]
    # A copy, because some peers refuse read-only memory.
    image = numpy.frombuffer(data, numpy.uint8, channels * pixels).copy()
    if channels == 3:
        red, green, blue = image.reshape(-1, 3).astype(numpy.uint32).T
        image = 1 << 24 | red << 16 | green << 8 | blue
    labels = {}
    for i, connectivity in enumerate(connectivities):
        start = pixels * (channels + 4 * i)
        labels[connectivity] = numpy.frombuffer(data[start:start + 4 * pixels],
                                                numpy.uint32).reshape(height, width)
    return image.reshape(height, width), labels


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
            "criterion": options.criterion, "connectivity": connectivity, "task": task,
            "format": "GRAY8" if options.criterion == "binary" else "RGB", "content": content,
            "width": width, "height": height,
            "bytes": (CHANNELS[options.criterion] + 4) * width * height,
            "regions": int(truth.max()), "correct": correct,
            "clock": "wall" if peer.backend == "cpu" else "stream", "us": round(median, 3),
            "fastest_us": round(fastest, 3), "runs": count}


def rows_of(peer, options, content, image, labels):
    for connectivity, truth in labels.items():
        if connectivity not in peer.connectivities:
            continue
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
            print(f"cclabel_peers.py: {name} is skipped: {reason}", file=sys.stderr)
        except Exception as reason:  # without a GPU, GPU libraries fail in many ways
            print(f"cclabel_peers.py: {name} is skipped: {type(reason).__name__}: {reason}",
                  file=sys.stderr)
    return peers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--picture", required=True, help="the program bench/programs/picture")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated, from: " + ", ".join(PEERS))
    parser.add_argument("--size", default="1920x1080,4096x4096")
    parser.add_argument("--criterion", choices=CHANNELS, default="binary")
    parser.add_argument("--content", help="names of pictures (default: all pictures of the criterion)")
    parser.add_argument("--connectivity", default="4,8")
    parser.add_argument("--task", default="labels,table")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1, help="time limit for one case on the CPU")
    options = parser.parse_args()
    unknown = set(options.peers.split(",")) - set(PEERS)
    if unknown:
        parser.error("unknown peers in --peers: " + ", ".join(sorted(unknown)))
    contents = (options.content.split(",") if options.content else subprocess.run(
        [options.picture, "--contents", "--criterion", options.criterion], check=True, stdout=subprocess.PIPE,
        text=True).stdout.split())
    connectivities = [int(c) for c in options.connectivity.split(",")]
    peers = [peer for peer in present(options.peers.split(","))
             if options.criterion in peer.criteria]
    for size in options.size.split(","):
        width, height = map(int, size.split("x"))
        for content in contents:
            image, labels = picture(options.picture, options.criterion, content, width, height, connectivities)
            for peer in list(peers):
                try:
                    for row in rows_of(peer, options, content, image, labels):
                        print(json.dumps(row), flush=True)
                except Exception as reason:
                    print(f"cclabel_peers.py: {peer.name} is skipped from {content} {size} on: "
                          f"{type(reason).__name__}: {reason}", file=sys.stderr)
                    peers.remove(peer)


if __name__ == "__main__":
    main()
