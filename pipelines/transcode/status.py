"""Prints the progress of a job in segments (regions-transcode --status). job.json lists the inputs and outputs of the
job, and manifests store the states of the segments. The job may be running on any machine, or may have died."""

import collections
import os
import sys
import time

import manifest
import record
import standard_streams
from files import printable

PROGRAM = "regions-transcode"
LOCKED = "job"  # name of the job's lock (record.locked) in the output folder
SUMMARY = "summary.json"


def begin(folder, outputs, store=None):
    """Writes job.json. `outputs`: for each input, the paths of its outputs by kind."""
    path = os.path.join(folder, "job.json")
    manifest.write_json(path, {"outputs": outputs, "began": time.time()})
    if store:
        store.publish([path])


def is_of_job(outputs):
    """Whether `outputs` has the form that begin() writes: for each input, paths by kind."""
    return isinstance(outputs, dict) and all(
        isinstance(names, dict) and "video" in names and all(map(is_name, names.values())) for names in outputs.values())


def is_summary(summary):
    """Whether `summary` has the form that archive.Archive.summarise writes. Only the entries used here are checked. An
    empty dictionary is valid."""
    inputs = summary.get("inputs", {})
    return isinstance(summary.get("began", 0), (int, float)) and isinstance(inputs, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get("problem", ""), str) for entry in inputs.values())


def read_object(path):
    """Returns the object in a JSON file, or an empty dictionary if the file is missing or damaged."""
    said = manifest.read_json(path)
    return said if isinstance(said, dict) else {}


def is_name(what):
    try:
        return isinstance(what, str) and b"\0" not in os.fsencode(what)
    except UnicodeEncodeError:
        return False


def tell(folder, store=None):
    """Prints the progress. Returns the exit status: 0 if all files are done, 1 if not, 2 if the folder contains no job
    or a damaged summary."""
    for name in ("job.json", SUMMARY) if store else ():
        store.fetch(os.path.join(folder, name))
    job, summary = (read_object(os.path.join(folder, name)) for name in ("job.json", SUMMARY))
    outputs = job.get("outputs")
    if not is_of_job(outputs) or not isinstance(job.get("began", 0), (int, float)):
        complain(f"{store.address if store else folder} contains no valid job.json: expected the output folder of a job"
                 " with --segments")
        return 2
    if not is_summary(summary):
        complain(f"{os.path.join(store.address if store else folder, SUMMARY)} is damaged: remove it (the states of all"
                 " segments are stored elsewhere)")
        return 2
    # By source: the entries of the summary, unless an earlier job wrote it.
    ended = summary["inputs"] if summary.get("began", 0) >= job.get("began", 0) and "inputs" in summary else {}
    files = [of_file(source, names, store, ended.get(source, {}).get("problem")) for source, names in outputs.items()]
    lines = [printable(line) for lines, *_ in files for line in lines]
    done = sum(is_done for _, is_done, *_ in files)
    segments, retries = sum(counts.total() for _, _, counts, _ in files), sum(again for *_, again in files)
    finished = sum(counts[manifest.DONE] for _, _, counts, _ in files)
    lines.append(f"{done} of {len(files)} files are done, and {finished} of {segments} segments of the other files;"
                 f" failed attempts: {retries};"
                 f" {'the job is running' if runs(folder) else 'the job is not running on this machine'}")
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
    """Returns the lines to print for a file, whether it is done, the number of its segments by state, and the number of
    failed attempts. `problem`: the file's problem in the summary of the last job, or None."""
    known = manifest.Manifest(outputs, store)
    known.pull()
    if not known.spans:
        video = known.outputs["video"]
        is_done = all(map(store.exists if store else os.path.exists, (video, record.path_of(video))))
        return [f"{source}: {'done' if is_done else problem or 'waiting'}"], is_done, collections.Counter(), 0
    segments = [known.segment(number) for number in range(len(known.spans))]
    counts = collections.Counter(segment["state"] for segment in segments)
    lines = [f"{source}: " + ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))]
    if problem and counts[manifest.DONE] == len(segments):
        lines[0] += f"; {problem}"
    for number, segment in enumerate(segments, 1):
        if segment["state"] in (manifest.QUARANTINED, manifest.FAILED):
            lines.append(f"  segment {number} of {len(segments)} {segment['state']}: {segment['problems'][-1]}")
    return lines, False, counts, sum(len(segment["problems"]) for segment in segments)
