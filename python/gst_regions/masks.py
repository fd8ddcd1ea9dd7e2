"""Masks without what is small or enclosed: remove_small_objects, remove_small_holes, fill_holes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _devices
from ._arrays import Array
from ._devices import DeviceArray
from ._label_arguments import neighbours, threads_for

BOOL = np.dtype(np.bool_)
# How foreground is connected where its holes are connected so.
DUAL = {"4": "8", "8": "4", "6": "26", "26": "6"}


def remove_small_objects(ar: Array, max_size: int = 64, connectivity: int = 1, *, out: Array | None = None,
                         threads: int = 0, stream: Any = None) -> Array:
    """Removes connected regions of up to `max_size` pixels, as `skimage.morphology.remove_small_objects` does.

    Parameters
    ----------
    ar : bool array of shape (H, W) or (D, H, W)
    max_size : int
        Pixels or voxels of the largest region that is removed.
    connectivity : int
        As for `label`.
    out : bool array, optional
        Written and returned in place of a new array; C-contiguous. Must not share memory with `ar`.
    threads, stream : optional
        As for `label`.

    Returns
    -------
    bool array of the same shape

    Raises
    ------
    TypeError
        `ar` or `out` is not bool. (Of a label image, keep the labels whose `area` in `regionprops_table` suffices.)
    ValueError
        As for `label`; `max_size` is negative.
    """
    if device := _devices.on_device(ar):
        return _large_on_device(device, max_size, connectivity, out, stream, of_holes=False)
    mask = _mask(ar)
    place = _arrays.written(out, mask.shape, np.bool_, mask, "ar")
    _keep_large(mask, max_size, connectivity, place, threads)
    return _arrays.given(place, out, ar)


def remove_small_holes(ar: Array, max_size: int = 64, connectivity: int = 1, *, out: Array | None = None,
                       threads: int = 0, stream: Any = None) -> Array:
    """Fills background regions of up to `max_size` pixels, as `skimage.morphology.remove_small_holes` does.

    Those that touch the border as well. Parameters, result and errors as of `remove_small_objects`, where regions and
    their connectivity are those of the background.
    """
    if device := _devices.on_device(ar):
        return _large_on_device(device, max_size, connectivity, out, stream, of_holes=True)
    mask = _mask(ar)
    place = _arrays.place(out, mask.shape, np.bool_)
    _keep_large(~mask, max_size, connectivity, place, threads)
    np.logical_not(place, out=place)
    return _arrays.given(place, out, ar)


def fill_holes(ar: Array, connectivity: int = 1, *, out: Array | None = None, threads: int = 0,
               stream: Any = None) -> Array:
    """Fills background that is enclosed, as `scipy.ndimage.binary_fill_holes` does.

    Parameters
    ----------
    ar : bool array of shape (H, W) or (D, H, W)
    connectivity : int
        Along how many axes at once a path out of a hole may step, as for `label`; SciPy's `structure` is
        `generate_binary_structure(ar.ndim, connectivity)`.
    out : bool array, optional
        Written and returned in place of a new array; C-contiguous. Must not share memory with `ar`.
    threads, stream : optional
        As for `label`.

    Returns
    -------
    bool array of the same shape

    Raises
    ------
    TypeError
        `ar` or `out` is not bool.
    ValueError
        As for `label`.
    """
    if device := _devices.on_device(ar):
        return _filled_on_device(device, connectivity, out, stream)
    mask = _mask(ar)
    place = _arrays.written(out, mask.shape, np.bool_, mask, "ar")
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "none")]
    _core.fill_holes(_arrays.in_rows(mask), place, settings, threads_for(mask, threads))
    return _arrays.given(place, out, ar)


def _large_on_device(mask: DeviceArray, max_size: int, connectivity: int, out: Array | None, stream: Any,
                     of_holes: bool) -> Array:
    _expect_mask(mask)
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "none"), _least(max_size, mask.size)]
    with _devices.on_stream(mask, stream):
        large = _labelled(mask.of(~mask.array) if of_holes else mask, settings)
        library = mask.library
        if out is not None:
            _devices.written(out, mask.shape, BOOL, mask, "ar")
        if not of_holes:
            return library.is_not_zero(large, out)
        return library.inverted(library.is_not_zero(large, None), out)


def _filled_on_device(mask: DeviceArray, connectivity: int, out: Array | None, stream: Any) -> Array:
    _expect_mask(mask)
    holes = neighbours(mask.shape, connectivity)
    # Pictures and volumes have their holes filled where those are connected as foreground is not.
    if holes not in DUAL:
        raise ValueError(f"connectivity is {connectivity}, must be 1 or {mask.ndim} on a device")
    settings = [("connectivity", DUAL[holes]), ("output", "none"), ("fill-holes", str(mask.size))]
    with _devices.on_stream(mask, stream):
        # A volume of one slice encloses nothing.
        filled = mask.array if mask.ndim == 3 and mask.shape[0] == 1 else _labelled(mask, settings)
        if out is not None:
            _devices.written(out, mask.shape, BOOL, mask, "ar")
        return mask.library.is_not_zero(filled, out)


def _labelled(mask: DeviceArray, settings: list[tuple[str, str]]) -> Array:
    work = _core.DeviceLabelling(mask.shape, 0, 8, [1], None, settings, False, mask.device)
    return mask.labelled(work, 0, mask.empty(mask.shape, np.dtype(np.int32)).array)[0]


def _expect_mask(mask: Any) -> None:
    _arrays.expect_axes(mask, "ar", 2, 3)
    if mask.dtype != np.bool_:
        raise TypeError(f"ar has elements of type {mask.dtype}, must have bool")


def _mask(array: Array) -> NDArray[np.bool_]:
    mask = _arrays.taken(array, "ar")
    _expect_mask(mask)
    return mask


def _least(max_size: int, size: int) -> tuple[str, str]:
    if operator.index(max_size) < 0:
        raise ValueError(f"max_size is {max_size}, must be at least 0")
    return "min-area", str(min(max_size, size) + 1)


def _keep_large(mask: NDArray[np.bool_], max_size: int, connectivity: int, place: NDArray[np.bool_],
                threads: int) -> None:
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "mask"), _least(max_size, mask.size)]
    _core.select(_arrays.in_rows(mask), place, settings, threads_for(mask, threads))
