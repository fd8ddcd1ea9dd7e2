"""Events of zones and lines, computed from tables of regions (see gstreamer.regions_table). Live pipelines and archives have
one implementation: a table becomes the metadata of an empty frame, and the element regionevents evaluates it.

EventLines writes the events of a file while it is transcoded or joined (regions-transcode --events). find() reads stored JSON
(regions-transcode --find)."""

import ctypes
import json
import re

from files import opened
from gstreamer import Gst, c_function, error_text, event_of
from standard_streams import print_result
from transcode.exports import WRITERS, Lines, SidecarProblem

EVENTS = ("enter", "leave", "occupancy", "loitering", "crowding", "crowding-end", "stopped", "moving", "abandoned", "removed",
          "direction", "motion", "motion-end", "crossing", "scene-change", "scene-steady")
TABLES = {*WRITERS, "events"}  # the kinds of sidecars that are made from tables
MAX_RULES = 1 << 20  # bytes
TYPES = {"id": "uint", "track": "uint", "x": "int", "y": "int", "width": "int", "height": "int", "area": "guint64",
         "cx": "double", "cy": "double"}


class BadRules(Exception):
    """Rules cannot be used. The message gives the reason."""


def rules_in(path):
    """The text of a file of rules. Raises BadRules if the rules are not valid."""
    try:
        with opened(path) as file:
            text = file.read(MAX_RULES + 1).decode()
    except (OSError, UnicodeDecodeError) as problem:
        raise BadRules(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}") from problem
    if not text.lstrip().startswith(("{", "[")):  # the element would take it for the name of a file
        raise BadRules(f"{path}: expected JSON, an object or an array")
    try:
        Replay(text)
    except BadRules as problem:
        raise BadRules(f"{path}: {problem}") from problem
    return text


class Replay:
    """Evaluates rules (a text) for the tables of consecutive frames."""

    def __init__(self, rules):
        self.element, self.bus = Gst.ElementFactory.make("regionevents"), Gst.Bus()
        sink = Gst.ElementFactory.make("fakesink")
        for name, value in (("sync", False), ("async", False)):
            sink.set_property(name, value)
        self.element.set_property("rules", rules)
        self.element.set_bus(self.bus)
        self.element.link(sink)
        self.sink = sink
        self.pad = Gst.Pad.new("src", Gst.PadDirection.SRC)
        self.pad.link(self.element.get_static_pad("sink"))
        self.pad.set_active(True)
        sink.set_state(Gst.State.PLAYING)
        if self.element.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
            raise BadRules(error_text(self.bus.pop_filtered(Gst.MessageType.ERROR)))
        segment = Gst.Segment()
        segment.init(Gst.Format.TIME)
        for event in (Gst.Event.new_stream_start("tables"), Gst.Event.new_caps(Gst.Caps.from_string("application/x-table")),
                      Gst.Event.new_segment(segment)):
            self.pad.push_event(event)

    def __del__(self):
        for element in (self.element, getattr(self, "sink", None)):
            if element:
                element.set_state(Gst.State.NULL)

    def events(self, table):
        """Returns the events of a frame."""
        buffer = Gst.Buffer.new()
        buffer.pts = round(table["time"] * Gst.SECOND)
        described = structure_of(table)
        if "runs" in table:
            numbers = [number for run in table["runs"] for number in run]
            described.set_value("runs", Gst.Buffer.new_wrapped(b"".join(n.to_bytes(4, "little") for n in numbers)))
        if "scene-change" in table:
            described.set_value("scene-change", table["scene-change"])
        if "layers" in table:
            described.set_value("layers", table["layers"])
        attach(buffer, described)
        self.pad.push(buffer)
        found = []
        while message := self.bus.pop():
            if message.type == Gst.MessageType.WARNING:
                raise SidecarProblem(f"frame {table['frame']}: {message.parse_warning()[0].message}")
            if message.type == Gst.MessageType.ELEMENT:
                found.append(event_of(message.get_structure()) | {"frame": table["frame"]})
        return found


