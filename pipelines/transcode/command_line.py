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

from files import Arguments
from transcode.profiles import EXPORTS, PROFILES


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
    options.rules_text, options.looks = None, {}
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
