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
    """Arguments of `label` that say nothing of how many outputs there are."""

    connectivity: int | None
    intensity_image: ArrayLike | None
    out: Labels | None
    threads: int


class Several(OneOutput, total=False):
    """Likewise, where each picture of a batch or each threshold is labelled for itself."""

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
@overload  # of other libraries, and lists
def label(image: Array, background: float | None = ..., return_num: bool = ..., connectivity: int | None = ..., *,
          threshold: float | Sequence[float] | NDArray[Any] | None = ..., batch: bool = ..., return_table: bool = ...,
          intensity_image: Array | None = ..., out: Array | None = ..., threads: int = ...,
          stream: Any = ...) -> Any: ...
def label(image: Array, background: float | None = None, return_num: bool = False, connectivity: int | None = None, *,
          threshold: float | Sequence[float] | NDArray[Any] | None = None, batch: bool = False,
          return_table: bool = False, intensity_image: Array | None = None, out: Array | None = None,
          threads: int = 0, stream: Any = None) -> Any:
    """Labels connected regions.

    Without `threshold`, neighbours of equal value are connected, as `skimage.measure.label` has it, with the same
    numbers: 1, 2, … in raster order of each region's first element (scikit-image's own order is another one where an
    axis has one element); `background` is 0. With `threshold`, foreground is
    `image >= threshold`, whatever its values, and the rest is 0.

    Parameters
    ----------
    image : array of shape (H, W) or (D, H, W); with `batch`, one axis more in front
        bool, int8 to int64, uint8 to uint64, float32 or float64. Axes have at most 65535 elements. Arrays of other
        libraries come by DLPack, without a copy, from the CPU or from a CUDA device; labels leave as an array of
        theirs in the same memory. Of values of 4 and 8 bytes at most 2**24 may differ; on a device such values need a
        `threshold`.
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
        Also return a table of the regions, see `regionprops_table`. Not of batches or several thresholds. It is
        NumPy's; of an image on a device it is made of a copy of the labels.
    intensity_image : array, optional
        For the table, in place of `image`.
    out : int32 array, optional
        Written and returned in place of a new array; C-contiguous. Must not share memory with `image`.
    threads : int
        That work at most, the caller's included; 0 takes as many as the machine has. Labels do not depend on it. Of
        no meaning on a device.
    stream : optional
        Of an image on a CUDA device: the stream that the work is put in order with, as an object that has
        `__cuda_stream__`, CuPy's or PyTorch's, or a number (cudaStream_t). By default the library's current one. The
        call returns before the work is done, unless counts or a table are wanted.

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
    if threads:
        most_threads(threads)
    several = threshold is not None and isinstance(threshold, (Sequence, np.ndarray))
    thresholds = () if threshold is None else thresholds_of(threshold)
    if thresholds and background is not None:
        raise ValueError("background and threshold are given, but a threshold alone says what is background")
    if return_table and (batch or several):
        raise ValueError("return_table is of one picture or volume and one threshold")
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
    # Zeros that were never written take no memory, and no time.
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
    """Labels one picture or volume and returns how many regions it has, or of thresholds the list of that."""
    image = _arrays.in_rows(image)
    threads = threads_for(image, threads)
    if thresholds:
        return _core.label_above(image, thresholds, labels, settings, threads)
    return _core.label_equal(image, background_of(background, image.dtype), labels, settings, threads)
