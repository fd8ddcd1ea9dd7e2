#!/usr/bin/env python3
"""low_memory.py LIBRARY ELEMENT...: runs pipelines with 60 to 600 MB of memory.

Each pipeline plays, or ends in a clear element error. None crashes, hangs, or silently drops a frame. GLib and the
C library end the process with their own message if they get no memory or thread. GLib's message needs memory, too,
so LIBRARY (no_memory_for_text) is preloaded. Elements that are in no chain of this script run alone."""
import errno
import os
import re
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

CHAINS = ("graphcutbg {d} output=none ! cclabel {d} source=mask track=true output=none ! regionoverlay {d}",
          "slicsuperpixel {d} output=overlay",
          "cclabel {d} depth=4 connectivity=26 output=labels",
          "cclabel {d} output=colors")
WIDTH, HEIGHT, FRAMES = 1280, 720, 8
# Not videotestsrc, because it compiles code with ORC, which crashes without memory.
SOURCE = f"filesrc location={{}} ! rawvideoparse format=gray8 width={WIDTH} height={HEIGHT} framerate=30/1"
SINK = "fakesink silent=false"
# The size of moving squares. There are few, because GLib ends the process if a small allocation fails.
SQUARE, STEP = 24, 80  # pixels
PATIENCE = 60  # seconds
OTHER_LIBRARIES = re.compile(r"GLib-ERROR|^GLib \(|failed to allocate (\d+ bytes|memory)|^ORC: ERROR|"
                       r"cannot allocate memory for thread-local data", re.M)
UNCLEAR = re.compile(rf"^ERROR: .*(std::|{os.strerror(errno.EAGAIN)})", re.M)
SKIPPED = 77
LIBRARY, NAMES = os.path.abspath(sys.argv[1]), sys.argv[2:]


def play(case):
    """Returns the problem of a case, or None, and whether it played to its end."""
    frames, chain, megabytes = case

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    pipeline = f"{SOURCE.format(frames)} ! {chain.format(d='device=cpu')} ! {SINK}"
    command = ["env", f"LD_PRELOAD={LIBRARY}", "gst-launch-1.0", "--no-fault", "--verbose", *pipeline.split()]
    # gst-launch-1.0 can miss an error that is posted while it waits for the first frame. timeout interrupts it.
    with subprocess.Popen(["timeout", "--signal=INT", f"--kill-after={PATIENCE}", str(PATIENCE), *command],
                          preexec_fn=limit, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        output = process.communicate()[0]
    status = process.returncode
    if status == 0 and "ERROR" not in output:
        left = output.count("chain   *******")
        return None if left == FRAMES else f"plays only {left} of {FRAMES} frames", True
    if OTHER_LIBRARIES.search(output):
        return None, False
    if status in (124 + 13, 128 + 9, -9):
        return f"hangs: {output}", False
    if status < 0 or status > 128:
        return f"crashes, status {status}: {output}", False
    if not re.search(r"^ERROR: ", output, re.M):
        return f"fails without an error: {output}", False
    if UNCLEAR.search(output):
        return f"gives an error that only a programmer understands: {output}", False
    return None, False


def frame(number):
    row = (bytes(STEP - SQUARE) + b"\xff" * SQUARE) * (WIDTH // STEP)
    lit = row[-number % STEP:] + row[:-number % STEP]
    return b"".join(lit if y % STEP < SQUARE else bytes(WIDTH) for y in range(HEIGHT))


def main():
    if NAMES == ["sanitized"]:
        print("SKIP: sanitizers take more memory than the limits leave")
        return SKIPPED
    chains = [*CHAINS, *(name + " {d}" for name in NAMES if name not in " ".join(CHAINS))]
    subprocess.run(["gst-inspect-1.0", "cclabel"], stdout=subprocess.DEVNULL, check=True)  # creates the registry
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        frames = os.path.join(folder, "frames.gray")
        with open(frames, "wb") as file:
            file.writelines(frame(number) for number in range(FRAMES))
        cases = [(frames, chain, megabytes) for chain in chains for megabytes in range(60, 601, 30)]
        outcomes = list(pool.map(play, cases))
    failed = 0
    for (_, chain, megabytes), (problem, _) in zip(cases, outcomes):
        if problem:
            failed += 1
            print(f"FAIL: {chain} with {megabytes} MB {problem}")
    played = sum(plays for _, plays in outcomes)
    print(f"{len(cases)} runs, {played} played to the end, {failed} failed")
    # The limits must make some runs fail, and some succeed.
    return 1 if failed or not 0 < played < len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
