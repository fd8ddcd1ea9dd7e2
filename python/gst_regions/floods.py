"""Flood fill from a point: the functions flood and flood_fill."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core
from ._arrays import Array


def flood(image: Array, seed_point: int | Sequence[int], *, footprint: Array | None = None,
          connectivity: int | None = None, tolerance: float | None = None, threads: int = 0) -> Array:
    """Finds the connected region of similar values around a point, like `skimage.morphology.flood`.

    The work is proportional to the region, not to the image.

    Parameters
    ----------
    image : array with at least 1 axis
        Elements are bool, int8 to int64, uint8 to uint64, float32 or float64.
    seed_point : sequence of ints, one for each axis of the image; for an image with one axis also an int
        The point where the region starts. Negative indices count from the end.
    footprint : array with the axes of the image, optional
        Elements that are not 0 define the neighbours of the element in the centre. Replaces `connectivity`.
    connectivity : int, optional
        Number of axes along which neighbours may differ. The default is the number of axes.
    tolerance : number, optional
        Maximum difference between a value of the region and the value of the point. By default the values are equal.
        Integers are compared exactly, floating-point values in the precision of the image.
    threads : int
        Accepted for uniformity with other functions. One thread does the work.

    Returns
    -------
    bool array of the image's shape, True in the region

    Raises
    ------
    TypeError
        The type of the image is not supported, or `seed_point` does not consist of ints.
    ValueError
        The point is outside the image, its value or `tolerance` is NaN, or `connectivity` or the number of the
        footprint's axes does not suit the image.
    """
    values = _image_of(image)
    return _arrays.result_of(_flooded(values, seed_point, footprint, connectivity, tolerance, threads), None, image)


def flood_fill(image: Array, seed_point: int | Sequence[int], new_value: float, *, footprint: Array | None = None,
               connectivity: int | None = None, tolerance: float | None = None, in_place: bool = False,
               threads: int = 0) -> Array:
    """Sets the connected region around a point to a new value, like `skimage.morphology.flood_fill`.

    Parameters
    ----------
    image : array with at least 1 axis
        As for `flood`.
    seed_point, footprint, connectivity, tolerance, threads : as for `flood`
    new_value : number
        The value to write. The type of the image must be able to hold it.
    in_place : bool
        Write into `image` and return it, instead of a copy. A list cannot be written: the result is a new array.

    Returns
    -------
    array of the image's shape and type

    Raises
    ------
    TypeError
        As for `flood`; also if the image has integers and `new_value` is not a whole number.
    ValueError
        As for `flood`; also if the type of the image cannot hold `new_value`, or `in_place` is set and the image is
        read-only.
    """
    values = _image_of(image)
    value = _value_of(new_value, values.dtype)
    if in_place:
        values = _arrays.writeable(values, image)
        if not values.flags.writeable:
            raise ValueError("image is read-only, must be writeable with in_place=True")
    mask = _flooded(values, seed_point, footprint, connectivity, tolerance, threads)
    filled = values if in_place else values.copy()
    filled[mask] = value
    is_array = isinstance(image, np.ndarray) or hasattr(image, "__dlpack__")
    return image if in_place and is_array else _arrays.result_of(filled, None, image)


def _image_of(image: Array) -> NDArray[Any]:
    """Converts the argument `image` to a NumPy array."""
    if isinstance(image, np.ndarray) and image.dtype == np.float16:  # with the words of scikit-image
        raise TypeError(f"dtype of `image` is float16, must be {_arrays.TYPES}")
    return _arrays.as_numpy(image, "image")


def _value_of(new_value: Any, dtype: np.dtype[Any]) -> Any:
    """Converts the argument `new_value` to the type of the image."""
    if dtype.kind == "f":
        try:
            with np.errstate(over="ignore"):
                value = dtype.type(new_value)
        except OverflowError:
            value = dtype.type(math.inf)
        if np.isinf(value) and not (isinstance(new_value, (float, np.floating)) and math.isinf(new_value)):
            raise ValueError(f"new_value is {new_value}, must fit in elements of type {dtype}")
        return value
    if isinstance(new_value, (float, np.floating)) and float(new_value).is_integer():
        new_value = int(new_value)
    if not isinstance(new_value, (int, np.integer, np.bool_)):
        raise TypeError(f"new_value is a {type(new_value).__name__}, must be an int for an image of type {dtype}")
    min_value, max_value = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not min_value <= new_value <= max_value:
        raise ValueError(f"new_value is {new_value}, must be {min_value} to {max_value} for elements of type {dtype}")
    return dtype.type(new_value)


def _flooded(values: NDArray[Any], seed_point: int | Sequence[int], footprint: Array | None,
             connectivity: int | None, tolerance: float | None, threads: int) -> NDArray[np.bool_]:
    """Returns the mask of the region around the seed point."""
    _arrays.max_threads(threads)
    if values.ndim == 0:
        raise ValueError("image has 0 axes, must have at least 1")
    if values.size == 0:
        return np.zeros(values.shape, np.bool_)
    if not isinstance(seed_point, Iterable) and values.ndim > 1:
        raise TypeError(f"seed_point is {seed_point!r}, must be a sequence of {values.ndim} ints, one for each axis")
    point: Iterable[int] = seed_point if isinstance(seed_point, Iterable) else (seed_point,)
    seed = tuple(_arrays.integer_of(index, "seed_point") for index in point)
    try:
        value = values[seed] if len(seed) == values.ndim else None
    except IndexError:
        value = None
    if value is None:
        raise ValueError(f"seed_point is {seed}, must be a point inside the image of shape {values.shape}")
    if min(seed) < 0:
        seed = tuple(index % side for index, side in zip(seed, values.shape))
    if value != value:
        raise ValueError(f"image is NaN at seed_point {seed}, must be a number there")
    interval: NDArray[Any] | None = None
    if tolerance is not None:
        interval = np.array(_interval(value, tolerance), values.dtype.newbyteorder("="))
    steps = None if footprint is None else _steps_of(footprint, values.ndim)
    reach = _arrays.connectivity_of(connectivity, values.ndim)
    values = _arrays.with_native_bytes(values)
    # An image in Fortran order is processed as its transpose, whose rows are contiguous.
    is_transposed = values.flags.f_contiguous and not values.flags.c_contiguous and steps is None
    if values.strides[-1] != values.itemsize and not is_transposed:
        values = np.ascontiguousarray(values)
    flooded: NDArray[np.bool_] = np.zeros(values.shape, np.bool_, "F" if is_transposed else "C")
    if is_transposed:
        _core.flood(values.T, flooded.T, interval, seed[::-1], reach, steps)
    else:
        _core.flood(values, flooded, interval, seed, reach, steps)
    return flooded


def _steps_of(footprint: Array, axes: int) -> list[list[int]]:
    """Returns the steps from the centre of the footprint to its elements that are not 0."""
    shape = np.asarray(footprint)
    if shape.ndim != axes:
        raise ValueError(f"footprint has {shape.ndim} axes, must have {axes} like the image")
    centre = np.array([side // 2 for side in shape.shape])
    steps: list[list[int]] = (np.argwhere(shape) - centre).tolist()
    return steps


def _interval(value: Any, tolerance: float) -> tuple[Any, Any]:
    """Returns the lowest and the highest number of the value's type that differ from it by at most `tolerance`."""
    tolerance = _arrays.number_of(tolerance, "tolerance")
    if math.isnan(tolerance):
        raise ValueError("tolerance is NaN, must be a number")
    dtype = value.dtype
    center, distance = value.item(), abs(tolerance)
    if dtype.kind == "f":
        least, most = float(np.finfo(dtype).min), float(np.finfo(dtype).max)
        return max(least, center - distance), min(most, center + distance)
    low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    distance = high - low if math.isinf(distance) else math.floor(distance)
    return max(low, int(center) - distance), min(high, int(center) + distance)
