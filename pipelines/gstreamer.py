"""Initializes GStreamer for the Python programs in this folder and reads the `regions` metadata."""

import ctypes
import datetime
import struct
import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import GLib, Gst, GstVideo  # noqa: E402,F401  (after require_version)

Gst.init(None)
# PyGObject publishes an enumeration before its values and functions are complete. The decoder's thread and streaming
# threads both use this enumeration, so it is created here, before these threads start.
VideoFormat = GstVideo.VideoFormat


def c_function(name, result, *arguments, library="libgstreamer-1.0.so.0"):
    """A function of GStreamer that PyGObject cannot call as needed, or calls slowly. Its arguments have types of ctypes. The
    address of an object is the hash of its wrapper."""
    found = getattr(ctypes.CDLL(library), name)
    found.restype, found.argtypes = result, arguments
    return found


KEPT = threading.local()


def keep_thread_state():
    """For callbacks that run often in a thread of GStreamer. Python creates a state for such a thread at each callback, maps memory
    for it, and frees both afterwards. The first call of this function in a thread keeps the state until the process ends."""
    if not hasattr(KEPT, "is_kept"):
        KEPT.is_kept = True
        ctypes.pythonapi.PyGILState_Ensure()


def first_structure(caps):
    """Returns a copy of the first structure of `caps`. The Python bindings of GStreamer 1.26 return a context manager
    around the structure; the bindings of 1.22 and 1.28 return a copy."""
    found = caps.get_structure(0)
    return found.__enter__().copy() if hasattr(found, "__enter__") else found


def stop_at_faults(stop):
    """Calls `stop` with a message when a callback or thread raises an exception. Otherwise Python would only print the
    exception and GStreamer would continue. The message blames the program, not the input file."""

    def report(kind, fault, trace):
        sys.__excepthook__(kind, fault, trace)
        stop(f"internal error of this program (the input is not the cause): {kind.__name__}: {fault}")

    sys.excepthook = report
    threading.excepthook = lambda raised: report(*raised[:3])


def error_text(message, outputs=()):
    """The text of an element's error message, without the line of GStreamer's code. If the element writes one of the
    `outputs` (files.Output), the text names the file."""
    error, detail = message.parse_error()
    cause = detail.splitlines()[-1] if detail and "\n" in detail else ""
    text = error.message + (f" ({cause})" if cause else "")
    if outputs and isinstance(message.src, Gst.Element) and message.src.get_factory().get_name() == "fdsink":
        paths = {output.fd: output.path for output in outputs}
        text = f"{paths[message.src.get_property('fd')]} cannot be written: {text}"
    return text


def limit_threads(part, most):
    """Limits each element of the bin `part` to at most `most` threads. 0 changes nothing."""
    for element in part.children if most else ():
        if isinstance(element, Gst.Bin):
            limit_threads(element, most)
        for name in ("cpu-threads", "max-threads", "n-threads", "threads"):
            if (known := element.find_property(name)) and known.value_type.name in ("gint", "guint"):
                now = element.get_property(name)
                element.set_property(name, min(now or most, most))  # a property of 0 means one thread per processor


def regions_total(buffer):
    """Returns the number of regions found in a frame, or 0 if the frame has no `regions` metadata."""
    meta = buffer.get_custom_meta("regions")
    return meta.get_structure().get_value("regions-total") if meta else 0


def event_of(structure):
    """Returns an event (a structure of regionevents) as a dictionary. Times are in seconds, `utc` is a text."""
    event = fields(structure)
    for name in ("time", "dwell"):
        if name in event:
            event[name] = round(event[name] / Gst.SECOND, 6)
    if "utc" in event:
        event["utc"] = utc_text(event["utc"] / Gst.SECOND)
    return {name: round(value, 3) if name in ("x", "y", "angle", "share") else value for name, value in event.items()}


def utc_text(seconds):
    """A time in seconds since 1970 as a text with milliseconds."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="milliseconds")


def events_of(buffer):
    """Returns the events in a frame's metadata, or None if no regionevents has seen the frame."""
    meta = buffer.get_custom_meta("regions")
    structure = meta.get_structure() if meta else None
    if not structure or not structure.has_field("events"):
        return None
    return [event_of(event) for event in structure.get_value("events")]


def regions_table(buffer):
    """Returns the `regions` metadata of a frame as a dictionary without the label map, or None without metadata.

    `columns` lists the field names of regions. `regions` has one sequence of values per region; a value is None if the
    region lacks that field. `adjacency` (of superpixels) becomes a list of [lower id, higher id, number of shared pixel
    sides], and `runs` becomes a list of [id, x, y, width]."""
    meta = buffer.get_custom_meta("regions")
    if not meta:
        return None
    structure = meta.get_structure()
    lists = {"adjacency": "<3I", "runs": "<4I"}
    # The results of regionevents have their own file, see events_of().
    results = [name + more for name in ("zones", "lines", "visits", "shapes", "numbers") for more in ("", "-columns")]
    table = fields(structure, skip=("labels", "labels-format", "labels-width", "labels-height", "regions", "table",
                                    "table-columns", "events", "zone-ids", "line-ids", "caption", "caption-color", *results, *lists))
    for name, numbers in lists.items():
        if structure.has_field(name):
            table[name] = [list(entry) for entry in struct.iter_unpack(numbers, bytes_in(structure, name))]
    if structure.has_field("table"):  # reading the array `regions` takes twenty times as long per region
        columns = [column.split(":") for column in structure.get_value("table-columns").split()]
        numbers = "<" + "".join(NUMPY_TYPES[kind] for _, kind in columns)
        return table | {"columns": [name for name, _ in columns],
                        "regions": list(struct.iter_unpack(numbers, bytes_in(structure, "table")))}
    regions = [fields(region) for region in structure.get_value("regions")]
    columns = list(dict.fromkeys(name for region in regions for name in region))
    return table | {"columns": columns, "regions": [[region.get(name) for name in columns] for region in regions]}


def picked(table, *names):
    """Returns the values of the columns `names` for each region of a table. Missing values are None."""
    places = [table["columns"].index(name) if name in table["columns"] else None for name in names]
    return [[None if place is None else region[place] for place in places] for region in table["regions"]]


NUMPY_TYPES = {"<i4": "i", "<u4": "I", "<u8": "Q", "<f8": "d"}  # NumPy type: format character of struct


def bytes_in(structure, name):
    packed = structure.get_value(name)
    return packed.extract_dup(0, packed.get_size())


def fields(structure, skip=()):
    names = (structure.nth_field_name(i) for i in range(structure.n_fields()))
    return {name: structure.get_value(name) for name in names if name not in skip}
