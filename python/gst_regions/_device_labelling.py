"""`label` for arrays on CUDA devices. Everything that follows from arguments and shapes is computed once and cached."""

from __future__ import annotations

import atexit
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _core, _devices
from ._array_libraries import Library, most_of
from ._arrays import Array, expect_type
from ._devices import DeviceArray
from ._label_arguments import background_of, settings_of

INT32 = np.dtype(np.int32)


class Plan(NamedTuple):
    """The preparation of a call. Calls that differ only in the values of their arrays share it."""

    work: _core.DeviceLabelling
    prepare: Callable[[DeviceArray], DeviceArray] | None  # converts the image to the array that is labelled
    leading: int  # number of axes of that array before the axes of a picture or volume
    shape: tuple[int, ...]  # of the labels
    kind: Any  # the library's type object for the elements of the labels
    read: int  # size of the image, if it is contiguous (bytes)
    written: int  # size of the labels (bytes)


def label_on_device(image: DeviceArray, background: float | None, connectivity: int | None,
                    thresholds: tuple[float, ...], several: bool, batch: bool, out: Array | None,
                    counts: bool) -> tuple[Array, list[int]]:
    """The labels, and the number of regions for each picture and threshold (an empty list without `counts`)."""
    array, library, device = image.array, image.library, image.device
    plan = _plan_of(library, device, array.dtype, array.shape, batch, background, connectivity, thresholds, several,
                    counts)
    if plan.prepare or not library.can_write or not library.is_packed(array):
        labels = _devices.written(out, plan.shape, INT32, image, "image")
        return (plan.prepare(image) if plan.prepare else image).labelled(plan.work, plan.leading, labels)
    # The common case. It adds little to the time that the library itself needs.
    first = library.address(array)
    if out is None:
        labels = library.empty(plan.shape, INT32, array)
        to = library.address(labels)
    else:
        labels = out
        to = _place_in(out, first, plan, image)
    return labels, plan.work.run(first, (), to, library.stream(device))


def _place_in(out: Array, first: int, plan: Plan, image: DeviceArray) -> int:
    """The address of `out`. The image is contiguous, begins at `first` and must not overlap `out`."""
    library = image.library
    if (out.__class__ is image.array.__class__ and out.dtype == plan.kind and out.shape == plan.shape
            and library.device_of(out) == image.device and library.is_packed(out)):
        to = library.address(out)
        if to >= first + plan.read or first >= to + plan.written:
            return to
    return library.address(_devices.written(out, plan.shape, INT32, image, "image"))


@functools.lru_cache(maxsize=256)
def _plan_of(library: Library, device: int, kind: Any, shape: tuple[int, ...], batch: bool, background: float | None,
             connectivity: int | None, thresholds: tuple[float, ...], several: bool, counts: bool) -> Plan:
    """Makes a Plan. `kind` is the library's type object for the elements of the image."""
    shape, leading = tuple(shape), int(batch)
    settings = settings_of(shape, batch, connectivity)
    dtype = library.dtype_of(kind)
    expect_type(dtype, "image")
    of_labels = shape[:leading] + ((len(thresholds),) if several else ()) + shape[leading:]
    worked, bits, without = shape, 8 * dtype.itemsize, None
    levels: list[int] = []
    prepare: Callable[[DeviceArray], DeviceArray] | None = None
    if thresholds:
        levels = [math.ceil(number) if math.isfinite(number) else 0 for number in thresholds]
        if dtype.char not in "?BH" or not all(1 <= level <= most_of(dtype) for level in levels):
            prepare = functools.partial(_reached, thresholds=thresholds, axis=leading if several else None)
            worked, leading, levels, bits = of_labels, leading + several, [1], 8
    elif dtype == np.bool_:
        levels = [1]
        if background:
            levels = [1] * len(background_of(background, dtype))
            prepare = _inverted if levels else None
    elif dtype.kind == "f" or dtype.itemsize > 2:
        raise TypeError(f"image has elements of type {dtype}; without threshold, only bool and 8 or 16-bit integers "
                        "are labelled on a CUDA device; pass threshold or copy the image to the host")
    else:
        without = next(iter(background_of(background, dtype).view(f"u{dtype.itemsize}").tolist()), None)
    work = _core.DeviceLabelling(worked, leading, bits, levels, without, settings, counts, device)
    return Plan(work, prepare, leading, of_labels, library.int32, math.prod(shape) * dtype.itemsize,
                math.prod(of_labels) * INT32.itemsize)


atexit.register(_plan_of.cache_clear)  # releases the objects before the compiled module looks for leaks


def _reached(image: DeviceArray, thresholds: tuple[float, ...], axis: int | None) -> DeviceArray:
    """True where the image is at least the threshold. `axis` is the new axis for several thresholds, else None."""
    reached = [image.library.reaches(image, number) for number in thresholds]
    return image.of(reached[0] if axis is None else image.library.ops.stack(reached, axis))


def _inverted(image: DeviceArray) -> DeviceArray:
    return image.of(~image.array)
