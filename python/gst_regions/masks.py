"""Cleaning of masks and label images: remove_small_objects, remove_small_holes, fill_holes and dust."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, threads_for
from ._device_arrays import DeviceArray
from .labelling import MAX_SIDE, NEIGHBOURS, label, neighbours

BOOL = np.dtype(np.bool_)
# Maps the number of neighbours of hole pixels to the number of neighbours of foreground pixels; both as text.
DUAL_NEIGHBOURS = {"4": "8", "8": "4", "6": "26", "26": "6"}
MAX_SIZE = 64  # the default of scikit-image


def remove_small_objects(ar: Array, max_size: float | None = None, connectivity: int = 1, *, min_size: float | None = None,
                         out: Array | None = None, threads: int = 0, stream: Any = None) -> Array:
    """Removes objects of up to `max_size` elements, like `skimage.morphology.remove_small_objects`.

    Parameters
    ----------
    ar : bool array, or integer array with labels of at least 0
        In a bool array, objects are connected regions. In a label image, they are the elements of each label. On a
        CUDA device, a bool array has shape (H, W) or (D, H, W).
    max_size : number
        Size of the largest object that is removed (elements). The default is 64.
    connectivity : int
        As for `label`. Not used for a label image.
    min_size : int, optional
        Deprecated in scikit-image: objects with fewer elements are removed.
    out : array of the same shape, optional
        C-contiguous array that is written and returned instead of a new array. It may be `ar` itself. Its type, bool or
        integer, defines the objects.
    threads, stream : optional
        As for `label`.

    Returns
    -------
    array of the same shape and type

    Raises
    ------
    TypeError
        `ar` is neither bool nor an integer array.
    ValueError
        As for `label`; also if `max_size` or a label is negative.
    """
    size = _max_size(max_size, min_size, "min_size")
    if device_array := _device_arrays.as_device_array(ar):
        if device_array.dtype != np.bool_:
            return _large_labels_on_device(device_array, size, out, stream)
        return _large_regions_on_device(device_array, size, connectivity, out, stream, of_holes=False)
    values = _as_mask_or_labels(ar)
    if out is not None:
        output = _arrays.output_array(out, values.shape, _arrays.as_numpy(out, "out").dtype)
        values = _as_mask_or_labels(np.array(values, output.dtype), "out")
    else:
        output = np.empty(values.shape, values.dtype)
    if values.dtype == np.bool_:
        _keep_large_regions(values, size, connectivity, output, threads)
    else:
        _keep_large_labels(values, size, output)
    return _arrays.result_of(output, out, ar)


def remove_small_holes(ar: Array, max_size: float | None = None, connectivity: int = 1, *,
                       area_threshold: float | None = None, out: Array | None = None, threads: int = 0,
                       stream: Any = None) -> Array:
    """Fills background regions of up to `max_size` elements, like `skimage.morphology.remove_small_holes`.

    Background regions at the border of the picture are filled too. The result is bool. For an array of integers, all
    elements that are not 0 are foreground, and a warning is given.

    Parameters
    ----------
    ar : bool or integer array
        On a CUDA device, a bool array of shape (H, W) or (D, H, W).
    max_size : number
        Size of the largest hole that is filled (elements). The default is 64.
    connectivity : int
        Connectivity of the background, as for `label`.
    area_threshold : int, optional
        Deprecated in scikit-image: holes with fewer elements are filled.
    out : bool array of the same shape, optional
        C-contiguous array that is written and returned instead of a new array. It may be `ar` itself.
    threads, stream : optional
        As for `label`.

    Returns
    -------
    bool array of the same shape

    Raises
    ------
    TypeError
        `ar` is neither bool nor an integer array, or `out` is not bool.
    ValueError
        As for `label`; also if `max_size` is negative.
    """
    size = _max_size(max_size, area_threshold, "area_threshold")
    if device_array := _device_arrays.as_device_array(ar):
        return _large_regions_on_device(device_array, size, connectivity, out, stream, of_holes=True)
    values = _as_mask_or_labels(ar)
    if values.dtype != np.bool_:
        warnings.warn("Any labeled images will be returned as a boolean array. Did you mean to use a boolean array?",
                      UserWarning, stacklevel=2)
    output = _arrays.output_array(out, values.shape, np.bool_)
    _keep_large_regions(np.logical_not(values), size, connectivity, output, threads)
    np.logical_not(output, out=output)
    return _arrays.result_of(output, out, ar)


def fill_holes(ar: Array, connectivity: int = 1, *, out: Array | None = None, threads: int = 0,
               stream: Any = None) -> Array:
    """Fills holes, which are background regions that do not touch the border, like `scipy.ndimage.binary_fill_holes`.

    Parameters
    ----------
    ar : array
        The mask. Elements that are not 0 are foreground. On a CUDA device, a bool array of shape (H, W) or (D, H, W).
    connectivity : int
        Connectivity of the background, as for `label`. On a CUDA device, it must be 1 or the number of axes. In SciPy,
        this is `structure=generate_binary_structure(ar.ndim, connectivity)`.
    out : bool array, optional
        C-contiguous array that is written and returned instead of a new array. It may be `ar` itself.
    threads, stream : optional
        As for `label`.

    Returns
    -------
    bool array of the same shape

    Raises
    ------
    TypeError
        The type of `ar` is not supported, or `out` is not bool.
    ValueError
        As for `label`.
    """
    if device_array := _device_arrays.as_device_array(ar):
        return _filled_on_device(device_array, connectivity, out, stream)
    values = _arrays.as_numpy(ar, "ar")
    mask = values if values.dtype == np.bool_ else values != 0
    reach = _arrays.connectivity_of(connectivity, max(1, mask.ndim))
    output = _arrays.output_array(out, mask.shape, np.bool_)
    if 0 in mask.shape or min(mask.shape, default=1) < 3:  # every element is at the border
        output[...] = mask
    elif _is_picture_or_volume(mask) and neighbours(mask.shape, reach) in DUAL_NEIGHBOURS:
        # The algorithm takes the connectivity of the foreground and uses the dual connectivity for the holes.
        settings = [("connectivity", DUAL_NEIGHBOURS[neighbours(mask.shape, reach)]), ("output", "mask"),
                    ("fill-holes", str(mask.size))]
        _select(mask, output, settings, threads)
    else:
        _fill_labelled_holes(mask, reach, output, threads)
    return _arrays.result_of(output, out, ar)


def dust(img: Array, threshold: float | Sequence[float], connectivity: int | None = None, *, in_place: bool = False,
         invert: bool = False, threads: int = 0) -> Array:
    """Removes small connected regions of equal values, like `cc3d.dust`. The other elements keep their values.

    Parameters
    ----------
    img : array with at least 1 axis
        A mask or a label image. 0 is background.
    threshold : number, or two numbers
        Regions with fewer elements are removed. With two numbers, regions with fewer elements than the first number, or
        with at least the second number, are removed.
    connectivity : int, optional
        As for `label`.
    in_place : bool
        Write into `img` and return it, instead of a copy.
    invert : bool
        Remove the regions that would remain otherwise, and keep the others.
    threads : int
        As for `label`.

    Returns
    -------
    array of the same shape and type

    Raises
    ------
    TypeError
        As for `label`.
    ValueError
        As for `label`; also if `threshold` has more than two numbers, or `in_place` is set and `img` cannot be written.
    """
    items = [threshold] if np.ndim(threshold) == 0 else list(threshold)  # type: ignore[arg-type]
    bounds = [_arrays.number_of(item, "threshold") for item in items]
    if len(bounds) not in (1, 2):
        raise ValueError(f"threshold has {len(bounds)} numbers, must have 1, or 2 for a range")
    if any(map(math.isnan, bounds)):
        raise ValueError("threshold is NaN, must be a number")
    values = _arrays.as_numpy(img, "img")
    output = _arrays.writeable(values, img) if in_place else values.copy(order="K")
    if not output.flags.writeable or (in_place and not hasattr(img, "__dlpack__")):
        raise ValueError("img is read-only, must be writeable with in_place=True")
    labels = label(values, connectivity=connectivity, threads=threads)
    areas = np.bincount(labels.ravel(order="K"), minlength=1)
    is_kept = areas >= bounds[0]
    if len(bounds) == 2:
        is_kept &= areas < bounds[1]
    if invert:
        is_kept = ~is_kept
    is_kept[0] = True  # the background
    output[~is_kept[labels]] = 0
    return img if in_place else _arrays.result_of(output, None, img)


def _max_size(max_size: float | None, deprecated: float | None, name: str) -> int:
    """Returns the size of the largest object that is removed. `deprecated` is the value of the old argument `name`."""
    if deprecated is not None:
        warnings.warn(f"Parameter `{name}` is deprecated. Use `max_size` instead, which also removes objects of exactly "
                      "this size.", FutureWarning, stacklevel=3)
        if max_size is not None:
            raise ValueError(f"both `{name}` and `max_size` are given; avoid conflicting values")
        limit = _arrays.number_of(deprecated, name)
        max_size = max(0, math.ceil(limit) - 1) if math.isfinite(limit) else limit
    size = MAX_SIZE if max_size is None else _arrays.number_of(max_size, "max_size")
    if not size >= 0:
        raise ValueError(f"max_size is {max_size}, must be at least 0")
    return math.floor(min(size, sys.maxsize))


def _large_labels_on_device(labels: DeviceArray, max_size: int, out: Array | None, stream: Any) -> Array:
    library = labels.library
    if labels.dtype.kind not in "iu":
        raise TypeError(f"ar has elements of type {labels.dtype}, must have bool or integers")
    with _device_arrays.on_stream(labels, stream):
        flat = labels.array.reshape(-1)
        if labels.dtype.kind == "i" and bool((flat < 0).any()):
            raise ValueError("ar has a negative label, must have labels of at least 0")
        is_kept = library.take(library.bincount(flat) > max_size, labels.array)
        kept = labels.array * library.cast(is_kept, labels.dtype)
        if out is None:
            return kept
        _device_arrays.expect_same_device(out, "out", labels, "ar")
        out[...] = kept
        return out


def _large_regions_on_device(mask: DeviceArray, max_size: int, connectivity: int, out: Array | None, stream: Any,
                             of_holes: bool) -> Array:
    _expect_device_mask(mask)
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "none"),
                _min_area_setting(max_size, mask.size)]
    with _device_arrays.on_stream(mask, stream):
        large = _labelled(mask.wrap(~mask.array) if of_holes else mask, settings)
        library = mask.library
        if out is not None:
            _device_arrays.output_array(out, mask.shape, BOOL, mask, "ar")
        if not of_holes:
            return library.is_not_zero(large, out)
        return library.inverted(library.is_not_zero(large, None), out)


def _filled_on_device(mask: DeviceArray, connectivity: int, out: Array | None, stream: Any) -> Array:
    _expect_device_mask(mask)
    hole_neighbours = neighbours(mask.shape, connectivity)
    if hole_neighbours not in DUAL_NEIGHBOURS:
        raise ValueError(f"connectivity is {connectivity}, must be 1 or {mask.ndim} for a mask on a CUDA device")
    settings = [("connectivity", DUAL_NEIGHBOURS[hole_neighbours]), ("output", "none"), ("fill-holes", str(mask.size))]
    with _device_arrays.on_stream(mask, stream):
        # A volume with one slice has no holes.
        filled = mask.array if mask.ndim == 3 and mask.shape[0] == 1 else _labelled(mask, settings)
        if out is not None:
            _device_arrays.output_array(out, mask.shape, BOOL, mask, "ar")
        return mask.library.is_not_zero(filled, out)


def _labelled(mask: DeviceArray, settings: list[tuple[str, str]]) -> Array:
    work = _core.DeviceLabelling(mask.shape, 0, 8, [1], None, settings, False, mask.device)
    return mask.run_labelling(work, 0, mask.empty(mask.shape, np.dtype(np.int32)).array)[0]


def _expect_device_mask(mask: DeviceArray) -> None:
    _arrays.expect_axes(mask, "ar", 2, 3)
    if mask.dtype != np.bool_:
        raise TypeError(f"ar has elements of type {mask.dtype}, must have bool on a CUDA device")


def _as_mask_or_labels(array: Array, name: str = "ar") -> NDArray[Any]:
    values = _arrays.as_numpy(array, name)
    if values.dtype.kind not in "biu":
        raise TypeError(f"{name} has elements of type {values.dtype}, must have bool or integers")
    return _arrays.with_native_bytes(values)


def _min_area_setting(max_size: int, size: int) -> tuple[str, str]:
    """Returns the setting that removes regions of up to `max_size` elements from a mask with `size` elements."""
    return "min-area", str(min(max_size, size) + 1)


def _is_picture_or_volume(mask: NDArray[Any]) -> bool:
    """Returns whether the algorithm for pictures and volumes supports the shape."""
    return mask.ndim in NEIGHBOURS and 0 not in mask.shape and max(mask.shape) <= MAX_SIDE


def _select(mask: NDArray[np.bool_], output: NDArray[np.bool_], settings: list[tuple[str, str]], threads: int) -> None:
    """Writes the regions of the mask that the settings keep to `output`, which may be the mask itself."""
    mask = _arrays.in_rows(mask)
    if np.may_share_memory(mask, output):
        mask = mask.copy()
    _core.select(mask, output, settings, threads_for(mask, threads))


def _keep_large_regions(mask: NDArray[np.bool_], max_size: int, connectivity: int, output: NDArray[np.bool_],
                        threads: int) -> None:
    reach = _arrays.connectivity_of(connectivity, max(1, mask.ndim))
    if _is_picture_or_volume(mask):
        settings = [("connectivity", neighbours(mask.shape, reach)), ("output", "mask"),
                    _min_area_setting(max_size, mask.size)]
        _select(mask, output, settings, threads)
        return
    labels = label(mask, connectivity=reach, threads=threads)
    areas = np.bincount(labels.ravel(order="K"), minlength=1)
    areas[0] = 0
    np.take(areas > max_size, labels, out=output)


def _keep_large_labels(labels: NDArray[Any], max_size: int, output: NDArray[Any]) -> None:
    if labels.size and labels.min() < 0:
        raise ValueError("Negative value labels are not supported: ar has the negative label "
                         f"{labels.min()}; label the image first")
    if labels.size and labels.max() <= 4 * labels.size:
        areas = np.bincount(labels.ravel(order="K").astype(np.intp, copy=False))
        numbers: NDArray[Any] = labels
        kept = np.arange(len(areas)).astype(labels.dtype)
        has_one_label = len(areas) == 2
    else:  # avoids a table with more rows than the image has elements
        kept, numbers, areas = np.unique(labels, return_inverse=True, return_counts=True)
        has_one_label = False
    if has_one_label:
        warnings.warn("Only one label was provided to `remove_small_objects`. Did you mean to use a boolean array?",
                      UserWarning, stacklevel=3)
    kept[areas <= max_size] = 0
    output[...] = kept[numbers.reshape(labels.shape)]


def _fill_labelled_holes(mask: NDArray[np.bool_], connectivity: int, output: NDArray[np.bool_], threads: int) -> None:
    """Fills the background regions without an element at the border, for any number of axes."""
    labels, count = label(~mask, connectivity=connectivity, return_num=True, threads=threads)
    is_filled = np.ones(count + 1, np.bool_)
    for axis in range(mask.ndim):
        for side in (0, -1):
            is_filled[np.take(labels, side, axis)] = False
    is_filled[0] = True  # the foreground
    np.take(is_filled, labels, out=output)
