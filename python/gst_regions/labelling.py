"""Connected components: label, remove_small_objects, remove_small_holes."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core
from ._arrays import Array
from .tables import table_of

# Neighbours by scikit-image's connectivity: how many axes a step may take at once.
NEIGHBOURS = {2: (4, 8), 3: (6, 18, 26)}


def label(image: Array, background: float | None = None, return_num: bool = False, connectivity: int | None = None, *,
          threshold: float | Sequence[float] | None = None, batch: bool = False, return_table: bool = False,
          intensity_image: Array | None = None, out: Array | None = None, threads: int = 0) -> Any:
    """Labels connected regions.

    Without `threshold`, neighbours of equal value are connected, as `skimage.measure.label` has it, with the same
    numbers: 1, 2, … in raster order of each region's first element (scikit-image's own order is another one where an
    axis has one element); `background` is 0. With `threshold`, foreground is
    `image >= threshold`, whatever its values, and the rest is 0.

    Parameters
    ----------
    image : array of shape (H, W) or (D, H, W); with `batch`, one axis more in front
        bool, int8 to int64, uint8 to uint64, float32 or float64. Axes have at most 65535 elements. Arrays of other
        libraries on the CPU come by DLPack, without a copy; labels leave as an array of theirs. Of values of 4 and
        8 bytes at most 2**24 may differ.
    background : number, optional
        Elements of this value get label 0. By default 0; one that the type of the image cannot hold, as -1 of uint8,
        leaves no background. Not together with `threshold`.
    return_num : bool
        Also return how many regions there are; of several thresholds, or of a batch, an array of counts.
    connectivity : int, optional
        Along how many axes at once neighbours may differ: 1 (4 or 6 neighbours), 2 (8 or 18), 3 (26; of volumes). By
        default as many as the picture or volume has axes.
    threshold : float or up to 128 floats, optional
        In the image's units. Of several, each is labelled for itself: labels get an axis in front. NaN in the image
        is background. Whole numbers are compared exactly, others in the image's precision.
    batch : bool
        The first axis counts pictures or volumes, each labelled for itself.
    return_table : bool
        Also return a table of the regions, see `regionprops_table`. Not of batches or several thresholds.
    intensity_image : array, optional
        For the table, in place of `image`.
    out : int32 array, optional
        Written and returned in place of a new array; C-contiguous. Must not share memory with `image`.
    threads : int
        That work at most, the caller's included; 0 takes as many as the machine has. Labels do not depend on it.

    Returns
    -------
    labels : int32 array of the image's shape, with one axis more in front for several thresholds
    num : int, or int64 array of labels' leading axes, with `return_num`
    table : structured array, with `return_table`

    Raises
    ------
    TypeError
        The image's type is none of these, or `out` is not int32.
    ValueError
        Another shape, an axis without elements or with too many, NaN among the values that are compared or in
        `threshold`, a connectivity or combination that does not exist.
    """
    values = _arrays.taken(image, "image")
    _arrays.expect_axes(values, "image", *((3, 4) if batch else (2, 3)))
    pictures = values if batch else values[None]
    thresholds = _thresholds(threshold)
    if thresholds and background is not None:
        raise ValueError("background and threshold are given, but a threshold alone says what is background")
    several = isinstance(threshold, (Sequence, np.ndarray))
    if return_table and (batch or several):
        raise ValueError("return_table is of one picture or volume and one threshold")
    layers = (len(thresholds),) if several else ()
    place = _arrays.place(out, pictures.shape[:batch] + layers + pictures.shape[1:], np.int32)
    if np.may_share_memory(place, values):
        raise ValueError("out shares memory with image")
    places = place if batch else place[None]
    settings = [("connectivity", _neighbours(pictures[0], connectivity)), ("output", "none")]
    counts = np.array([_label(picture, background, thresholds, at, settings, threads)
                       for picture, at in zip(pictures, places)], np.int64).reshape(pictures.shape[:batch] + layers)
    results = [_arrays.given(place, out, image)]
    if return_num:
        results.append(counts if counts.ndim else int(counts))
    if return_table:
        intensity = values if intensity_image is None else _arrays.taken(intensity_image, "intensity_image")
        results.append(table_of(place, int(counts), intensity))
    return results[0] if len(results) == 1 else tuple(results)


def remove_small_objects(ar: Array, max_size: int = 64, connectivity: int = 1, *, out: Array | None = None,
                         threads: int = 0) -> Array:
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
    threads : int
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
    mask = _mask(ar)
    place = _arrays.place(out, mask.shape, np.bool_)
    if np.may_share_memory(place, mask):
        raise ValueError("out shares memory with ar")
    _keep_large(mask, max_size, connectivity, place, threads)
    return _arrays.given(place, out, ar)


def remove_small_holes(ar: Array, max_size: int = 64, connectivity: int = 1, *, out: Array | None = None,
                       threads: int = 0) -> Array:
    """Fills background regions of up to `max_size` pixels, as `skimage.morphology.remove_small_holes` does.

    Those that touch the border as well. Parameters, result and errors as of `remove_small_objects`, where regions and
    their connectivity are those of the background.
    """
    mask = _mask(ar)
    place = _arrays.place(out, mask.shape, np.bool_)
    _keep_large(~mask, max_size, connectivity, place, threads)
    np.logical_not(place, out=place)
    return _arrays.given(place, out, ar)


def _mask(array: Array) -> NDArray[np.bool_]:
    mask = _arrays.taken(array, "ar")
    _arrays.expect_axes(mask, "ar", 2, 3)
    if mask.dtype != np.bool_:
        raise TypeError(f"ar has elements of type {mask.dtype}, must have bool")
    return mask


def _keep_large(mask: NDArray[np.bool_], max_size: int, connectivity: int, place: NDArray[np.bool_],
                threads: int) -> None:
    if operator.index(max_size) < 0:
        raise ValueError(f"max_size is {max_size}, must be at least 0")
    settings = [("connectivity", _neighbours(mask, connectivity)), ("output", "mask"), ("min-area", str(min(max_size, mask.size) + 1))]
    _core.select(_arrays.in_rows(mask), place, settings, _threads(threads))


def _label(image: NDArray[Any], background: float | None, thresholds: list[float], labels: NDArray[np.int32],
           settings: list[tuple[str, str]], threads: int) -> int | list[int]:
    """Labels one picture or volume and returns how many regions it has, in each layer where there are several."""
    image = _arrays.in_rows(image)
    if thresholds:
        return _core.label_above(image, thresholds, labels, settings, _threads(threads))
    return _core.label_equal(image, _background(background, image.dtype), labels, settings, _threads(threads))


def _background(value: float | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The background's value as an array of one element of the image's type; of none if that cannot hold it."""
    value = 0 if value is None else value
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("background is NaN, which equals nothing")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        holds = value == int(value) and limits.min <= value <= limits.max if math.isfinite(value) else False
    else:
        holds = dtype.kind == "f" or value in (0, 1)
    return np.array([value] if holds else [], dtype)


def _thresholds(threshold: float | Sequence[float] | None) -> list[float]:
    if threshold is None:
        return []
    found = np.atleast_1d(np.asarray(threshold, np.float64))
    if found.ndim != 1 or found.size == 0:
        raise ValueError("threshold must be a number or a list of numbers")
    if np.isnan(found).any():
        raise ValueError("threshold is NaN, which nothing reaches")
    return [float(number) for number in found]


def _neighbours(image: NDArray[Any], connectivity: int | None) -> str:
    known = NEIGHBOURS[image.ndim]
    wanted = image.ndim if connectivity is None else connectivity
    if wanted not in range(1, image.ndim + 1):
        raise ValueError(f"connectivity is {connectivity}, must be 1 to {image.ndim}")
    if image.ndim == 3 and image.shape[0] == 1:
        known = (4, 8, 8)  # a volume of one slice is a picture to the algorithm
    return str(known[wanted - 1])


def _threads(threads: int) -> int:
    if operator.index(threads) < 0:
        raise ValueError(f"threads is {threads}, must be at least 0")
    return min(threads, os.cpu_count() or 1)
