"""The common part of this folder's scripts: their command line, and how a file passes a filter. The engine is
transcode/job.py, so sound, timestamps, colours and orientation are kept."""

import argparse
import functools
import os
import sys
import sysconfig

import standard_streams

standard_streams.reserve()
HERE = os.path.dirname(os.path.abspath(__file__))
from files import Arguments, Output, StandardOutput, make_folder, printable, unreadable  # noqa: E402  (see reserve())
from transcode import profiles  # noqa: E402

NAME = os.path.basename(sys.argv[0])
PHOTOS = "/usr/share/doc/opencv-doc/examples/data/"


def with_plugin():
    """Starts the program again through with-plugin, once, so that GStreamer finds the plugin. Does nothing if the plugin is
    in a folder where GStreamer looks, because a second start takes longer than many jobs."""
    if "REGIONS_ENVIRONMENT" not in os.environ:
        os.environ["REGIONS_ENVIRONMENT"] = "1"
        is_found = any(os.path.exists(os.path.join(folder, "libgstregions.so")) for folder in plugin_folders())
        if not is_found or "REGIONS_PRELOAD" in os.environ:
            environment = os.path.join(HERE, "with-plugin")
            os.execv(environment, [environment, sys.executable, *sys.argv])


def plugin_folders():
    """The folders in which GStreamer looks for plugins, without their subfolders."""
    def of(name):
        return os.environ.get(name + "_1_0", os.environ.get(name))

    places = of("GST_PLUGIN_SYSTEM_PATH")
    if places is None:
        data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        places = f"{data}/gstreamer-1.0/plugins:/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/gstreamer-1.0"
    return filter(None, f"{of('GST_PLUGIN_PATH') or ''}:{places}".split(":"))


def parser(doc):
    """A parser without options, because the name of a file may begin with a dash."""
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


def say(text, to=None):
    """Prints a line about the work."""
    standard_streams.print_line(printable(text), NAME, to)


def fail(text, status=1):
    say(f"{NAME}: {text}", sys.stderr)
    sys.exit(status)


def run(source, outputs, line, properties, profile, watch=None, first=None):
    """Takes a file through the filter `line`, whose first element of this plugin gets the properties, and ends the
    program. `outputs`: names of the files to write by their kind; None is standard output. `watch` prepares the filter
    and sees all frames, as sidecars do. `first`: a filter that the file passes before, and a sidecar that sees its
    frames."""
    import filters
    from transcode import job
    from transcode.progress import Screen

    problem = unreadable(source)
    if problem:
        fail(f"{source}: {problem}")
    names = [out for out in outputs.values() if out]
    if any(os.path.exists(out) and os.path.samefile(source, out) for out in names):
        fail(f"{source}: is the input and would be overwritten; choose another output", 2)
    try:
        filtered = filters.made(line, properties)
    except filters.BadFilter as bad:
        fail(bad, 2)
    files = {kind: functools.partial(Output, out) if out else StandardOutput
             for kind, out in outputs.items()}
    screen = Screen(NAME)
    if not all(outputs.values()):
        standard_streams.end_with_reader()

    def hear(**message):
        if message.get("problem", "").startswith(StandardOutput.path):
            screen.line(f"{NAME}: {message['problem']}", sys.stderr)
        elif names or "note" in message or "problem" in message:  # all else would be among the results
            screen.hear(source, message, names)

    if first:
        # The second pass repeats the notes.
        before = job.Job(os.path.abspath(source), {}, filters.made(first[0]), None,
                         lambda **message: "problem" in message and hear(**message))
        before.sidecars.append(first[1])
        if status := before.run():
            sys.exit(status)
    made = job.Job(os.path.abspath(source), files, filtered, profile, hear)
    if watch:
        watch.prepare(filtered)
        made.sidecars.append(watch)
    sys.exit(made.run())


def video(doc, line, profile="mp4"):
    """A whole script that makes a video from a video."""
    profile = profiles.PROFILES[profile]
    made = parser(doc)
    made.add_argument("file", metavar="FILE")
    made.add_argument("out", metavar="OUT" + profile.suffix)
    add_properties(made, line.split()[0])
    options = parse(made)
    run(options.file, {"video": options.out}, line, options.properties, profile)


def still(source, out, line, *properties, watch=None):
    """Makes a picture from a photograph."""
    try:
        make_folder(os.path.dirname(out) or ".")
    except OSError as error:
        fail(error.strerror)
    run(source, {"video": out}, line, properties, profiles.STILL, watch)
