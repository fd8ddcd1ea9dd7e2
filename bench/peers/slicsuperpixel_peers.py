#!/usr/bin/env python3
"""Times slicsuperpixel and packaged methods on the CPU: about the same number of superpixels of one 1920x1080 picture,
with ten iterations, from RGB to connected labels, including the conversion to Lab.

    bench/peers/slicsuperpixel_peers.py [PICTURE] [--threads 1,2] [--count 8000] [--rounds 5]
            [--build build] [--only NAME,...] [--json] [--record FILE]

PICTURE is any photograph, which is scaled to 1920x1080; without it, a picture with shapes and noise is made. Each
measurement is a new process, and each round runs all methods. The result is the median over the rounds of each
process's fastest frame, and of its lowest CPU time per frame, which depends less on other programs. fast-slic uses
every third row; slicsuperpixel does so with row-step=3. The requested number of superpixels is adjusted until a method
gives --count within 3 %, if it can. Methods that are not installed are named and skipped.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measure

WIDTH, HEIGHT = 1920, 1080
HERE = os.path.dirname(os.path.abspath(__file__))


def fast_slic(image, count):
    from fast_slic.avx2 import SlicAvx2
    method = SlicAvx2(num_components=count, compactness=10)
    return lambda: method.iterate(image)


def opencv_slic(image, count):
    import cv2
    cv2.setNumThreads(int(os.environ["OMP_NUM_THREADS"]))
    side = max(2, round((WIDTH * HEIGHT / count) ** 0.5))

    def run():
        slic = cv2.ximgproc.createSuperpixelSLIC(cv2.cvtColor(image, cv2.COLOR_RGB2Lab),
                                                 cv2.ximgproc.SLIC, side, 10)
        slic.iterate(10)
        slic.enforceLabelConnectivity(25)
        return slic.getLabels()
    return run


def scikit_image(image, count):
    from skimage.segmentation import slic
    return lambda: slic(image, count, compactness=10, max_num_iter=10, min_size_factor=0.25)


OURS = {"slicsuperpixel": 2, "slicsuperpixel row-step=3": 3}  # row-step: each iteration uses every Nth row

# Function, frames per process, and whether the number of threads can be set.
PEERS = {"fast-slic AVX2": (fast_slic, 15, True), "OpenCV SLIC": (opencv_slic, 2, True),
         "scikit-image": (scikit_image, 1, False)}


def measure_here(name, path, count):
    """Runs in a new process: times one peer and prints a line of JSON."""
    make, repetitions, _ = PEERS[name]
    image = numpy.fromfile(path, numpy.uint8).reshape(HEIGHT, WIDTH, 3)
    work = make(image, count)
    labels = work()
    times, cpu = [], []
    for _ in range(repetitions):
        start, before = time.perf_counter(), time.process_time()
        work()
        times.append(time.perf_counter() - start)
        cpu.append(time.process_time() - before)
    print(json.dumps({"us": min(times) * 1e6, "cpu_us": min(cpu) * 1e6,
                      "superpixels": len(numpy.unique(labels))}))


def measure_ours(options, path, threads, count, row_step):
    program = os.path.join(options.build, "bench", "programs", "slicsuperpixel")
    with open(path, "rb") as picture:
        line = subprocess.run([program, f"{WIDTH}x{HEIGHT}", "--time", "--threads",
                               str(threads), "--set", f"superpixels={count}", "--set",
                               f"row-step={row_step}"], stdin=picture, check=True,
                              stdout=subprocess.PIPE).stdout
    row = json.loads(line)
    return {"us": row["fastest_us"], "cpu_us": row["cpu_us"], "superpixels": row["superpixels"]}


def measure_peer(name, path, threads, count):
    """The row of a peer; None if it is not installed."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    run = subprocess.run([sys.executable, __file__, "--one", name, "--picture", path, "--count",
                          str(count)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                         text=True)
    if run.returncode == 0:
        return json.loads(run.stdout)
    reason = run.stderr.strip().split("\n")[-1]
    print(f"slicsuperpixel_peers.py: {name} is skipped: {reason}", file=sys.stderr)
    return None


def request_for(measure, wanted):
    """(number of superpixels to request, whether the method runs at all)."""
    asked = wanted
    for _ in range(3):
        row = measure(asked)
        if row is None:
            return asked, False
        if abs(row["superpixels"] - wanted) <= 0.03 * wanted:
            break
        asked = max(1, round(asked * wanted / row["superpixels"]))
    return asked, True


def compare(options, path):
    rows = []
    for threads in map(int, options.threads.split(",")):
        methods = {name: lambda n, step=step: measure_ours(options, path, threads, n, step)
                   for name, step in OURS.items()}
        for name, (_, _, by_threads) in PEERS.items():
            if by_threads or threads == 1:
                methods[name] = lambda n, name=name: measure_peer(name, path, threads, n)
        if options.only:
            methods = {name: m for name, m in methods.items()
                       if name in OURS or name in options.only.split(",")}
        asked = {}
        for name, measure in methods.items():
            count, works = request_for(measure, options.count)
            if works:
                asked[name] = count
        found = {name: [] for name in asked}
        for _ in range(options.rounds):
            for name in asked:
                found[name].append(methods[name](asked[name]))
        for name, taken in found.items():
            rows.append({"what": "superpixel-peers", "by": name, "backend": "cpu",
                         "width": WIDTH, "height": HEIGHT, "threads": threads,
                         "superpixels": taken[-1]["superpixels"],
                         "us": round(statistics.median(t["us"] for t in taken), 1),
                         "fastest_us": round(min(t["us"] for t in taken), 1),
                         "cpu_us": round(statistics.median(t["cpu_us"] for t in taken), 1)})
    return rows


def picture(options, path):
    """Writes the picture to the path, as packed RGB."""
    if options.picture:
        from PIL import Image
        image = Image.open(options.picture).convert("RGB").resize((WIDTH, HEIGHT), Image.BICUBIC)
        data = image.tobytes()
    else:
        program = os.path.join(options.build, "bench", "programs", "picture")
        data = subprocess.run([program, "blobs", f"{WIDTH}x{HEIGHT}"], check=True,
                              stdout=subprocess.PIPE).stdout
    with open(path, "wb") as file:
        file.write(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("picture", nargs="?")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--count", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--only", help="only these peers")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--record", help="write a record, such as "
                        "bench/results/superpixels.json")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--picture", dest="raw", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return measure_here(options.one, options.raw, options.count)
    record = measure.new_record("superpixels")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.rgb")
        picture(options, path)
        rows = compare(options, path)
    if options.record:
        measure.write({**record, "figures": rows}, options.record)
    ours = {row["threads"]: row for row in rows if row["by"] == "slicsuperpixel"}
    for row in rows:
        if options.json:
            print(json.dumps(row))
            continue
        own = ours[row["threads"]]
        print(f"{row['threads']} thread(s)  {row['by']:<25} {row['us'] / 1000:8.1f} ms"
              f"  CPU {row['cpu_us'] / 1000:8.1f} ms  {row['superpixels']:6} superpixels"
              f"  {row['us'] / own['us']:6.2f} times ours, CPU {row['cpu_us'] / own['cpu_us']:5.2f} times ours")


if __name__ == "__main__":
    main()
