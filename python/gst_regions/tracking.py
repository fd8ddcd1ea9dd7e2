"""Regions of streams of pictures: Tracker."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _devices
from ._arrays import Array
from ._label_arguments import most_threads
from ._parameters import Parameters, Value, described
from .tables import table_of

CHANGES = ("births", "deaths", "splits", "merges", "lost")


@described(_core.tracker_fields())
class Tracker(Parameters):
    """Connected components that keep a number from picture to picture.

    What the element `cclabel` does with `track=true`: regions are matched by the pixels they share, then by where they
    are expected. A picture of another size or type begins anew, with new numbers. May be used by several threads, whose
    pictures come one after another.

    Parameters
    ----------
    threads : int
        As for `label`. The result does not depend on it.
    {parameters}

    Attributes
    ----------
    changes : what became of regions with the last picture, and how many are `lost` and waited for

    Raises
    ------
    TypeError
        There is no such parameter, or its value is of a wrong type.
    ValueError
        A value is beyond the limits.
    """

    _words = _core.tracker_fields()

    def __init__(self, *, threads: int = 0, **parameters: Value) -> None:
        self._threads = most_threads(threads)
        self._stream = _core.Tracker()
        self.changes = dict.fromkeys(CHANGES, 0)
        self.set(**parameters)

    def apply(self, image: Array, out: Array | None = None, *, stream: Any = None) -> tuple[Array, NDArray[Any]]:
        """The regions of the next picture.

        Parameters
        ----------
        image : array of shape (H, W), (H, W, 3) or (H, W, 4)
            bool (a mask), uint8, or without a third axis uint16; R, G, B.
        out : int32 array of shape (H, W), optional
            Written and returned in place of a new array; C-contiguous. Must not share memory with `image`.
        stream : optional
            As for `label`. The table of a picture on a device is NumPy's, and made of a copy of the labels.

        Returns
        -------
        labels : int32 array of shape (H, W), 1 … n as of `label`
        table : structured array
            As of `regionprops_table`, with `track`: the number that stays (int64), 0 of regions beyond `max_regions` and
            of those that are not born yet (`track_birth`).

        Raises
        ------
        TypeError
            The image's type is none of these, or `out` is not int32.
        ValueError
            The image has another shape.
        """
        if device := _devices.on_device(image):
            with _devices.on_stream(device, stream):
                return self._apply_on_device(device, out)
        values = _arrays.taken(image, "image")
        pixels = values.view(np.uint8) * np.uint8(255) if values.dtype == np.bool_ else values
        pixels = _arrays.picture(pixels, "image", kinds=(np.uint8, np.uint16) if values.ndim == 2 else (np.uint8,))
        place = _arrays.written(out, pixels.shape[:2], np.int32, values, "image")
        told = self._stream.apply(pixels, place, (self._threads, *_arrays.HOST))
        return _arrays.given(place, out, image), self._table(told, place, values)

    def _apply_on_device(self, image: _devices.DeviceArray, out: Array | None) -> tuple[Array, NDArray[Any]]:
        pixels = image
        if image.dtype == np.bool_:
            pixels = image.of(image.library.cast(image.array, np.dtype(np.uint8)) * 255)
        _arrays.expect_picture(pixels, "image", kinds=(np.uint8, np.uint16) if image.ndim == 2 else (np.uint8,))
        at = _devices.written(out, image.shape[:2], np.dtype(np.int32), image, "image")
        place = image.place()
        told = self._stream.apply(pixels.packed().capsule(place), image.library.capsule(at, place), place)
        labels = image.library.finished(at, place) if out is None else out
        return labels, self._table(told, image.of(labels).host(), image.host())

    def _table(self, told: tuple[int, list[int], list[int]], labels: NDArray[np.int32],
               values: NDArray[Any]) -> NDArray[Any]:
        count, tracks, changes = told
        self.changes = dict(zip(CHANGES, changes))
        known = table_of(labels, count, values)
        names = known.dtype.names or ()
        others = [(name, known.dtype[name]) for name in names[1:]]
        table = np.zeros(count, [("label", np.int64), ("track", np.int64), *others])
        for name in names:
            table[name] = known[name]
        table["track"][:len(tracks)] = tracks
        return table
