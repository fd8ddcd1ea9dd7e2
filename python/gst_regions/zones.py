"""Zones and lines, and the events of objects in them: the class Zones."""

from __future__ import annotations

import json
import numbers
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array
from .tables import Table, compact_labels

Event = dict[str, Any]
MAX_SECONDS = 9e9  # of a time, so that it fits 64 bits as nanoseconds


class Visit(NamedTuple):
    """An object in a zone."""

    zone: str
    label: int
    track: int  # 0 without tracks
    dwell: float | None  # seconds; None without tracks


class Zones:
    """Reports who enters a zone, stays too long or crosses a line, from tables of regions.

    Rules and events are the same as for the element `regionevents`: `docs/events.md` describes both. Several threads may
    use one object; it processes their tables one after another.

    Parameters
    ----------
    rules : path, str, dict or list
        Rules as JSON: the path of a file, the text, or the objects that `json.loads()` returns. A str that begins with
        `{` or `[` is a text, and another str is a path.
    shape : (int, int), optional
        Height and width of the pictures. They are needed if the rules are fractions, or if the rules are for another
        size. Without it, the size is that of the labels, else that of the rules.
    fps : float
        Pictures per second, for tables that are passed without a time.

    Attributes
    ----------
    zones : dict of dict
        The state of each zone after the last table, by its id: `count`, the number of objects inside; `entered` and
        `left`, the numbers of objects that did so until now; and `foreground`, the share of the zone that is foreground, if
        it was measured.
    lines : dict of dict
        The numbers of crossings until now, by the id of the line: `to_left` and `to_right`.
    visits : list of tuples
        The objects in zones after the last table: `zone`, `label`, `track` and `dwell`, the time inside (seconds).
        Without tracks, `track` is 0 and `dwell` is None.

    Raises
    ------
    TypeError
        An argument has the wrong type.
    ValueError
        The rules are not valid, or an argument is out of range. The message names the rule and the key.
    OSError
        The file cannot be read.
    """

    def __init__(self, rules: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any], *,
                 shape: tuple[int, int] | None = None, fps: float = 25.0) -> None:
        self._fps, self._time = _number_in(fps, "fps", 1e-3, 1e6), 0.0
        self._shape = None if shape is None else _size_of(shape)
        self._is_first = True
        self._names: NDArray[Any] | None = None  # the label of each number in the compiled module
        self._zones = _core.Zones(_text_of(rules))

    def __reduce__(self) -> NoReturn:
        raise TypeError("Zones cannot be copied or pickled, because its visits cannot be saved; make new Zones with the "
                        "same rules")

    def set_rules(self, rules: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any]) -> None:
        """Replaces the rules. Zones and lines with the same id keep their objects and counts.

        Parameters
        ----------
        rules : path, str, dict or list
            As for the class. Rules that are not valid raise ValueError, and the earlier rules stay.
        """
        self._zones.set_rules(_text_of(rules))

    def update(self, table: Table, labels: Array | None = None, *, time: float | None = None,
               scene_change: str = "none") -> list[Event]:
        """Evaluates the table of the next picture and returns its events.

        Parameters
        ----------
        table : structured array, dict of columns or pandas.DataFrame
            A table of `Tracker.apply`, `regionprops_table`, `label`, `slic` or `from_supervision`. It has the columns
            `bbox-0` … `bbox-3` (or `bbox_0` …), and optionally `label`, `centroid-0` and `centroid-1`, and `track`.
            Without the column `track`, objects have no identity, and zones report only occupancy, crowding and motion.
            Objects with the track 0 are not followed.
        labels : integer array of shape (H, W), optional
            The labels of the table. Required by zones with `anchor` = `area` or with `motion-share`; without such zones,
            only the shape is used. An array on a CUDA device is copied to the host.
        time : float, optional
            Time of the picture in seconds, at least 0. If it is earlier than the previous time, all objects are
            forgotten first. The default is 0 for the first picture, then the previous time plus 1 / `fps`.
        scene_change : str
            The attribute `scene_change` of `BackgroundCut` for this picture. While it is not "none", the table is not
            read, and visits wait.

        Returns
        -------
        list of dict
            The events of the picture, with the fields that `docs/events.schema.json` describes: `event`, `zone` or
            `line`, `time`, and more for some events. `id` is the label of the object.

        Raises
        ------
        TypeError
            A column has elements of the wrong type, or an argument has the wrong type.
        ValueError
            A column is missing or has another length, a value is out of range, a label of the table is not in `labels`,
            or the rules do not fit the size of the picture.
        """
        if not isinstance(scene_change, str):
            raise TypeError(f"scene_change is of type {type(scene_change).__name__}, must be str")
        columns = _Columns(table)
        now = self._next_time() if time is None else _number_in(time, "time", 0, MAX_SECONDS)
        needs_labels, needs_centroids = self._zones.required()
        boxes = _boxes_of(columns)
        centers = _centers_of(columns, boxes, needs_centroids)
        if labels is None and needs_labels:
            raise ValueError(f"{needs_labels} requires the pixels of the objects; pass labels")
        height, width = self._size(labels)
        # Without rules that read pixels, only the size of the labels is of interest.
        numbers, names, pixels = _numbered(columns, labels if needs_labels else None)
        found: list[Event] = self._zones.update(round(now * 1e9), width, height, boxes, centers, numbers,
                                                _tracks_of(columns), pixels, scene_change)
        self._time, self._is_first, self._names = now, False, names
        for event in found:
            if event.get("id"):
                event["id"] = _name_of(event["id"], names)
        return found

    @property
    def zones(self) -> dict[str, dict[str, Any]]:
        """The state of each zone after the last table, by its id."""
        return self._zones.states()[0]

    @property
    def lines(self) -> dict[str, dict[str, int]]:
        """The numbers of crossings until now, by the id of the line."""
        return self._zones.states()[1]

    @property
    def visits(self) -> list[Visit]:
        """The objects in zones after the last table."""
        names = self._names
        return [Visit(zone, _name_of(number, names), track, None if dwell < 0 else dwell)
                for zone, number, track, dwell in self._zones.visits()]

    def reset(self) -> None:
        """Forgets all objects, counts and the time. The rules stay."""
        self._zones.reset()
        self._time, self._is_first = 0.0, True

    def _next_time(self) -> float:
        return 0.0 if self._is_first else self._time + 1 / self._fps

    def _size(self, labels: Array | None) -> tuple[int, int]:
        """Returns the height and the width of the picture, or 0, 0 if they are unknown."""
        if labels is not None:
            shape = tuple(labels.shape) if hasattr(labels, "shape") else np.shape(labels)
            _arrays.expect_shape(shape, "labels", 2)
            if self._shape not in (None, shape):
                raise ValueError(f"labels has shape {shape}, must have {self._shape}, the shape of the pictures")
            return shape[0], shape[1]
        if self._shape:
            return self._shape
        width, height, _ = self._zones.drawn_size()
        return height, width


