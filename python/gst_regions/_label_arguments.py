"""What arguments of `label` and its like mean, for arrays of any library."""

from __future__ import annotations

import functools
import math
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import expect_shape

# Neighbours by scikit-image's connectivity: how many axes a step may take at once.
NEIGHBOURS = {2: (4, 8), 3: (6, 18, 26)}

CPUS = os.cpu_count() or 1
PIXELS_A_THREAD = 1 << 15  # fewer are done before another thread is awake

Settings = list[tuple[str, str]]


@functools.lru_cache(maxsize=256)
def settings_of(shape: tuple[int, ...], batch: bool, connectivity: int | None) -> Settings:
    """The algorithm's, of an image or a batch of them."""
    expect_shape(shape, "image", *((3, 4) if batch else (2, 3)))
    return [("connectivity", neighbours(shape[bool(batch):], connectivity)), ("output", "none")]


@functools.lru_cache(maxsize=256)
def background_of(value: float | None, dtype: np.dtype[Any]) -> NDArray[Any]:
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


def thresholds_of(threshold: float | Sequence[float] | NDArray[Any]) -> tuple[float, ...]:
    found = np.atleast_1d(np.asarray(threshold, np.float64))
    if found.ndim != 1 or found.size == 0:
        raise ValueError("threshold must be a number or a list of numbers")
    if np.isnan(found).any():
        raise ValueError("threshold is NaN, which nothing reaches")
    return tuple(float(number) for number in found)


def neighbours(shape: tuple[int, ...], connectivity: int | None) -> str:
    axes = len(shape)
    known = NEIGHBOURS[axes]
    wanted = axes if connectivity is None else connectivity
    if wanted not in range(1, axes + 1):
        raise ValueError(f"connectivity is {connectivity}, must be 1 to {axes}")
    if axes == 3 and shape[0] == 1:
        known = (4, 8, 8)  # a volume of one slice is a picture to the algorithm
    return str(known[wanted - 1])


def most_threads(threads: int) -> int:
    if operator.index(threads) < 0:
        raise ValueError(f"threads is {threads}, must be at least 0")
    return min(threads or CPUS, CPUS)


def threads_for(image: NDArray[Any], threads: int) -> int:
    """How many threads work on the image where so many are wanted."""
    return min(most_threads(threads), 1 + image.size // PIXELS_A_THREAD)
