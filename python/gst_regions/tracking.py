"""Tracking of regions in videos: the class Tracker."""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, max_threads
from ._parameters import Parameters, documents_parameters
from .tables import table_of

CHANGE_NAMES = ("births", "deaths", "splits", "merges", "lost")


class TrackEvents(NamedTuple):
    """The ids of tracks that changed in a picture, see `Tracker.events`."""

    born: list[int]
    ended: list[int]
    lost: list[int]
    merged: list[tuple[int, int]]


class TrackerParameters(TypedDict, total=False):
    """The parameters of Tracker, for type checkers."""

    criterion: str
    threshold: float
    tolerance: float
    connectivity: str
    min_area: int
    max_area: int
    fill_holes: int
    max_regions: int
    track_birth: int
    track_memory: int


@documents_parameters(_core.tracker_fields())
class Tracker(Parameters):
    """Labels the connected regions of each picture and tracks them from picture to picture.

    This is the element `cclabel` with `track=true`. Regions are matched by common pixels, then by predicted position. A
    picture of another size or type restarts tracking with new numbers. Several threads may use one object; it processes
    their pictures one after another. Copies and pickles continue with the same tracks; they require pictures on the CPU.

    Parameters
    ----------
    threads : int
        Maximum number of CPU threads, as for `label`. The result does not depend on it.
    {parameters}

    Attributes
    ----------
    changes : dict with the numbers of births, deaths, splits and merges in the last picture, and of tracks now lost
    events : the ids of tracks that were born, ended, lost or merged in the last picture
    Each parameter is also an attribute, and can be set between two pictures.

    Raises
    ------
    TypeError
        A parameter does not exist, or its value has the wrong type.
    ValueError
        A value is outside its range.
    """

    _fields = _core.tracker_fields()
    _state_name = "tracks exist"

    criterion: str
    threshold: float
    tolerance: float
    connectivity: str
    min_area: int
    max_area: int
    fill_holes: int
    max_regions: int
    track_birth: int
    track_memory: int

    def __init__(self, *, threads: int = 0, **parameters: Unpack[TrackerParameters]) -> None:
        self._threads = max_threads(threads)
        self._algorithm = _core.Tracker()
        self._changes = dict.fromkeys(CHANGE_NAMES, 0)
        self._events: TrackEvents | None = TrackEvents([], [], [], [])
        self.set(**parameters)

    @property
    def changes(self) -> dict[str, int]:
        """The numbers of births, deaths, splits and merges in the last picture, and of tracks now lost."""
        return self._changes

    @property
    def events(self) -> TrackEvents:
        """The ids of tracks that changed in the last picture.

        `born` are new ids, also of regions that split off another region. `ended` are ids that do not occur again. `lost`
        are ids without a region that are still remembered. `merged` are pairs of ids: the region of the first track has
        become part of the region of the second one, whose id is 0 while it is younger than `track_birth`. The first
        track is also lost, or has ended.

        Raises
        ------
        ValueError
            The last picture was on a CUDA device.
        """
        if self._events is None:
            raise ValueError("the last picture was on a CUDA device, where only the numbers of changes are known; use the "
                             "attribute changes, or copy the pictures to the host")
        return self._events

    def __getstate__(self) -> dict[str, Any]:
        return {"threads": self._threads, "parameters": self.parameters, "tracks": self._algorithm.state(),
                "changes": self._changes, "events": self._events}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Tracker.__init__(self, threads=state["threads"], **state["parameters"])
        self._changes, self._events = state["changes"], state["events"]
        if state["tracks"]:
            self._algorithm.load(state["tracks"])

    def apply(self, image: Array, out: Array | None = None, *, stream: Any = None) -> tuple[Array, NDArray[Any]]:
        """Returns the regions of the next picture and updates the tracks.

        Parameters
        ----------
        image : array of shape (H, W), (H, W, 3) or (H, W, 4)
            A picture with two axes has elements of type bool (a mask), uint8 or uint16. A picture with three axes has
            R, G, B, or R, G, B and an ignored alpha channel, of type uint8.
        out : int32 array of shape (H, W), optional
            C-contiguous array that is written and returned instead of a new array. Must not share memory with `image`.
        stream : optional
            CUDA stream, as for `label`. The table is always a NumPy array. For an image on a device, the image and the
            labels are copied to the host for it.

        Returns
        -------
        labels : int32 array of shape (H, W), 1 … n as for `label`
        table : structured array
            The table of `regionprops_table` with three additional columns (int64). `track` is the number that a region
            keeps from picture to picture. It is 0 for regions beyond `max_regions`, for regions that are younger than
            `track_birth`, and for pieces. `still` is the number of consecutive pictures in which the region has not
            moved. `part_of` is the track of the object that the region is a piece of, and 0 for all other regions:
            regions that move together are pieces of one object, and the oldest of them has its track.

        Raises
        ------
        TypeError
            The type of the image is not supported, or `out` is not int32.
        ValueError
            The image has another shape.
        """
        if device_array := _device_arrays.as_device_array(image):
            with _device_arrays.on_stream(device_array, stream):
                return self._apply_on_device(device_array, out)
        values = _arrays.as_numpy(image, "image")
        pixels = values.view(np.uint8) * np.uint8(255) if values.dtype == np.bool_ else values
        pixels = _arrays.as_picture(pixels, "image", types=(np.uint8, np.uint16) if values.ndim == 2 else (np.uint8,))
        if values.ndim == 2 and self.criterion == "binary":
            _arrays.warn_of_dark_mask(values, "image", 255 * self.threshold)
        labels = _arrays.separate_output(out, pixels.shape[:2], np.int32, values, "image")
        tracking = self._algorithm.apply(pixels, labels, (self._threads, *_arrays.CPU_TARGET))
        return _arrays.result_of(labels, out, image), self._table(tracking, labels, values)

    def _apply_on_device(self, image: _device_arrays.DeviceArray, out: Array | None) -> tuple[Array, NDArray[Any]]:
        pixels = image
        if image.dtype == np.bool_:
            pixels = image.wrap(image.library.cast(image.array, np.dtype(np.uint8)) * 255)
        _arrays.expect_picture(pixels, "image", types=(np.uint8, np.uint16) if image.ndim == 2 else (np.uint8,))
        device_labels = _device_arrays.separate_output(out, image.shape[:2], np.dtype(np.int32), image, "image")
        target = image.target()
        output_capsule = image.library.capsule(device_labels, target)
        tracking = self._algorithm.apply(pixels.packed().capsule(target), output_capsule, target)
        labels = image.library.finished(device_labels, target) if out is None else out
        return labels, self._table(tracking, image.wrap(labels).host(), image.host())

    def _table(self, tracking: _core.Tracking, labels: NDArray[np.int32], values: NDArray[Any]) -> NDArray[Any]:
        count, tracks, changes, ids = tracking
        self._changes = dict(zip(CHANGE_NAMES, changes))
        self._events = ids and TrackEvents(*ids)
        measured = table_of(labels, count, values)
        fields: Any = measured.dtype.descr
        names = "track", "still", "part_of"
        table = np.zeros(count, [fields[0], *((name, np.int64) for name in names), *fields[1:]])
        for name in measured.dtype.names or ():
            table[name] = measured[name]
        for name, column in zip(names, np.array(tracks, np.int64).reshape(-1, len(names)).T):
            table[name][:len(tracks)] = column
        return table
