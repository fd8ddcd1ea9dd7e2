"""The state of a job in segments, read from its folder: job.json names inputs and outputs, and manifests hold the rest. The
job may run on any machine, or have died."""

import collections
import os
import sys
import time

import manifest
import record
import standard_streams
from files import printable

PROGRAM = "regions-transcode"
LOCKED = "job"  # name of the job's record.locked in the folder
SUMMARY = "summary.json"


def begin(folder, outputs, store=None):
    """Records the inputs of a job and the `outputs` of each by kind."""
    path = os.path.join(folder, "job.json")
    manifest.write_json(path, {"outputs": outputs, "began": time.time()})
    if store:
        store.publish([path])


def is_of_job(outputs):
    """Whether a value from job.json has the names of outputs by kind, for each input."""
    return isinstance(outputs, dict) and all(
        isinstance(names, dict) and "video" in names and all(map(is_name, names.values())) for names in outputs.values())


def is_summary(summary):
    """Whether a dictionary is a summary of archive.Archive.summarise, as far as it is used here. An empty one is valid."""
    inputs = summary.get("inputs", {})
    return isinstance(summary.get("began", 0), (int, float)) and isinstance(inputs, dict) and all(
        isinstance(told, dict) and isinstance(told.get("problem", ""), str) for told in inputs.values())


def read_object(path):
    """The object in a file of JSON; empty without one."""
    said = manifest.read_json(path)
    return said if isinstance(said, dict) else {}


def is_name(what):
    try:
        return isinstance(what, str) and b"\0" not in os.fsencode(what)
    except UnicodeEncodeError:
        return False


def tell(folder, store=None):
    """Prints the state. Returns the exit status: 0 if all is done, 1 if not, 2 without a job or with a damaged summary."""
    for name in ("job.json", SUMMARY) if store else ():
        store.fetch(os.path.join(folder, name))
    job, summary = (read_object(os.path.join(folder, name)) for name in ("job.json", SUMMARY))
    outputs = job.get("outputs")
    if not is_of_job(outputs) or not isinstance(job.get("began", 0), (int, float)):
        complain(f"{store.address if store else folder} has no job.json, or a damaged one: no job in segments began here")
        return 2
    if not is_summary(summary):
        complain(f"{os.path.join(store.address if store else folder, SUMMARY)} is damaged: remove it, the manifests have"
                 " the rest")
        return 2
    # By source. An older summary belongs to another job.
    ended = summary["inputs"] if summary.get("began", 0) >= job.get("began", 0) and "inputs" in summary else {}
    files = [of_file(source, names, store, ended.get(source, {}).get("problem")) for source, names in outputs.items()]
    lines = [printable(line) for lines, *_ in files for line in lines]
    done = sum(is_done for _, is_done, *_ in files)
    segments, retries = sum(counts.total() for _, _, counts, _ in files), sum(again for *_, again in files)
    finished = sum(counts[manifest.DONE] for _, _, counts, _ in files)
    lines.append(f"{done} of {len(files)} files, and {finished} of {segments} segments of the others; {retries} retries;"
                 f" {'a job is working here' if runs(folder) else 'no job is working here on this machine'}")
    standard_streams.print_result("\n".join(lines), PROGRAM)
    return 0 if done == len(files) else 1


def complain(text):
    standard_streams.print_line(printable(f"{PROGRAM}: {text}"), PROGRAM, sys.stderr)


def runs(folder):
    try:
        with record.locked(os.path.join(folder, LOCKED)):
            return False
    except record.Busy:
        return True


def of_file(source, outputs, store, problem):
    """Returns lines about a file, whether it is done, the states of its segments while it is not, and the number of failed
    attempts. `problem`: the file's problem when the job ended, or None."""
    known = manifest.Manifest(outputs, store)
    known.pull()
    if not known.spans:
        video = known.outputs["video"]
        is_done = all(map(store.exists if store else os.path.exists, (video, record.path_of(video))))
        return [f"{source}: {'done' if is_done else problem or 'waits'}"], is_done, collections.Counter(), 0
    segments = [known.segment(number) for number in range(len(known.spans))]
    counts = collections.Counter(segment["state"] for segment in segments)
    lines = [f"{source}: " + ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))]
    if problem and counts[manifest.DONE] == len(segments):
        lines[0] += f"; {problem}"
    for number, segment in enumerate(segments, 1):
        if segment["state"] in (manifest.QUARANTINED, manifest.FAILED):
            lines.append(f"  segment {number} of {len(segments)} {segment['state']}: {segment['problems'][-1]}")
    return lines, False, counts, sum(len(segment["problems"]) for segment in segments)
