"""Flood fill from a point: the functions flood and flood_fill."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays
from ._arrays import Array
from .labelling import label


def flood(image: Array, seed_point: Sequence[int], *, connectivity: int | None = None,
          tolerance: float | None = None, threads: int = 0) -> Array:
    """Finds the connected region of similar values around a point, like `skimage.morphology.flood`.

    Parameters
    ----------
    image : array of shape (H, W) or (D, H, W)
        Types and sizes as for `label`.
    seed_point : sequence of ints, one for each axis of the image
        The point where the region starts. Negative indices count from the end.
    connectivity : int, optional
        As for `label`.
    tolerance : number, optional
        Maximum difference between a value of the region and the value of the point. By default the values are equal.
        Integers are compared exactly, floating-point values in the precision of the image.
    threads : int
        Maximum number of CPU threads, as for `label`.

    Returns
    -------
    bool array of the image's shape, True in the region

    Raises
    ------
    TypeError
        `label` does not support the type of the image, or `seed_point` does not consist of ints.
    ValueError
        As for `label`; also if the point is outside the image, or if its value or `tolerance` is NaN.
    """
    values = _arrays.as_numpy(image, "image")
    _arrays.expect_axes(values, "image", 2, 3)
    return _arrays.result_of(_flooded(values, seed_point, connectivity, tolerance, threads), None, image)


def flood_fill(image: Array, seed_point: Sequence[int], new_value: float, *, connectivity: int | None = None,
               tolerance: float | None = None, in_place: bool = False, threads: int = 0) -> Array:
    """Sets the connected region around a point to a new value, like `skimage.morphology.flood_fill`.

    Parameters
    ----------
    image : array of shape (H, W) or (D, H, W)
        As for `flood`.
    seed_point, connectivity, tolerance, threads : as for `flood`
    new_value : number
        The value to write. The type of the image must be able to hold it.
    in_place : bool
        Write into `image` and return it, instead of a copy.

    Returns
    -------
    array of the image's shape and type

    Raises
    ------
    TypeError
        As for `flood`; also if the image has integers and `new_value` is not an int.
    ValueError
        As for `flood`; also if the type of the image cannot hold `new_value`, or `in_place` is set and the image is
        read-only.
    """
    values = _arrays.as_numpy(image, "image")
    _arrays.expect_axes(values, "image", 2, 3)
    dtype = values.dtype
    if dtype.kind != "f":
        min_value, max_value = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not isinstance(new_value, (int, np.integer)):
            raise TypeError(f"new_value is a {type(new_value).__name__}, must be an int for an image of type {dtype}")
        if not min_value <= new_value <= max_value:
            raise ValueError(f"new_value is {new_value}, must be {min_value} to {max_value} for elements of "
                             f"type {dtype}")
    if in_place and not values.flags.writeable:
        raise ValueError("image is read-only, must be writeable with in_place=True")
    mask = _flooded(values, seed_point, connectivity, tolerance, threads)
    filled = values if in_place else values.copy()
    filled[mask] = new_value
    return image if in_place else _arrays.result_of(filled, None, image)


def _flooded(values: NDArray[Any], seed_point: Sequence[int], connectivity: int | None, tolerance: float | None,
             threads: int) -> NDArray[np.bool_]:
    """Returns the mask of the region around the seed point."""
    seed = tuple(map(operator.index, seed_point))
    if len(seed) != values.ndim or not all(-side <= index < side for index, side in zip(seed, values.shape)):
        raise ValueError(f"seed_point is {seed}, must be a point inside the image of shape {values.shape}")
    value = values[seed]
    if value != value:
        raise ValueError(f"image is NaN at seed_point {seed}, must be a number there")
    if tolerance is None:
        similar = values == value
    else:
        low, high = _interval(value, tolerance)
        similar = (values >= low) & (values <= high)
    labels = label(similar, connectivity=connectivity, threads=threads)
    flooded: NDArray[np.bool_] = labels == labels[seed]
    return flooded


def _interval(value: Any, tolerance: float) -> tuple[Any, Any]:
    """Returns the lowest and the highest number of the value's type that differ from it by at most `tolerance`."""
    if math.isnan(tolerance):
        raise ValueError("tolerance is NaN, must be a number")
    dtype = value.dtype
    center, distance = value.item(), abs(tolerance)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        return dtype.type(max(limits.min, center - distance)), dtype.type(min(limits.max, center + distance))
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    distance = high - low if math.isinf(distance) else math.floor(distance)
    return dtype.type(max(low, int(center) - distance)), dtype.type(min(high, int(center) + distance))