def _name_of(number: int, names: Any) -> int:
    """Returns the label of a number in the compiled module."""
    return number if names is None else int(names[number - 1])


def _text_of(rules: Any) -> str:
    """Returns the rules as JSON text."""
    if isinstance(rules, str) and rules.lstrip().startswith(("{", "[")):
        rules.encode()  # raises UnicodeEncodeError, a ValueError, for surrogates
        return rules
    if isinstance(rules, (str, os.PathLike)):
        try:
            return pathlib.Path(rules).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{os.fspath(rules)} is not a text file in UTF-8: {error}") from None
    if not isinstance(rules, (Mapping, Sequence)) or isinstance(rules, (bytes, bytearray)):
        raise TypeError(f"rules is of type {type(rules).__name__}, must be a path, str, dict or list")
    try:
        return json.dumps(dict(rules) if isinstance(rules, Mapping) else list(rules), default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"rules cannot be written as JSON: {error}") from None


def _plain(value: Any) -> Any:
    """Converts NumPy's numbers and arrays for JSON."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__} is not part of JSON")


def _size_of(shape: Any) -> tuple[int, int]:
    try:
        height, width = map(int, shape)
    except (TypeError, ValueError):
        raise TypeError(f"shape is {shape!r}, must be (height, width)") from None
    if not (1 <= height <= 65535 and 1 <= width <= 65535):
        raise ValueError(f"shape is {shape!r}, must have sides of 1 to 65535")
    return height, width


def _number_in(value: Any, name: str, least: float, most: float) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is of type {type(value).__name__}, must be a number")
    number = float(value)
    if not least <= number <= most:
        raise ValueError(f"{name} is {value}, must be {least:g} to {most:g}")
    return number


class _Columns:
    """The columns of a table by name. All have the same length."""

    def __init__(self, table: Any) -> None:
        names = table.dtype.names if isinstance(table, np.ndarray) else getattr(table, "columns", None)
        if names is None and isinstance(table, Mapping):
            names = table
        if names is None:
            raise TypeError(f"table is of type {type(table).__name__}, must be a structured array, a dict of columns or a "
                            "pandas.DataFrame")
        self._table, self._known = table, set(names)
        if isinstance(table, np.ndarray) and table.ndim != 1:
            raise ValueError(f"table has {table.ndim} axes, must have 1")
        if self._named("bbox", 4) or not self._named("bbox", 3):
            raise ValueError("table has no boxes of pictures (columns bbox-0 to bbox-3); pass a table of Tracker.apply, "
                             "regionprops_table, label or slic")
        self.length = len(self.coordinates("bbox", 0))

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def _named(self, name: str, index: int) -> str | None:
        """Returns the name of a column of several, with either separator."""
        return next((full for full in (f"{name}-{index}", f"{name}_{index}") if full in self._known), None)

    def has(self, name: str, index: int) -> bool:
        return self._named(name, index) is not None

    def coordinates(self, name: str, index: int) -> NDArray[np.float64]:
        full = self._named(name, index)
        if full is None:
            raise ValueError(f"table has no column {name}-{index}")
        column = self._column(full)
        if column.dtype.kind not in "iuf":
            raise TypeError(f"column {full} has elements of type {column.dtype}, must have numbers")
        values: NDArray[np.float64] = column.astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"column {full} has a value that is not finite")
        return values

    def integers(self, name: str) -> Any:
        column = self._column(name)
        if column.dtype.kind not in "iu":
            raise TypeError(f"column {name} has elements of type {column.dtype}, must have integers")
        if len(column) and column.dtype.kind == "i" and column.min() < 0:
            raise ValueError(f"column {name} has the negative value {column.min()}, must have values of at least 0")
        return column

    def _column(self, name: str) -> Any:
        column = np.asarray(self._table[name])
        if column.ndim != 1:
            raise ValueError(f"column {name} has {column.ndim} axes, must have 1")
        if hasattr(self, "length") and len(column) != self.length:
            raise ValueError(f"column {name} has {len(column)} values, must have {self.length}, as bbox-0 has")
        return column


def _boxes_of(columns: _Columns) -> NDArray[np.float64]:
    """Returns the left, top, right and bottom edge of each box."""
    top, left, bottom, right = (columns.coordinates("bbox", index) for index in range(4))
    if (bad := np.flatnonzero((bottom <= top) | (right <= left))).size:
        row = bad[0]
        raise ValueError(f"row {row} has the empty box {top[row]:g}, {left[row]:g}, {bottom[row]:g}, {right[row]:g}; the "
                         "end of a box is after its start")
    return np.ascontiguousarray(np.stack([left, top, right, bottom], -1))


def _centers_of(columns: _Columns, boxes: NDArray[np.float64], needs_centroids: str) -> NDArray[np.float64]:
    """Returns x and y of the centroids, measured between pixels: the first pixel has its centre at 0.5, 0.5."""
    if columns.has("centroid", 0) and columns.has("centroid", 1):
        return np.ascontiguousarray(np.stack([columns.coordinates("centroid", 1), columns.coordinates("centroid", 0)], -1) + 0.5)
    if needs_centroids:
        raise ValueError(f"{needs_centroids} has the anchor centroid, but table has no columns centroid-0 and centroid-1")
    return np.ascontiguousarray((boxes[:, :2] + boxes[:, 2:]) / 2)


def _tracks_of(columns: _Columns) -> NDArray[np.uint64] | None:
    if "track" not in columns:
        return None
    return np.ascontiguousarray(columns.integers("track"), np.uint64)


def _numbered(columns: _Columns, labels: Array | None) -> tuple[NDArray[np.uint64], Any, NDArray[np.int32] | None]:
    """Returns the numbers of the objects for the compiled module, their labels by number, and the label map with these
    numbers. The labels are None if they equal the numbers."""
    values = columns.integers("label") if "label" in columns else None
    if labels is None:
        return np.arange(1, columns.length + 1, dtype=np.uint64), values, None
    if values is None:
        raise ValueError("table has no column label, which says where the objects are in labels")
    host = _arrays.as_numpy(_device_arrays.to_host(labels), "labels")
    pixels, original, max_label = compact_labels(host, "labels")
    present = np.zeros(max_label + 1, bool)
    present[pixels.ravel()] = True
    places = values if original is None else np.searchsorted(original, values) + 1
    known = (values > 0) & (places <= max_label)
    known[known] = present[places[known]] if original is None else original[places[known] - 1] == values[known]
    if not known.all():
        raise ValueError(f"label {values[~known][0]} of the table is not in labels")
    return np.ascontiguousarray(places, np.uint64), original, pixels
