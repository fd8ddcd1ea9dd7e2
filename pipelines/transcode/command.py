"""Runs regions-transcode with parsed options: refuses commands that would spoil files, and starts the work."""

import asyncio
import contextlib
import os

from files import explain, make_folder, remove_remains
from transcode import cluster, manifest, progress, scheduling, storage


class Refused(Exception):
    """The command cannot be started. The message gives the reason."""


def heat_map(options):
    """Writes the heat map of stored regions. Returns the exit status."""
    from standard_streams import print_line
    from transcode import heat_map as heat

    try:
        print_line(heat.write(options.inputs, options.heatmap, options.background), "regions-transcode")
    except heat.NoHeatMap as problem:
        progress.complain(problem)
        return 1
    return 0


def find(options):
    """Prints the events of stored regions. Returns the exit status."""
    from transcode import event_lines

    known = event_lines.EVENTS
    kinds = None if options.find == "all" else options.find.split(",")
    if unknown := [kind for kind in kinds or () if kind not in known]:
        raise Refused(f"--find {','.join(unknown)}: unknown event; expected {', '.join(known)}")
    status = 0
    for problem in event_lines.find(options.inputs, rules_text(options), kinds):
        progress.complain(problem)
        status = 1
    return status


def rules_text(options):
    """The text of the rules. Refuses rules that are not valid."""
    from transcode import event_lines

    try:
        return event_lines.rules_in(options.rules)
    except event_lines.BadRules as bad:
        raise Refused(bad) from bad


def segments_refusal(options):
    """Returns the reason why the options for segments are invalid, or None."""
    if options.segments is not None and not 0 < options.segments < float("inf"):
        return f"--segments {options.segments:g}: expected a number of seconds above 0"
    if options.warm_up is not None and not 0 <= options.warm_up < float("inf"):
        return f"--warm-up {options.warm_up:g}: expected a number of seconds, 0 or more"
    if options.attempts < 1:
        return f"--attempts {options.attempts}: expected a whole number, 1 or more"
    if (options.plan or options.segment) and not scheduling.in_segments(options):
        return "--plan and --segment require --segments SECONDS or --exact"
    if options.cluster is not None and not scheduling.in_segments(options):
        return "--cluster requires --segments SECONDS or --exact"
    if options.cluster is not None and (options.plan or options.segment):
        return "--cluster cannot be combined with --plan or --segment: it distributes the segments itself"
    for name in ("cpus_per_task", "gpus_per_task", "memory_per_task"):
        if not 0 <= (value := getattr(options, name)) < float("inf"):
            return f"--{name.replace('_', '-')} {value:g}: expected a number, 0 or more"
    if options.gpus_per_task > 1 and options.gpus_per_task % 1:
        return f"--gpus-per-task {options.gpus_per_task:g}: expected a fraction below 1 or a whole number"
    if options.plan and options.segment:
        return "--plan cannot be combined with --segment: run --plan first, then the commands with --segment"
    if options.warm_up is not None and options.segments is None:
        return "--warm-up requires --segments SECONDS"
    return None


def check(options):
    """Refuses a command that would spoil files, or fail for every input, before anything is written. Returns the version
    of the elements and the seconds of the filter's warm-up (see segments.warm_up)."""
    if problem := segments_refusal(options):
        raise Refused(problem)
    if options.jobs < 1:
        raise Refused(f"-j {options.jobs}: expected a number from 1")
    sources = {os.path.realpath(source): source for source in options.inputs}
    maker = {}
    for source in options.inputs:
        for path in scheduling.outputs_of(source, options).values():
            shown = options.store.address_of(path) if options.store else path
            if os.path.realpath(path) in sources or shown in options.inputs:
                raise Refused(f"{source} would be written to {shown}, which is an input;"
                              " choose another folder with -o")
            if path in maker:
                raise Refused(f"{maker[path]} and {source} would both be written to {shown};"
                              " transcode them into different folders")
            maker[path] = source
    import filters

    if options.events:
        options.rules_text = rules_text(options)
    try:
        filtered = filters.made(options.filter)
    except filters.BadFilter as bad:
        raise Refused(f"the filter '{options.filter}' cannot be made: {bad}") from bad
    try:
        make_folder(options.out)
    except OSError as error:
        raise Refused(error.strerror) from error
    remove_remains(options.out)
    if not scheduling.in_segments(options):
        return filters.version(), 0
    from transcode import segments

    return filters.version(), segments.warm_up(filtered)


def main(options):
    """Runs the program with parsed options. Returns the exit status."""
    try:
        if options.find:
            return find(options)
        if options.heatmap:
            return heat_map(options)
        try:
            storage.resolve(options)
            if options.status:
                return progress.print_status(options.out, options.store)
        except OSError as problem:
            raise Refused(explain(problem)) from problem
        version, warm_up = check(options)
        with contextlib.ExitStack() as opened:
            if scheduling.in_segments(options) and not options.segment:
                try:
                    opened.enter_context(manifest.locked(os.path.join(options.out, progress.LOCKED)))
                except manifest.Busy as busy:
                    place = options.store.address if options.store else options.out
                    raise Refused(f"another job is working in {place}") from busy
                outputs = {source: scheduling.outputs_of(source, options) for source in options.inputs}
                progress.record_job(options.out, outputs, options.store)
            nodes = None
            if options.cluster is not None:
                nodes = cluster.Cluster(options.cluster, options.cpus_per_task, options.gpus_per_task,
                                        options.memory_per_task)
            return asyncio.run(scheduling.Queue(options, version, warm_up, nodes).run())
    except (cluster.NoCluster, Refused) as refused:
        progress.complain(refused)
        return 2
    except OSError as problem:  # from job.json and the manifests
        progress.complain(explain(problem))
        return 1
