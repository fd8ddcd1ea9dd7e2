"""What the scripts of this folder share: their command line, and how a file passes a filter. The
engine is transcode/job.py: sound, timestamps, colours and which side is up are kept as there."""

import argparse
import functools
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "transcode"))
import profiles  # noqa: E402  (after the path)
from files import Arguments, Output, StandardOutput, printable, unreadable  # noqa: E402

NAME = os.path.basename(sys.argv[0])
PHOTOS = "/usr/share/doc/opencv-doc/examples/data/"


def with_plugin():
    """Starts the program again through with-plugin, once, so that our elements are found."""
    if "REGIONS_ENVIRONMENT" not in os.environ:
        os.environ["REGIONS_ENVIRONMENT"] = "1"
        environment = os.path.join(HERE, "with-plugin")
        os.execv(environment, [environment, sys.executable, *sys.argv])


def parser(doc):
    """What begins with a dash may be the name of a file, so nothing is an option."""
    return Arguments(NAME, description=doc, prefix_chars="\0", add_help=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)


def add_properties(made, element):
    made.add_argument("properties", metavar="PROPERTY=VALUE", nargs="*", default=[],
                      help=f"of {element}; gst-inspect-1.0 {element} lists them")


def parse(made):
    if sys.argv[1:] in (["-h"], ["--help"]):
        made.print_help()
        sys.exit(0)
    options = made.parse_args()
    with_plugin()
    return options


def fail(text, status=1):
    print(printable(f"{NAME}: {text}"), file=sys.stderr)
    sys.exit(status)


def run(source, outputs, line, properties, profile, watch=None):
    """Takes a file through the filter `line`, whose first element of ours gets the properties, and ends
    the program. `outputs`: the name of what is written by its kind, None for standard output. `watch` prepares the
    filter and sees all frames, as what is written beside them does."""
    import filters
    import job
    from screen import Screen

    problem = unreadable(source)
    if problem:
        fail(f"{source}: {problem}")
    names = [out for out in outputs.values() if out]
    if any(os.path.exists(out) and os.path.samefile(source, out) for out in names):
        fail(f"{source}: is the input, and would be overwritten", 2)
    try:
        filtered = filters.made(line, properties)
    except filters.BadFilter as bad:
        fail(bad, 2)
    files = {kind: functools.partial(Output, out) if out else StandardOutput
             for kind, out in outputs.items()}
    screen = Screen(NAME)

    def say(**said):
        if names or "note" in said or "problem" in said:  # the rest would stand among results
            screen.hear(source, said, names)

    made = job.Job(os.path.abspath(source), files, filtered, profile, say)
    if watch:
        watch.prepare(filtered)
        made.sidecars.append(watch)
    sys.exit(made.run())


def video(doc, line, profile="mp4"):
    """The whole of a script that makes a video of a video."""
    profile = profiles.PROFILES[profile]
    made = parser(doc)
    made.add_argument("file", metavar="FILE")
    made.add_argument("out", metavar="OUT" + profile.suffix)
    add_properties(made, line.split()[0])
    options = parse(made)
    run(options.file, {"video": options.out}, line, options.properties, profile)


def still(source, out, line, *properties, watch=None):
    """Makes a picture of a photograph."""
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    run(source, {"video": out}, line, properties, profiles.STILL, watch)
