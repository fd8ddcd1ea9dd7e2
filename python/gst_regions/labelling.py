"""Connected components: the function label."""

from __future__ import annotations

import atexit
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, expect_shape, expect_type, max_threads, threads_for
from ._device_arrays import DeviceArray, Library, max_of
from .tables import table_of

LARGE_SIZE = 1 << 16  # minimum number of elements of a large array
INT32 = np.dtype(np.int32)

# NEIGHBOURS[number of axes][connectivity - 1] is the number of neighbours. As in scikit-image, the connectivity is the
# number of axes along which neighbours may differ.
NEIGHBOURS = {2: (4, 8), 3: (6, 18, 26)}

Settings = list[tuple[str, str]]
Labels = NDArray[np.int32]


class CommonOptions(TypedDict, total=False):
    """Keyword arguments of `label` that do not change the type of the result."""

    connectivity: int | None
    intensity_image: ArrayLike | None
    out: Labels | None
    threads: int


class BatchOptions(CommonOptions, total=False):
    """Keyword arguments of `label` for a batch of pictures or for several thresholds."""

    batch: bool
    threshold: float | Sequence[float] | NDArray[Any] | None


@overload
def label(image: NDArray[Any], background: float | None = ..., return_num: Literal[False] = ..., *,
          threshold: float | None = ..., return_table: Literal[False] = ...,
          **options: Unpack[CommonOptions]) -> Labels: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., *, return_num: Literal[True],
          threshold: float | None = ..., return_table: Literal[False] = ...,
          **options: Unpack[CommonOptions]) -> tuple[Labels, int]: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., return_num: Literal[False] = ..., *,
          return_table: Literal[True], threshold: float | None = ...,
          **options: Unpack[CommonOptions]) -> tuple[Labels, NDArray[Any]]: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., *, return_num: Literal[True],
          return_table: Literal[True], threshold: float | None = ...,
          **options: Unpack[CommonOptions]) -> tuple[Labels, int, NDArray[Any]]: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., return_num: Literal[False] = ...,
          **options: Unpack[BatchOptions]) -> Labels: ...
@overload
def label(image: NDArray[Any], background: float | None = ..., *, return_num: Literal[True],
          **options: Unpack[BatchOptions]) -> tuple[Labels, NDArray[np.int64]]: ...
@overload  # for lists, and for arrays of other libraries
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
        max_threads(threads)
    is_threshold_list = threshold is not None and isinstance(threshold, (Sequence, np.ndarray))
    thresholds = () if threshold is None else thresholds_of(threshold)
    if thresholds and background is not None:
        raise ValueError("background and threshold cannot be combined; pass only one of them")
    if return_table and (batch or is_threshold_list):
        raise ValueError("return_table cannot be combined with batch or several thresholds; use regionprops_table on "
                         "each result")
    if device_array := None if isinstance(image, np.ndarray) else _device_arrays.as_device_array(image):
        needs_counts = return_num or return_table
        arguments = device_array, background, connectivity, thresholds, is_threshold_list, batch, out, needs_counts
        if stream is None:
            labels, device_counts = label_on_device(*arguments)
        else:
            with _device_arrays.on_stream(device_array, stream):
                labels, device_counts = label_on_device(*arguments)
        if not needs_counts:
            return labels
        leading_axes = device_array.shape[:batch] + ((len(thresholds),) if is_threshold_list else ())
        return _results_on_device(device_array, labels, device_counts, leading_axes, return_num, return_table,
                                  intensity_image)
    values = _arrays.as_numpy(image, "image")
    settings = settings_of(values.shape, batch, connectivity)
    shape = values.shape[1:] if batch else values.shape
    leading_axes = values.shape[:batch] + ((len(thresholds),) if is_threshold_list else ())
    counts: Any = 0
    is_blank = out is None and not (batch or thresholds or background) and _is_large_and_blank(values)
    # For a blank image np.zeros() is enough. It needs neither memory nor time until the array is written.
    array = np.zeros(shape, np.int32) if is_blank else _output_array(out, leading_axes + shape, values)
    if batch:
        counts = [_label(picture, background, thresholds, labels, settings, threads)
                  for picture, labels in zip(values, array)]
    elif not is_blank:
        counts = _label(values, background, thresholds, array, settings, threads)
    labels = _arrays.result_of(array, out, image)
    if not return_num and not return_table:
        return labels
    num: Any = np.array(counts, np.int64).reshape(leading_axes) if leading_axes else counts[0] if thresholds else counts
    if not return_table:
        return labels, num
    intensity = values if intensity_image is None else _arrays.as_numpy(intensity_image, "intensity_image")
    table = table_of(array, num, intensity)
    return (labels, num, table) if return_num else (labels, table)


