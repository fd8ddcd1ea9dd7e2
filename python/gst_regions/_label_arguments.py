"""Interprets the arguments of `label` and similar functions, for arrays of any library."""

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

# Number of neighbours for scikit-image's connectivity, the number of axes along which neighbours may differ.
NEIGHBOURS = {2: (4, 8), 3: (6, 18, 26)}

CPUS = os.cpu_count() or 1
PIXELS_A_THREAD = 1 << 15  # a thread processes fewer pixels before another thread has woken up

Settings = list[tuple[str, str]]


@functools.lru_cache(maxsize=256)
def settings_of(shape: tuple[int, ...], batch: bool, connectivity: int | None) -> Settings:
    """The settings of the algorithm for an image, or for a batch of images."""
    expect_shape(shape, "image", *((3, 4) if batch else (2, 3)))
    return [("connectivity", neighbours(shape[bool(batch):], connectivity)), ("output", "none")]


@functools.lru_cache(maxsize=256)
def background_of(value: float | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The background value as a one-element array of the image's type. Empty if the type cannot hold the value."""
    value = 0 if value is None else value
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("background is NaN, must be a number")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        holds = value == int(value) and limits.min <= value <= limits.max if math.isfinite(value) else False
    else:
        holds = dtype.kind == "f" or value in (0, 1)
    return np.array([value] if holds else [], dtype)


def thresholds_of(threshold: float | Sequence[float] | NDArray[Any]) -> tuple[float, ...]:
    found = np.atleast_1d(np.asarray(threshold, np.float64))
    if found.ndim != 1 or found.size == 0:
        raise ValueError(f"threshold has shape {found.shape}, must be a number or a list of numbers")
    if np.isnan(found).any():
        raise ValueError("threshold is NaN, must be a number")
    return tuple(float(number) for number in found)


def neighbours(shape: tuple[int, ...], connectivity: int | None) -> str:
    axes = len(shape)
    known = NEIGHBOURS[axes]
    wanted = axes if connectivity is None else connectivity
    if wanted not in range(1, axes + 1):
        raise ValueError(f"connectivity is {connectivity}, must be 1 to {axes}")
    if axes == 3 and shape[0] == 1:
        known = (4, 8, 8)  # the algorithm processes a volume with one slice as a picture
    return str(known[wanted - 1])


def most_threads(threads: int) -> int:
    if operator.index(threads) < 0:
        raise ValueError(f"threads is {threads}, must be at least 0 (0: one per CPU core)")
    return min(threads or CPUS, CPUS)


def threads_for(image: NDArray[Any], threads: int) -> int:
    """The number of threads that work on the image. `threads` is the limit that the caller set."""
    return min(most_threads(threads), 1 + image.size // PIXELS_A_THREAD)
