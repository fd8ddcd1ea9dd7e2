"""Takes videos through a filter of GStreamer elements and keeps everything else: sound, subtitles, chapters and
attachments (copied bit for bit if the container can hold them, otherwise a note names them), timestamps, frame
count, colours, field order and orientation.

  regions-transcode IN… -o DIR --filter 'cclabel threshold=0.7 output=none ! regionoverlay'

Each output is DIR/NAME.mp4 (or .mkv, .webm), with --json also DIR/NAME.jsonl, with --labels also
DIR/NAME.labels.mkv, and with --events also DIR/NAME.events.jsonl. A file gets its name when it is whole. The readable part of a damaged input becomes
DIR/NAME.partial.mp4. NAME.mp4.made.json records the input and the settings of an output. An input is skipped if
its output exists and its record is the same. --segments cuts long files and joins the results. The exit status is
0 if all inputs are done, 1 if an input failed, 2 if nothing was started, 130 if interrupted.
"""

import argparse
import asyncio
import contextlib
import os

from files import Arguments, explain, make_folder, remove_remains
from transcode import cluster, manifest, processes, progress, scheduling, storage
from transcode.profiles import EXPORTS, PROFILES


class Refused(Exception):
    """The command cannot be started. The message gives the reason."""


def parse(arguments):
    """Returns the options of a command line as a namespace. Ends the program if the command line is wrong."""
    profiles = ", ".join(f"{name} ({profile.meaning})" for name, profile in PROFILES.items())
    parser = Arguments(
        prog="regions-transcode", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="*", metavar="IN", help="video files")
    parser.add_argument("-o", "--out", metavar="DIR", help="folder of the outputs")
    parser.add_argument("--filter", metavar="'ELEMENT ! …'",
                        help="elements that every frame passes, as gst-launch takes them")
    parser.add_argument("--profile", choices=PROFILES, default="mp4", metavar="NAME",
                        help=f"{profiles}; default: mp4")
    parser.add_argument("--json", action="store_true", help="write the regions of each frame, one"
                        " JSON object a line")
    parser.add_argument("--export", action="append", choices=EXPORTS, default=[], metavar="FORMAT",
                        help="write the regions of each frame as jsonl (as --json does), csv, mot (tracks as of the"
                        " MOTChallenge) or coco-rle (masks as of COCO); can be given several times")
    parser.add_argument("--labels", action="store_true", help="write the label of each pixel as 16-bit"
                        " video (FFV1 in Matroska, lossless)")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N",
                        help="number of inputs processed at the same time, spread over all GPUs; default: 1")
    parser.add_argument("--force", action="store_true", help="write outputs that exist again")
    parser.add_argument("--accept-partial", action="store_true", help="give the readable part of damaged"
                        " inputs the names of whole outputs")
    parser.add_argument("--no-sound", action="store_true", help="leave the sound out")
    add_event_options(parser)
    add_segment_options(parser)
    options = parser.parse_args(arguments)
    options.rules_text = None
    if bool(options.rules) != bool(options.events or options.find):
        parser.error("--rules FILE belongs to --events or --find")
    if options.background and not options.heatmap:
        parser.error("--background requires --heatmap")
    if options.heatmap:
        if not options.inputs or options.out or options.filter or options.events or options.find:
            parser.error("--heatmap requires files of regions (.jsonl), and no -o, --filter, --events or --find")
        return options
    if options.find:
        if not options.inputs or options.out or options.filter or options.events:
            parser.error("--find requires files of regions (.jsonl) and --rules, and no -o, --filter or --events")
        return options
    if not options.out:
        parser.error("the following arguments are required: -o/--out")
    if not options.status and not (options.inputs and options.filter):
        parser.error("IN and --filter are required")
    options.export += ["jsonl"] * options.json
    return options


def add_event_options(parser):
    group = parser.add_argument_group("events (docs/events.md)")
    group.add_argument("--rules", metavar="FILE", help="zones and lines as JSON, for --events and --find")
    group.add_argument("--events", action="store_true",
                       help="write the events of zones and lines to DIR/NAME.events.jsonl; requires --rules")
    group.add_argument("--find", nargs="?", const="all", metavar="EVENT,…",
                       help="print the events in files that --json wrote (IN.jsonl), without decoding any video, and exit;"
                       " default: all events; requires --rules")
    group.add_argument("--heatmap", metavar="OUT.png", help="draw how often each pixel was foreground in the files that --json"
                       " wrote (IN.jsonl, with cclabel attach-runs=true), and exit")
    group.add_argument("--background", metavar="FILE", help="picture or video below the heat map; default: gray")


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


def add_segment_options(parser):
    group = parser.add_argument_group("long files and archives")
    group.add_argument("--segments", type=float, metavar="SECONDS",
                       help="cut inputs at key frames into segments of about SECONDS, and process up to -j of them at"
                       " the same time; the same command continues after an interruption; 60 suits most inputs")
    group.add_argument("--warm-up", type=float, metavar="SECONDS",
                       help="seconds of video before each segment from which the filter learns; default: 20, or 0 for"
                       " filters that learn nothing")
    group.add_argument("--cluster", nargs="?", const="", metavar="ADDRESS",
                       help="process segments on the Ray cluster at ADDRESS (HOST:PORT); without an address, start Ray"
                       " on this machine, reachable only from this machine")
    group.add_argument("--cpus-per-task", type=float, default=1, metavar="N",
                       help="CPU cores reserved for each segment on a cluster, and the maximum number of threads of its"
                       " decoder, elements and encoder; default: 1")
    group.add_argument("--gpus-per-task", type=float, default=0, metavar="N",
                       help="GPUs reserved for each segment on a cluster, may be a fraction; default: 0")
    group.add_argument("--memory-per-task", type=float, default=0, metavar="GIB",
                       help="memory in GiB reserved for each segment on a cluster; default: 0, no reservation")
    group.add_argument("--plan", action="store_true", help="only plan the segments, for later commands with --segment")
    group.add_argument("--segment", metavar="K/N", type=share, help="process only the K-th of N shares of the planned"
                       " segments (K from 1 to N); the N commands may run on different machines; afterwards, the"
                       " command without --segment makes missing segments and joins all")
    group.add_argument("--status", action="store_true", help="print the progress of the job in DIR and exit; requires"
                       " only -o DIR")
    group.add_argument("--exact", action="store_true", help="process each input as one segment, for results equal to a"
                       " run without --segments")
    group.add_argument("--attempts", type=int, default=3, metavar="N",
                       help="number of attempts at a segment; if all fail, the segment is quarantined and the other"
                       " segments continue; default: 3")


def share(text):
    """Returns the numbers K and N of the text K/N."""
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts) or not 1 <= int(parts[0]) <= int(parts[1]):
        raise argparse.ArgumentTypeError(f"'{text}': expected K/N with K from 1 to N, as in 3/10")
    return int(parts[0]), int(parts[1])


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
        if options.cluster is None:
            processes.Starter.current(())  # it loads its modules while this process loads its own
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