def _results_on_device(image: DeviceArray, labels: Array, counts: list[int], leading_axes: tuple[int, ...],
                       return_num: bool, return_table: bool, intensity_image: Array | None) -> tuple[Any, ...]:
    results = [labels]
    if return_num:
        results.append(np.array(counts, np.int64).reshape(leading_axes) if leading_axes else counts[0])
    if return_table:
        device_intensity = image if intensity_image is None else _device_arrays.as_device_array(intensity_image)
        intensity = (device_intensity.host() if device_intensity
                     else _arrays.as_numpy(intensity_image, "intensity_image"))
        results.append(table_of(image.wrap(labels).host(), counts[0], intensity))
    return tuple(results)


def _output_array(out: Array | None, shape: tuple[int, ...], image: NDArray[Any]) -> NDArray[np.int32]:
    if out is None and math.prod(shape) >= LARGE_SIZE:
        return _core.empty_labels(shape)
    return _arrays.separate_output(out, shape, np.int32, image, "image")


def _is_large_and_blank(values: NDArray[Any]) -> bool:
    return values.size >= LARGE_SIZE and values.flags.c_contiguous and values.flags.aligned and _core.is_blank(values)


def _label(image: NDArray[Any], background: float | None, thresholds: tuple[float, ...],
           labels: NDArray[np.int32], settings: Settings, threads: int) -> int | list[int]:
    """Labels one picture or volume. Returns the number of regions; with thresholds, a list of numbers."""
    image = _arrays.in_rows(image)
    threads = threads_for(image, threads)
    if thresholds:
        return _core.label_above(image, thresholds, labels, settings, threads)
    return _core.label_equal(image, background_of(background, image.dtype), labels, settings, threads)


@functools.lru_cache(maxsize=256)
def settings_of(shape: tuple[int, ...], batch: bool, connectivity: int | None) -> Settings:
    """Returns the settings of the algorithm for an image, or for a batch of images."""
    expect_shape(shape, "image", *((3, 4) if batch else (2, 3)))
    return [("connectivity", neighbours(shape[bool(batch):], connectivity)), ("output", "none")]


