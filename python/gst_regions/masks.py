"""Cleaning of masks: the functions remove_small_objects, remove_small_holes and fill_holes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, threads_for
from ._device_arrays import DeviceArray
from .labelling import neighbours

BOOL = np.dtype(np.bool_)
# Maps the number of neighbours of hole pixels to the number of neighbours of foreground pixels; both as text.
DUAL_NEIGHBOURS = {"4": "8", "8": "4", "6": "26", "26": "6"}


def remove_small_objects(ar: Array, max_size: int = 64, connectivity: int = 1, *, out: Array | None = None,
                         threads: int = 0, stream: Any = None) -> Array:
    """Removes connected regions of up to `max_size` pixels, like `skimage.morphology.remove_small_objects`.

    Parameters
    ----------
    ar : bool array of shape (H, W) or (D, H, W)
        The mask.
    max_size : int
        Size of the largest region that is removed (pixels or voxels).
    connectivity : int
        As for `label`.
    out : bool array, optional
        C-contiguous array that is written and returned instead of a new array. Must not share memory with `ar`.
    threads, stream : optional
        As for `label`.

    Returns
    -------
    bool array of the same shape

    Raises
    ------
    TypeError
        `ar` or `out` is not bool. For a label image, use `regionprops_table` and keep the labels with a large `area`.
    ValueError
        As for `label`; also if `max_size` is negative.
    """
    if device_array := _device_arrays.as_device_array(ar):
        return _large_regions_on_device(device_array, max_size, connectivity, out, stream, of_holes=False)
    mask = _mask(ar)
    output = _arrays.separate_output(out, mask.shape, np.bool_, mask, "ar")
    _keep_large_regions(mask, max_size, connectivity, output, threads)
    return _arrays.result_of(output, out, ar)


def remove_small_holes(ar: Array, max_size: int = 64, connectivity: int = 1, *, out: Array | None = None,
                       threads: int = 0, stream: Any = None) -> Array:
    """Fills background regions of up to `max_size` pixels, like `skimage.morphology.remove_small_holes`.

    Background regions at the border of the picture are filled too. Parameters, result and errors are the same as for
    `remove_small_objects`, but `max_size` and `connectivity` apply to the background.
    """
    if device_array := _device_arrays.as_device_array(ar):
        return _large_regions_on_device(device_array, max_size, connectivity, out, stream, of_holes=True)
    mask = _mask(ar)
    output = _arrays.output_array(out, mask.shape, np.bool_)
    _keep_large_regions(~mask, max_size, connectivity, output, threads)
    np.logical_not(output, out=output)
    return _arrays.result_of(output, out, ar)


def fill_holes(ar: Array, connectivity: int = 1, *, out: Array | None = None, threads: int = 0,
               stream: Any = None) -> Array:
    """Fills holes, which are background regions that do not touch the border, like `scipy.ndimage.binary_fill_holes`.

    Parameters
    ----------
    ar : bool array of shape (H, W) or (D, H, W)
        The mask.
    connectivity : int
        Connectivity of the background, as for `label`. On a CUDA device, it must be 1 or the number of axes. In SciPy,
        this is `structure=generate_binary_structure(ar.ndim, connectivity)`.
    out : bool array, optional
        C-contiguous array that is written and returned instead of a new array. Must not share memory with `ar`.
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
    if device_array := _device_arrays.as_device_array(ar):
        return _filled_on_device(device_array, connectivity, out, stream)
    mask = _mask(ar)
    output = _arrays.separate_output(out, mask.shape, np.bool_, mask, "ar")
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "none")]
    _core.fill_holes(_arrays.in_rows(mask), output, settings, threads_for(mask, threads))
    return _arrays.result_of(output, out, ar)


def _large_regions_on_device(mask: DeviceArray, max_size: int, connectivity: int, out: Array | None, stream: Any,
                     of_holes: bool) -> Array:
    _expect_mask(mask)
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "none"),
                _min_area_setting(max_size, mask.size)]
    with _device_arrays.on_stream(mask, stream):
        large = _labelled(mask.wrap(~mask.array) if of_holes else mask, settings)
        library = mask.library
        if out is not None:
            _device_arrays.separate_output(out, mask.shape, BOOL, mask, "ar")
        if not of_holes:
            return library.is_not_zero(large, out)
        return library.inverted(library.is_not_zero(large, None), out)


def _filled_on_device(mask: DeviceArray, connectivity: int, out: Array | None, stream: Any) -> Array:
    _expect_mask(mask)
    hole_neighbours = neighbours(mask.shape, connectivity)
    # The algorithm takes the connectivity of the foreground and uses the dual connectivity for the holes.
    if hole_neighbours not in DUAL_NEIGHBOURS:
        raise ValueError(f"connectivity is {connectivity}, must be 1 or {mask.ndim} for a mask on a CUDA device")
    settings = [("connectivity", DUAL_NEIGHBOURS[hole_neighbours]), ("output", "none"), ("fill-holes", str(mask.size))]
    with _device_arrays.on_stream(mask, stream):
        # A volume with one slice has no holes.
        filled = mask.array if mask.ndim == 3 and mask.shape[0] == 1 else _labelled(mask, settings)
        if out is not None:
            _device_arrays.separate_output(out, mask.shape, BOOL, mask, "ar")
        return mask.library.is_not_zero(filled, out)


def _labelled(mask: DeviceArray, settings: list[tuple[str, str]]) -> Array:
    work = _core.DeviceLabelling(mask.shape, 0, 8, [1], None, settings, False, mask.device)
    return mask.run_labelling(work, 0, mask.empty(mask.shape, np.dtype(np.int32)).array)[0]


def _expect_mask(mask: Any) -> None:
    _arrays.expect_axes(mask, "ar", 2, 3)
    if mask.dtype != np.bool_:
        raise TypeError(f"ar has elements of type {mask.dtype}, must have bool")


def _mask(array: Array) -> NDArray[np.bool_]:
    mask = _arrays.as_numpy(array, "ar")
    _expect_mask(mask)
    return mask


def _min_area_setting(max_size: int, size: int) -> tuple[str, str]:
    """Returns the setting that removes regions of up to `max_size` elements from a mask with `size` elements."""
    if operator.index(max_size) < 0:
        raise ValueError(f"max_size is {max_size}, must be at least 0")
    return "min-area", str(min(max_size, size) + 1)


def _keep_large_regions(mask: NDArray[np.bool_], max_size: int, connectivity: int, output: NDArray[np.bool_],
                threads: int) -> None:
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "mask"),
                _min_area_setting(max_size, mask.size)]
    _core.select(_arrays.in_rows(mask), output, settings, threads_for(mask, threads))
