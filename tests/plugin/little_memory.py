#!/usr/bin/env python3
"""Pipelines with 60 to 600 MB of memory: each plays, or ends in an element's error that says so, and none
crashes, hangs or leaves a frame out without a word. Where GLib or ORC get no memory or thread they end the
process with a message of their own, which is not ours to change."""
import re
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CHAINS = ("graphcutbg {d} output=none ! cclabel {d} source=mask track=true output=none ! regionoverlay {d}",
          "slicsuperpixel {d} output=overlay",
          "cclabel {d} depth=4 connectivity=26 output=labels",
          "cclabel {d} output=colors")
SOURCE = "videotestsrc num-buffers=8 pattern=ball ! video/x-raw,format=GRAY8,width=1280,height=720"
PATIENCE = 60  # seconds
SKIPPED = 77


def play(case):
    """What is wrong with a run, and whether it played to its end."""
    chain, megabytes = case

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    command = ["gst-launch-1.0", "-q", *f"{SOURCE} ! {chain.format(d='device=cpu')} ! fakesink".split()]
    with subprocess.Popen(command, preexec_fn=limit, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            said = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            # gst-launch-1.0 may miss an error that comes while it waits for the first frame.
            process.send_signal(signal.SIGINT)
            try:
                said = process.communicate(timeout=PATIENCE)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                return f"hangs: {process.communicate()[1]}", False
    if process.returncode == 0 and "ERROR" not in said:
        return None, True
    if re.search(r"GLib-ERROR|failed to allocate \d+ bytes|^ORC: ERROR", said, re.M):
        return None, False
    if process.returncode < 0:
        return f"ended by signal {-process.returncode}: {said}", False
    if not re.search(r"^ERROR: ", said, re.M):
        return f"failed without an error: {said}", False
    if "std::" in said:
        return f"an error that only a programmer understands: {said}", False
    return None, False


def main():
    if sys.argv[1:] == ["sanitized"]:
        print("SKIP: sanitizers take more memory than the limits leave")
        return SKIPPED
    subprocess.run(["gst-inspect-1.0", "cclabel"], stdout=subprocess.DEVNULL, check=True)  # the registry is made
    cases = [(chain, megabytes) for chain in CHAINS for megabytes in range(60, 601, 30)]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(play, cases))
    failed = 0
    for (chain, megabytes), (problem, _) in zip(cases, outcomes):
        if problem:
            failed += 1
            print(f"FAIL: {chain} with {megabytes} MB {problem}")
    played = sum(plays for _, plays in outcomes)
    print(f"{len(cases)} runs, {played} played to the end, {failed} failed")
    # Limits that nothing or everything fits in would show nothing.
    return 1 if failed or not 0 < played < len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
