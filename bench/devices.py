#!/usr/bin/env python3
"""Measures the speed of regions-transcode --jobs on one GPU and on all GPUs of a host, and the utilization of each GPU.

    bench/devices.py CLIP [--seconds 60 | --times N] [--jobs 8] [--out bench/results/devices.json] [--commit NAME]

The filter gives the GPU most of the work: superpixels of six sizes with 100 iterations each, while the frames pass
unchanged. Each job gets a file with N copies of the clip; without --times, N is chosen so that one GPU needs about
--seconds. Starting and ending the programs is included (five seconds for eight jobs), so short runs measure mostly these. Needs
the elements in GStreamer's plugin path and the requirements of regions-transcode. --gpus and --filter allow a trial on
a machine without a GPU.
"""
import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import measure

PROGRAM = os.path.join(HERE, "..", "pipelines", "transcode", "regions-transcode")
SUPERPIXELS = " ! ".join(f"slicsuperpixel region-size={side} iterations=100 row-step=1 max-regions=1 output=none "
                         "device=cuda" for side in (12, 16, 24, 32, 48, 64))
PERIOD = 0.1  # seconds between samples of the GPUs' utilization


class Utilization(ctypes.Structure):
    """nvmlUtilization_t, in percent."""
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Busy:
    """Samples the utilization of the host's GPUs inside a `with` block; `mean` has the means in percent. Without NVML
    there are no GPUs."""

    def __init__(self):
        self.samples, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self.look)
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            self.handles = []
            return
        count = ctypes.c_uint()
        self.library.nvmlInit_v2()
        self.library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        self.handles = [ctypes.c_void_p() for _ in range(count.value)]
        for number, handle in enumerate(self.handles):
            self.library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle))

    def look(self):
        while not self.ended.wait(PERIOD):
            rates = Utilization()
            self.samples.append([rates.gpu for handle in self.handles if not
                                 self.library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(rates))])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    @property
    def mean(self):
        return [round(sum(column) / len(column), 1) for column in zip(*self.samples)]


def timed(gpus, times, options):
    """A row of the program with this number of visible GPUs and one file per job, each with `times` copies of the
    clip."""
    with tempfile.TemporaryDirectory() as folder:
        sources = [os.path.join(folder, f"{number}.mp4") for number in range(options.jobs)]
        subprocess.run(["ffmpeg", "-v", "error", "-stream_loop", str(times - 1), "-i", options.clip, "-c", "copy",
                        sources[0]], check=True)
        for source in sources[1:]:
            os.link(sources[0], source)
        return run(gpus, sources, os.path.join(folder, "out"), options)


def run(gpus, sources, out, options):
    command = [sys.executable, PROGRAM, *sources, "-o", out, "--filter", options.filter, "--jobs", str(options.jobs)]
    begin = time.monotonic()
    with Busy() as busy:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env=os.environ | {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus)))})
    seconds = time.monotonic() - begin
    frames = [int(count) for count in re.findall(r": (\d+) frames in ", done.stdout)]
    if done.returncode or len(frames) != len(sources):
        raise SystemExit(f"devices.py: {' '.join(command)} failed with status {done.returncode}: {done.stdout[-4000:]}")
    row = {"what": "devices", "gpus": gpus, "jobs": options.jobs, "clip": os.path.basename(options.clip),
           "filter": options.filter, "frames": sum(frames), "seconds": round(seconds, 2),
           "frames_per_second": round(sum(frames) / seconds, 1), "busy": busy.mean}
    print("devices: " + json.dumps(row), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clip")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--times", type=int)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--out", default=os.path.join(HERE, "results", "devices.json"))
    parser.add_argument("--commit")
    parser.add_argument("--gpus", type=int, help="number of GPUs (default: all GPUs of the host)")
    parser.add_argument("--filter", default=SUPERPIXELS)
    options = parser.parse_args()
    gpus = options.gpus or len(Busy().handles)
    if not gpus:
        sys.exit("devices.py: NVML finds no GPU; --gpus gives a number for a trial")
    record = measure.new_record("devices", cuda=not options.gpus)
    record["commit"] = options.commit or record["commit"]
    times = options.times or max(1, round(options.seconds / timed(1, 1, options)["seconds"]))
    record["figures"] = [timed(count, times, options) for count in sorted({1, gpus})]
    one, all_of_them = record["figures"][0], record["figures"][-1]
    print(f"devices: {gpus} GPUs are {one['seconds'] / all_of_them['seconds']:.2f} times as fast as one")
    measure.write(record, options.out)


if __name__ == "__main__":
    main()
