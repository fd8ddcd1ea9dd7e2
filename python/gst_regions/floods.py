"""What is connected to a point: flood, flood_fill."""

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
    """The region around a point, as `skimage.morphology.flood` finds it.

    Parameters
    ----------
    image : array of shape (H, W) or (D, H, W)
        Of types and sizes as for `label`.
    seed_point : as many ints as the image has axes
        Negative ones count from the end.
    connectivity : int, optional
        As for `label`.
    tolerance : number, optional
        How far values may be from that of the point, which need not be close to each other. By default they are equal.
        Whole numbers are compared exactly, others in the image's precision.
    threads : int
        As for `label`.

    Returns
    -------
    bool array of the image's shape

    Raises
    ------
    TypeError
        The image's type is none of these, or `seed_point` not of ints.
    ValueError
        As for `label`; the point lies outside, its value or `tolerance` is NaN.
    """
    values = _arrays.taken(image, "image")
    _arrays.expect_axes(values, "image", 2, 3)
    return _arrays.given(_flooded(values, seed_point, connectivity, tolerance, threads), None, image)


def flood_fill(image: Array, seed_point: Sequence[int], new_value: float, *, connectivity: int | None = None,
               tolerance: float | None = None, in_place: bool = False, threads: int = 0) -> Array:
    """Gives the region around a point another value, as `skimage.morphology.flood_fill` does.

    Parameters
    ----------
    image : array of shape (H, W) or (D, H, W)
        As for `flood`.
    seed_point, connectivity, tolerance, threads : as for `flood`
    new_value : number
        That the image's type holds.
    in_place : bool
        Write into `image`, which is returned then.

    Returns
    -------
    array of the image's shape and type

    Raises
    ------
    TypeError
        As for `flood`.
    ValueError
        As for `flood`; the image's type does not hold `new_value`, or the image is read-only.
    """
    values = _arrays.taken(image, "image")
    _arrays.expect_axes(values, "image", 2, 3)
    kind = values.dtype
    if kind.kind != "f":
        least, most = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
        if not isinstance(new_value, (int, np.integer)):
            raise TypeError(f"new_value is a {type(new_value).__name__}, must be an int")
        if not least <= new_value <= most:
            raise ValueError(f"new_value is {new_value}, which {kind} does not hold")
    if in_place and not values.flags.writeable:
        raise ValueError("image is read-only")
    mask = _flooded(values, seed_point, connectivity, tolerance, threads)
    filled = values if in_place else values.copy()
    filled[mask] = new_value
    return image if in_place else _arrays.given(filled, None, image)


def _flooded(values: NDArray[Any], seed_point: Sequence[int], connectivity: int | None, tolerance: float | None,
             threads: int) -> NDArray[np.bool_]:
    seed = tuple(map(operator.index, seed_point))
    if len(seed) != values.ndim or not all(-side <= at < side for at, side in zip(seed, values.shape)):
        raise ValueError(f"seed_point is {seed}, which is no point of an image of shape {values.shape}")
    value = values[seed]
    if value != value:
        raise ValueError("image is NaN at seed_point, which equals nothing")
    if tolerance is None:
        alike = values == value
    else:
        least, most = _interval(value, tolerance)
        alike = (values >= least) & (values <= most)
    labels = label(alike, connectivity=connectivity, threads=threads)
    flooded: NDArray[np.bool_] = labels == labels[seed]
    return flooded


def _interval(value: Any, tolerance: float) -> tuple[Any, Any]:
    """The least and greatest number of the value's type that are so close to it."""
    if math.isnan(tolerance):
        raise ValueError("tolerance is NaN")
    kind = value.dtype
    middle, reach = value.item(), abs(tolerance)
    if kind.kind == "f":
        limits = np.finfo(kind)
        return kind.type(max(limits.min, middle - reach)), kind.type(min(limits.max, middle + reach))
    low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    reach = high - low if math.isinf(reach) else math.floor(reach)
    return kind.type(max(low, int(middle) - reach)), kind.type(min(high, int(middle) + reach))