ADD_META = c_function("gst_buffer_add_custom_meta", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
STRUCTURE_OF = c_function("gst_custom_meta_get_structure", ctypes.c_void_p, ctypes.c_void_p)
VALUE_OF = c_function("gst_structure_get_value", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
SET_VALUE = c_function("gst_structure_set_value", None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def attach(buffer, described):
    """Attaches the `regions` metadata with these fields to a buffer. PyGObject can only read it: it returns a copy of the
    structure."""
    structure = STRUCTURE_OF(ADD_META(hash(buffer), b"regions"))
    for at in range(described.n_fields()):
        name = described.nth_field_name(at).encode()
        SET_VALUE(structure, name, VALUE_OF(hash(described), name))


def structure_of(table):
    """The regions of a table as a structure. Its text is parsed by GStreamer, which takes a quarter of the time of setting
    each field from Python."""
    places = {name: at for at, name in enumerate(table["columns"])}
    columns = [(name, kind, places[name]) for name, kind in TYPES.items() if name in places]
    first_seen = places.get("first-seen")
    regions = []
    for region in table["regions"]:
        fields = [f"{name}=({kind}){region[at]}" for name, kind, at in columns]
        if first_seen is not None and region[first_seen] is not None:
            fields.append("first-seen=(guint64)0")  # the element only reads whether there is one
        regions.append('"region, ' + ", ".join(fields) + ';"')
    parsed = Gst.Structure.from_string(
        f"table, algorithm=(string)table, width=(int){table['width']}, height=(int){table['height']},"
        f" regions-total=(uint){table['regions-total']}, regions=(structure)< {', '.join(regions)} >;")
    if not parsed or not parsed[0]:
        raise ValueError("a number does not fit its column")
    return parsed[0]


class EventLines(Lines):
    """One JSON object per event."""

    def __init__(self, fd, path, rules):
        super().__init__(fd, path)
        self.replay = Replay(rules)

    def add(self, table):
        for event in self.replay.events(table):
            self.file.write(json.dumps(event, ensure_ascii=False) + "\n")


def writer_of(kind, file, rules):
    """The writer of a kind of TABLES for an open output."""
    return EventLines(file.fd, file.path, rules) if kind == "events" else WRITERS[kind](file.fd, file.path)


NUMBER = (int, float)
LINE_ERRORS = ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError  # of table_in()


def table_in(line):
    """The table in a line of stored JSON. Raises ValueError if the line is something else."""
    table = json.loads(line)
    regions, columns = table["regions"], table["columns"]
    is_whole = (all(isinstance(table[name], int) for name in ("frame", "width", "height", "regions-total"))
                and isinstance(table["time"], NUMBER) and table["time"] >= 0
                and all(isinstance(name, str) and re.fullmatch(r"[\w-]+", name) for name in columns)
                and all(len(region) == len(columns) and all(value is None or isinstance(value, NUMBER) for value in region)
                        for region in regions)
                and all(len(run) == 4 and all(isinstance(n, int) and 0 <= n < 1 << 32 for n in run)
                        for run in table.get("runs", ())))
    if not is_whole:
        raise ValueError("a value has another type than regions-transcode --json writes")
    return table


def find(paths, rules, kinds):
    """Prints the events of files of stored regions, one JSON object per line, in the order of the files. `kinds`: the names
    of the events, or None for all. Yields a message for each file that cannot be read."""
    for path in paths:
        replay, number = Replay(rules), 0
        try:
            with opened(path) as file:
                for number, line in enumerate(file, 1):
                    for event in replay.events(table_in(line)):
                        if kinds is None or event["event"] in kinds:
                            print_result(json.dumps(event | {"source": path}, ensure_ascii=False), "regions-transcode")
        except SidecarProblem as problem:
            yield f"{path}: {problem}"
        except OSError as problem:
            yield f"{path} cannot be read: {problem.strerror}"
        except LINE_ERRORS as problem:
            yield f"{path}: line {number} is not a frame of regions-transcode --json: {problem}"
