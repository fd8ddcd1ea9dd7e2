"""GStreamer for the Python programs of this folder, and how they read the `regions` metadata."""

import struct
import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import GLib, Gst, GstVideo  # noqa: E402,F401  (after require_version)

Gst.init(None)
# PyGObject shows an enumeration to all threads before it sets its values and functions. This one is of the
# decoder's thread and of streaming threads, so it is made before they begin.
VideoFormat = GstVideo.VideoFormat


def first_structure(caps):
    """A copy of the first structure of caps. The Python of GStreamer 1.26 gives a context that holds
    it, which has no such methods; that of 1.22 and 1.28 gives the copy."""
    found = caps.get_structure(0)
    return found.__enter__().copy() if hasattr(found, "__enter__") else found


def stop_at_faults(stop):
    """What a callback raises ends nothing by itself: Python prints it, and GStreamer goes on. It is a
    fault of the program and says nothing of the input; `stop` is called with a text that says so."""

    def report(kind, fault, trace):
        sys.__excepthook__(kind, fault, trace)
        stop(f"a fault of this program, not of the input: {kind.__name__}: {fault}")

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
    """Lets the elements of a bin have so many threads each, where they would have more; 0: as they are."""
    for element in part.children if most else ():
        if isinstance(element, Gst.Bin):
            limit_threads(element, most)
        for name in ("cpu-threads", "max-threads", "n-threads", "threads"):
            if (known := element.find_property(name)) and known.value_type.name in ("gint", "guint"):
                now = element.get_property(name)
                element.set_property(name, min(now or most, most))  # 0: as many as there are processors


def regions_total(buffer):
    """How many regions were found in a frame; 0 where nothing looked for any."""
    meta = buffer.get_custom_meta("regions")
    return meta.get_structure().get_value("regions-total") if meta else 0


def regions_table(buffer):
    """The metadata of a frame as a dictionary without the label map, or None if there is none. `columns` are names of
    fields of regions, and `regions` their values, a sequence a region; None where a region has no such field.
    `adjacency` of superpixels becomes a list of [lower id, other id, sides of pixels], `runs` one of
    [id, x, y, width]."""
    meta = buffer.get_custom_meta("regions")
    if not meta:
        return None
    structure = meta.get_structure()
    lists = {"adjacency": "<3I", "runs": "<4I"}
    table = fields(structure, skip=("labels", "labels-format", "labels-width", "labels-height", "regions", "table",
                                    "table-columns", *lists))
    for name, numbers in lists.items():
        if structure.has_field(name):
            table[name] = [list(entry) for entry in struct.iter_unpack(numbers, bytes_in(structure, name))]
    if structure.has_field("table"):  # a region of the array costs twenty times as much
        columns = [column.split(":") for column in structure.get_value("table-columns").split()]
        numbers = "<" + "".join(NUMPY_TYPES[kind] for _, kind in columns)
        return table | {"columns": [name for name, _ in columns],
                        "regions": list(struct.iter_unpack(numbers, bytes_in(structure, "table")))}
    regions = [fields(region) for region in structure.get_value("regions")]
    columns = list(dict.fromkeys(name for region in regions for name in region))
    return table | {"columns": columns, "regions": [[region.get(name) for name in columns] for region in regions]}


def picked(table, *names):
    """Values of each region of a table in so many columns, None where there is none."""
    places = [table["columns"].index(name) if name in table["columns"] else None for name in names]
    return [[None if place is None else region[place] for place in places] for region in table["regions"]]


NUMPY_TYPES = {"<i4": "i", "<u4": "I", "<u8": "Q", "<f8": "d"}  # as struct spells them


def bytes_in(structure, name):
    packed = structure.get_value(name)
    return packed.extract_dup(0, packed.get_size())


def fields(structure, skip=()):
    names = (structure.nth_field_name(i) for i in range(structure.n_fields()))
    return {name: structure.get_value(name) for name in names if name not in skip}
