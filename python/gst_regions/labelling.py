"""Connected components: label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core, _devices
from ._arrays import Array
from ._device_labelling import label_on_device
from ._devices import DeviceArray
from ._label_arguments import Settings, background_of, most_threads, settings_of, threads_for, thresholds_of
from .tables import table_of

LARGE = 1 << 16  # elements

Labels = NDArray[np.int32]


class OneOutput(TypedDict, total=False):
    """Arguments of `label` that do not change the number of results."""

    connectivity: int | None
    intensity_image: ArrayLike | None
    out: Labels | None
    threads: int


class Several(OneOutput, total=False):
    """Arguments of `label` for a batch of pictures or for several thresholds."""

    batch: bool
    threshold: float | Sequence[float] | NDArray[Any] | None


@overload
def label(image: NDArray[Any], background: float | None = ..., return_num: Literal[False] = ..., *,
          threshold: float | None = ..., return_table: Literal[False] = ..., **how: Unpack[OneOutput]) -> Labels: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., *, return_num: Literal[True],
          threshold: float | None = ..., return_table: Literal[False] = ...,
          **how: Unpack[OneOutput]) -> tuple[Labels, int]: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., return_num: Literal[False] = ..., *,
          return_table: Literal[True], threshold: float | None = ...,
          **how: Unpack[OneOutput]) -> tuple[Labels, NDArray[Any]]: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., *, return_num: Literal[True],
          return_table: Literal[True], threshold: float | None = ...,
          **how: Unpack[OneOutput]) -> tuple[Labels, int, NDArray[Any]]: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., return_num: Literal[False] = ...,
          **how: Unpack[Several]) -> Labels: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., *, return_num: Literal[True],
          **how: Unpack[Several]) -> tuple[Labels, NDArray[np.int64]]: ...
@overload  # lists, and arrays of other libraries
def label(image: Array, background: float | None = ..., return_num: bool = ..., connectivity: int | None = ..., *,
          threshold: float | Sequence[float] | NDArray[Any] | None = ..., batch: bool = ..., return_table: bool = ...,
          intensity_image: Array | None = ..., out: Array | None = ..., threads: int = ...,
          stream: Any = ...) -> Any: ...
def label(image: Array, background: float | None = None, return_num: bool = False, connectivity: int | None = None, *,
          threshold: float | Sequence[float] | NDArray[Any] | None = None, batch: bool = False,
          return_table: bool = False, intensity_image: Array | None = None, out: Array | None = None,
          threads: int = 0, stream: Any = None) -> Any:
    """Labels the connected regions of a picture or volume.

    Without `threshold`, neighbours of equal value belong to one region, as in `skimage.measure.label`. With
    `threshold`, all elements with `image >= threshold` are foreground, and connected foreground is one region. Labels
    are 1, 2, … in raster order of the first element of each region. Label 0 is background. scikit-image numbers regions
    in another order if an axis has only one element.

    Parameters
    ----------
    image : array of shape (H, W) or (D, H, W); with `batch`, one more axis in front
        Elements are bool, int8 to int64, uint8 to uint64, float32 or float64. An axis has 1 to 65535 elements. Arrays
        of other libraries are read by DLPack without a copy, on the CPU or on a CUDA device. The labels are then an
        array of the same library on the same device. Without `threshold`, an image with elements of 4 or 8 bytes may
        have at most 2**24 distinct values, and must be on the CPU.
    background : number, optional
        Elements with this value get label 0. The default is 0. A value that the type of the image cannot hold, such as
        -1 for uint8, means that the image has no background. Cannot be combined with `threshold`.
    return_num : bool
        Also return the number of regions. For a batch or several thresholds, this is an array of numbers.
    connectivity : int, optional
        Number of axes along which neighbours may differ: 1 (4 neighbours, or 6 in a volume), 2 (8 or 18) or 3 (26, for
        volumes only). The default is the number of axes of the picture or volume.
    threshold : float or sequence of up to 128 floats, optional
        Lowest value of the foreground, in the units of the image. With a sequence, each threshold is labelled
        separately, and the labels have one more axis in front. NaN in the image is background. Integers are compared
        exactly, floating-point values in the precision of the image.
    batch : bool
        The first axis of `image` is a batch of pictures or volumes, which are labelled separately.
    return_table : bool
        Also return a table of the regions, see `regionprops_table`. Cannot be combined with `batch` or several
        thresholds. The table is always a NumPy array. For an image on a device, the labels are copied to the host.
    intensity_image : array, optional
        The array whose means the table contains. The default is `image`.
    out : int32 array, optional
        C-contiguous array that is written and returned instead of a new array. Must not share memory with `image`.
    threads : int
        Maximum number of CPU threads, including the calling thread. 0 means one per CPU core. The labels do not depend
        on it. Ignored on a CUDA device.
    stream : optional
        CUDA stream for an image on a CUDA device: an object with `__cuda_stream__`, a CuPy or PyTorch stream, or an
        int (cudaStream_t). The default is the current stream of the array's library. The call returns before the work
        is finished, unless it returns a number or a table.

    Returns
    -------
    labels : int32 array of the image's shape, with one more axis in front for several thresholds
    num : int, or int64 array with the leading axes of `labels`; with `return_num` only
    table : structured array; with `return_table` only

    Raises
    ------
    TypeError
        The type of the image is not supported, or `out` is not int32.
    ValueError
        A shape or size is not supported; `image` (without `threshold`), `background` or `threshold` contains NaN;
        `connectivity` is out of range; or two arguments cannot be combined.
    """
    if threads:
        most_threads(threads)
    several = threshold is not None and isinstance(threshold, (Sequence, np.ndarray))
    thresholds = () if threshold is None else thresholds_of(threshold)
    if thresholds and background is not None:
        raise ValueError("background and threshold cannot be combined; pass only one of them")
    if return_table and (batch or several):
        raise ValueError("return_table cannot be combined with batch or several thresholds; use regionprops_table on "
                         "each result")
    if device := None if isinstance(image, np.ndarray) else _devices.on_device(image):
        wants = return_num or return_table
        call = device, background, connectivity, thresholds, several, batch, out, wants
        if stream is None:
            labels, found = label_on_device(*call)
        else:
            with _devices.on_stream(device, stream):
                labels, found = label_on_device(*call)
        if not wants:
            return labels
        outer = device.shape[:batch] + ((len(thresholds),) if several else ())
        return _results_on_device(device, labels, found, outer, return_num, return_table, intensity_image)
    values = _arrays.taken(image, "image")
    settings = settings_of(values.shape, batch, connectivity)
    shape = values.shape[1:] if batch else values.shape
    outer = values.shape[:batch] + ((len(thresholds),) if several else ())
    counts: Any = 0
    is_blank = out is None and not (batch or thresholds or background) and _is_large_and_blank(values)
    # np.zeros() takes neither memory nor time until the array is written.
    place = np.zeros(shape, np.int32) if is_blank else _place(out, outer + shape, values)
    if batch:
        counts = [_label(picture, background, thresholds, at, settings, threads) for picture, at in zip(values, place)]
    elif not is_blank:
        counts = _label(values, background, thresholds, place, settings, threads)
    labels = _arrays.given(place, out, image)
    if not return_num and not return_table:
        return labels
    num: Any = np.array(counts, np.int64).reshape(outer) if outer else counts[0] if thresholds else counts
    if not return_table:
        return labels, num
    intensity = values if intensity_image is None else _arrays.taken(intensity_image, "intensity_image")
    table = table_of(place, num, intensity)
    return (labels, num, table) if return_num else (labels, table)


def _results_on_device(image: DeviceArray, labels: Array, counts: list[int], outer: tuple[int, ...], return_num: bool,
                       return_table: bool, intensity_image: Array | None) -> tuple[Any, ...]:
    results = [labels]
    if return_num:
        results.append(np.array(counts, np.int64).reshape(outer) if outer else counts[0])
    if return_table:
        known = image if intensity_image is None else _devices.on_device(intensity_image)
        intensity = known.host() if known else _arrays.taken(intensity_image, "intensity_image")
        results.append(table_of(image.of(labels).host(), counts[0], intensity))
    return tuple(results)


def _place(out: Array | None, shape: tuple[int, ...], image: NDArray[Any]) -> NDArray[np.int32]:
    if out is None and math.prod(shape) >= LARGE:
        return _core.empty_labels(shape)
    return _arrays.written(out, shape, np.int32, image, "image")


def _is_large_and_blank(values: NDArray[Any]) -> bool:
    return values.size >= LARGE and values.flags.c_contiguous and values.flags.aligned and _core.is_blank(values)


def _label(image: NDArray[Any], background: float | None, thresholds: tuple[float, ...],
           labels: NDArray[np.int32], settings: Settings, threads: int) -> int | list[int]:
    """Labels one picture or volume. Returns the number of regions, or a list with the number for each threshold."""
    image = _arrays.in_rows(image)
    threads = threads_for(image, threads)
    if thresholds:
        return _core.label_above(image, thresholds, labels, settings, threads)
    return _core.label_equal(image, background_of(background, image.dtype), labels, settings, threads)
