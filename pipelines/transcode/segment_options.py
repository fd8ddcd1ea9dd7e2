"""What may be asked for of files in segments, on the command line of regions-transcode."""

import argparse


def add_options(parser):
    group = parser.add_argument_group("long files and archives")
    group.add_argument("--segments", type=float, metavar="SECONDS",
                       help="cut inputs at key frames into segments of about so many seconds, and work on -j of them at"
                       " once; what is finished is not repeated when the same command runs again; 60 suits most")
    group.add_argument("--warm-up", type=float, metavar="SECONDS",
                       help="seconds before a segment that its filter learns from; default: 0 for filters that learn"
                       " nothing, else 20")
    group.add_argument("--cluster", nargs="?", const="", metavar="ADDRESS",
                       help="spread segments over a cluster of Ray; without an address over one started here, which only"
                       " this machine reaches")
    group.add_argument("--cpus-per-task", type=float, default=1, metavar="N",
                       help="of a segment on a cluster, whose decoder and elements have so many threads; default: 1")
    group.add_argument("--gpus-per-task", type=float, default=0, metavar="N",
                       help="of a segment on a cluster, which may be a fraction; default: 0")
    group.add_argument("--memory-per-task", type=float, default=0, metavar="GIB",
                       help="of a segment on a cluster; default: 0, which reserves none")
    group.add_argument("--plan", action="store_true", help="only cut the inputs, for workers")
    group.add_argument("--segment", metavar="K/N", type=share, help="work on the K-th of N shares of planned segments,"
                       " K from 1 on: N such commands may run anywhere at once; the command without it joins what they"
                       " made, and makes what is missing")
    group.add_argument("--status", action="store_true", help="tell how far the job in DIR is; wants -o alone")
    group.add_argument("--exact", action="store_true", help="take each input as one segment")
    group.add_argument("--attempts", type=int, default=3, metavar="N",
                       help="how often a segment may fail in a run before it is quarantined, and the rest goes on;"
                       " default: 3")


def share(text):
    """K/N as numbers."""
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts) or not 1 <= int(parts[0]) <= int(parts[1]):
        raise argparse.ArgumentTypeError(f"'{text}': expected K/N with K from 1 to N")
    return int(parts[0]), int(parts[1])


def is_wanted(options):
    return options.segments is not None or options.exact


def refusal(options):
    """Why what was asked for of segments cannot be, or None."""
    if options.segments is not None and not 0 < options.segments < float("inf"):
        return f"--segments {options.segments:g}: expected a number of seconds above 0"
    if options.warm_up is not None and not 0 <= options.warm_up < float("inf"):
        return f"--warm-up {options.warm_up:g}: expected a number of seconds from 0"
    if options.attempts < 1:
        return f"--attempts {options.attempts}: expected a number from 1"
    if (options.plan or options.segment) and not is_wanted(options):
        return "--plan and --segment require --segments"
    if options.cluster is not None and (not is_wanted(options) or options.plan or options.segment):
        return "--cluster requires --segments, and excludes --plan and --segment"
    if not all(0 <= one < float("inf") for one in (options.cpus_per_task, options.gpus_per_task, options.memory_per_task)):
        return "--cpus-per-task, --gpus-per-task and --memory-per-task: expected numbers from 0"
    if options.gpus_per_task > 1 and options.gpus_per_task % 1:
        return f"--gpus-per-task {options.gpus_per_task:g}: expected a fraction below 1 or a whole number"
    if options.plan and options.segment:
        return "--plan excludes --segment: plan first, then start the commands with --segment"
    if options.warm_up is not None and options.segments is None:
        return "--warm-up requires --segments"
    return None
