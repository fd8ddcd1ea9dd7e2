"""How far a job in segments is, as its folder tells: job.json names inputs and outputs, manifests the rest. It may run,
on any machine, or have died."""

import collections
import os
import sys

import manifest
import record
from files import printable

LOCKED = "job"  # of record.locked, in the folder


def begin(folder, outputs, store=None):
    """Remembers what a job is of: `outputs` by kind, of each input."""
    path = os.path.join(folder, "job.json")
    manifest.write_json(path, {"outputs": outputs})
    if store:
        store.publish([path])


def is_of_job(outputs):
    """Whether these are names by kind, of each input."""
    return isinstance(outputs, dict) and all(
        isinstance(names, dict) and "video" in names and all(map(is_name, names.values())) for names in outputs.values())


def is_name(what):
    try:
        return isinstance(what, str) and b"\0" not in os.fsencode(what)
    except UnicodeEncodeError:
        return False


def tell(folder, store=None):
    """Prints it; returns the exit status: 0 if all is done, 1 if not, 2 if there is no job."""
    if store:
        store.fetch(os.path.join(folder, "job.json"))
    outputs = (manifest.read_json(os.path.join(folder, "job.json")) or {}).get("outputs")
    if not is_of_job(outputs):
        print(printable(f"regions-transcode: {store.address if store else folder} has no job.json, or a damaged one:"
                        " no job in segments began here"), file=sys.stderr)
        return 2
    files = [of_file(source, names, store) for source, names in outputs.items()]
    for line, *_ in files:
        print(printable(line))
    done = sum(is_done for _, is_done, *_ in files)
    segments, retries = sum(counts.total() for _, _, counts, _ in files), sum(again for *_, again in files)
    finished = sum(counts[manifest.DONE] for _, _, counts, _ in files)
    print(f"{done} of {len(files)} files, and {finished} of {segments} segments of the others; {retries} retries;"
          f" {'a job works here' if runs(folder) else 'no job works here on this machine'}")
    return 0 if done == len(files) else 1


def runs(folder):
    try:
        with record.locked(os.path.join(folder, LOCKED)):
            return False
    except record.Busy:
        return True


def of_file(source, outputs, store):
    """A line, whether it is done, its unfinished segments by state, and how many attempts failed."""
    known = manifest.Manifest(outputs, store)
    known.pull()
    if not known.spans:
        video = known.outputs["video"]
        is_done = all(map(store.exists if store else os.path.exists, (video, record.path_of(video))))
        return f"{source}: {'done' if is_done else 'waits'}", is_done, collections.Counter(), 0
    segments = [known.segment(number) for number in range(len(known.spans))]
    counts = collections.Counter(segment["state"] for segment in segments)
    lines = [f"{source}: " + ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))]
    for number, segment in enumerate(segments, 1):
        if segment["state"] in (manifest.QUARANTINED, manifest.FAILED):
            lines.append(f"  segment {number} of {len(segments)} {segment['state']}: {segment['problems'][-1]}")
    return "\n".join(lines), False, counts, sum(len(segment["problems"]) for segment in segments)
