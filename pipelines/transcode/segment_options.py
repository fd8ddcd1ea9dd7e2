"""Command-line options of regions-transcode for files in segments."""

import argparse


def add_options(parser):
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


def is_wanted(options):
    return options.segments is not None or options.exact


def refusal(options):
    """Returns the reason why the options for segments are invalid, or None."""
    if options.segments is not None and not 0 < options.segments < float("inf"):
        return f"--segments {options.segments:g}: expected a number of seconds above 0"
    if options.warm_up is not None and not 0 <= options.warm_up < float("inf"):
        return f"--warm-up {options.warm_up:g}: expected a number of seconds, 0 or more"
    if options.attempts < 1:
        return f"--attempts {options.attempts}: expected a whole number, 1 or more"
    if (options.plan or options.segment) and not is_wanted(options):
        return "--plan and --segment require --segments SECONDS or --exact"
    if options.cluster is not None and not is_wanted(options):
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