@functools.lru_cache(maxsize=256)
def background_of(value: float | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns the background value as a one-element array of the image's type.

    The array is empty if the type cannot hold the value.
    """
    value = 0 if value is None else value
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("background is NaN, must be a number")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        is_in_range = value == int(value) and limits.min <= value <= limits.max if math.isfinite(value) else False
    else:
        is_in_range = dtype.kind == "f" or value in (0, 1)
    return np.array([value] if is_in_range else [], dtype)


def thresholds_of(threshold: float | Sequence[float] | NDArray[Any]) -> tuple[float, ...]:
    """Returns the argument `threshold` as a tuple of floats."""
    numbers = np.atleast_1d(np.asarray(threshold, np.float64))
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"threshold has shape {numbers.shape}, must be a number or a list of numbers")
    if np.isnan(numbers).any():
        raise ValueError("threshold is NaN, must be a number")
    return tuple(float(number) for number in numbers)


def neighbours(shape: tuple[int, ...], connectivity: int | None) -> str:
    """Returns the number of neighbours that the algorithm uses, as text."""
    axes = len(shape)
    counts = NEIGHBOURS[axes]
    max_differences = axes if connectivity is None else connectivity
    if max_differences not in range(1, axes + 1):
        raise ValueError(f"connectivity is {connectivity}, must be 1 to {axes}")
    if axes == 3 and shape[0] == 1:
        counts = (4, 8, 8)  # the algorithm processes a volume with one slice as a picture
    return str(counts[max_differences - 1])


# The rest of this file implements `label` for arrays on CUDA devices. Everything that follows from the arguments and
# shapes alone is computed once and cached.


class Plan(NamedTuple):
    """The prepared work of a call of `label`. Calls that differ only in the contents of their arrays share it."""

    work: _core.DeviceLabelling
    prepare: Callable[[DeviceArray], DeviceArray] | None  # converts the image to the array that is labelled
    leading: int  # number of axes of the labelled array before the axes of a picture or volume
    shape: tuple[int, ...]  # shape of the labels
    label_type: Any  # the library's type object for the elements of the labels
    image_bytes: int  # size of the image in bytes, if it is contiguous
    labels_bytes: int  # size of the labels in bytes


def label_on_device(image: DeviceArray, background: float | None, connectivity: int | None,
                    thresholds: tuple[float, ...], is_threshold_list: bool, batch: bool, out: Array | None,
                    counts: bool) -> tuple[Array, list[int]]:
    """Returns the labels and the number of regions for each picture and threshold.

    Without `counts`, the list of these numbers is empty.
    """
    array, library, device = image.array, image.library, image.device
    plan = _plan_of(library, device, array.dtype, array.shape, batch, background, connectivity, thresholds,
                    is_threshold_list, counts)
    if plan.prepare or not library.can_write or not library.is_packed(array):
        labels = _device_arrays.separate_output(out, plan.shape, INT32, image, "image")
        return (plan.prepare(image) if plan.prepare else image).run_labelling(plan.work, plan.leading, labels)
    # This is the common case. It adds little to the time that the library itself needs.
    image_address = library.address(array)
    if out is None:
        labels = library.empty(plan.shape, INT32, array)
        labels_address = library.address(labels)
    else:
        labels = out
        labels_address = _address_of(out, image_address, plan, image)
    return labels, plan.work.run(image_address, (), labels_address, library.stream(device))


def _address_of(out: Array, image_address: int, plan: Plan, image: DeviceArray) -> int:
    """Returns the address of `out`.

    The image is contiguous and begins at `image_address`. `out` must not overlap it.
    """
    library = image.library
    if (out.__class__ is image.array.__class__ and out.dtype == plan.label_type and out.shape == plan.shape
            and library.device_of(out) == image.device and library.is_packed(out)):
        begin = library.address(out)
        if begin >= image_address + plan.image_bytes or image_address >= begin + plan.labels_bytes:
            return begin
    return library.address(_device_arrays.separate_output(out, plan.shape, INT32, image, "image"))


@functools.lru_cache(maxsize=256)
def _plan_of(library: Library, device: int, image_type: Any, shape: tuple[int, ...], batch: bool,
             background: float | None,
             connectivity: int | None, thresholds: tuple[float, ...], is_threshold_list: bool, counts: bool) -> Plan:
    """Makes a Plan. `image_type` is the library's type object for the elements of the image."""
    shape, leading = tuple(shape), int(batch)
    settings = settings_of(shape, batch, connectivity)
    dtype = library.dtype_of(image_type)
    expect_type(dtype, "image")
    label_shape = shape[:leading] + ((len(thresholds),) if is_threshold_list else ()) + shape[leading:]
    work_shape, bits, background_value = shape, 8 * dtype.itemsize, None
    levels: list[int] = []
    prepare: Callable[[DeviceArray], DeviceArray] | None = None
    if thresholds:
        levels = [math.ceil(number) if math.isfinite(number) else 0 for number in thresholds]
        if dtype.char not in "?BH" or not all(1 <= level <= max_of(dtype) for level in levels):
            prepare = functools.partial(_reached, thresholds=thresholds, axis=leading if is_threshold_list else None)
            work_shape, leading, levels, bits = label_shape, leading + is_threshold_list, [1], 8
    elif dtype == np.bool_:
        levels = [1]
        if background:
            levels = [1] * len(background_of(background, dtype))
            prepare = _inverted if levels else None
    elif dtype.kind == "f" or dtype.itemsize > 2:
        raise TypeError(f"image has elements of type {dtype}; without threshold, only bool and 8 or 16-bit integers "
                        "are labelled on a CUDA device; pass threshold or copy the image to the host")
    else:
        background_value = next(iter(background_of(background, dtype).view(f"u{dtype.itemsize}").tolist()), None)
    work = _core.DeviceLabelling(work_shape, leading, bits, levels, background_value, settings, counts, device)
    return Plan(work, prepare, leading, label_shape, library.int32, math.prod(shape) * dtype.itemsize,
                math.prod(label_shape) * INT32.itemsize)


atexit.register(_plan_of.cache_clear)  # releases the objects before the compiled module looks for leaks


def _reached(image: DeviceArray, thresholds: tuple[float, ...], axis: int | None) -> DeviceArray:
    """Returns an array that is True where the image is at least the threshold.

    For several thresholds, `axis` is the additional axis of the result; else it is None.
    """
    reached = [image.library.reaches(image, number) for number in thresholds]
    return image.wrap(reached[0] if axis is None else image.library.ops.stack(reached, axis))


def _inverted(image: DeviceArray) -> DeviceArray:
    return image.wrap(~image.array)
