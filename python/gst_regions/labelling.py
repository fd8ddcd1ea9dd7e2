"""Connected components: the function label."""

from __future__ import annotations

import atexit
import bisect
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import TYPE_CODES, Array, expect_shape, expect_type, max_threads, threads_for
from ._device_arrays import DeviceArray, Library, max_of, min_of
from .tables import table_in, table_of

LARGE_SIZE = 1 << 16  # minimum number of elements of a large array
SMALL_SIZE = _arrays.PIXELS_PER_THREAD  # smaller arrays are labelled by one thread
INT32 = np.dtype(np.int32)
MAX_LABEL = 2**31 - 1  # the largest int32 label
MAX_SMALL_SIDE = 64  # the longest axis that _core.label_small_mask() supports
MAX_SIDE = 65535  # the longest axis that the algorithm for pictures and volumes supports

# NEIGHBOURS[number of axes][connectivity - 1] is the number of neighbours. As in scikit-image, the connectivity is the
# number of axes along which neighbours may differ.
NEIGHBOURS = {2: (4, 8), 3: (6, 18, 26)}

Settings = list[tuple[str, str]]
Labels = NDArray[np.int32]


class CommonOptions(TypedDict, total=False):
    """Keyword arguments of `label` that do not change the type of the result."""

    connectivity: int | None
    structure: ArrayLike | None
    delta: float | None
    periodic: bool
    largest_k: int | None
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
          structure: ArrayLike | None = ..., threshold: float | Sequence[float] | NDArray[Any] | None = ...,
          batch: bool = ..., delta: float | None = ..., periodic: bool = ..., largest_k: int | None = ...,
          return_areas: bool = ..., return_table: bool = ..., intensity_image: Array | None = ...,
          out: Array | None = ..., threads: int = ..., stream: Any = ...) -> Any: ...
def label(image: Array, background: float | None = None, return_num: bool = False, connectivity: int | None = None, *,
          structure: ArrayLike | None = None, threshold: float | Sequence[float] | NDArray[Any] | None = None,
          batch: bool = False, delta: float | None = None, periodic: bool = False, largest_k: int | None = None,
          return_areas: bool = False, return_table: bool = False, intensity_image: Array | None = None,
          out: Array | None = None, threads: int = 0, stream: Any = None) -> Any:
    """Labels the connected regions of a picture, volume or other array.

    Without `threshold`, neighbours of equal value belong to one region, as in `skimage.measure.label`. With
    `threshold`, all elements with `image >= threshold` are foreground, and connected foreground is one region. Labels
    are 1, 2, … in raster order of the first element of each region. Label 0 is background. scikit-image numbers regions
    in another order if an axis has only one element.

    Parameters
    ----------
    image : array with at least 1 axis; with `batch`, one more axis in front
        Elements are bool, int8 to int64, uint8 to uint64, float32 or float64, at most 2147483647 of them. Arrays
        of other libraries are read by DLPack without a copy, on the CPU or on a CUDA device. The labels are then an
        array of the same library on the same device. The labels of an array in Fortran order are in Fortran order, too.
        On a CUDA device, the image has 1 to 3 axes of up to 65535 elements. Without `threshold`,
        it may have at most 65536 distinct values there.
    background : number, optional
        Elements with this value get label 0. The default is 0. A value that the type of the image cannot hold, such as
        -1 for uint8, means that the image has no background. Cannot be combined with `threshold`.
    return_num : bool
        Also return the number of regions. For a batch or several thresholds, this is an array of numbers.
    connectivity : int, optional
        Number of axes along which neighbours may differ: 1 (4 neighbours, or 6 in a volume), 2 (8 or 18), 3 (26, for
        volumes only) and so on. The default is the number of axes.
    structure : array with 3 elements per axis, optional
        Neighbourhood instead of `connectivity`, as in `scipy.ndimage.label`: elements that are not 0 are neighbours of
        the centre. It must be symmetric about its centre. A structure of `scipy.ndimage.generate_binary_structure` is
        as fast as `connectivity`. Others are slower, and work on the CPU without `delta` and `periodic` only.
    threshold : number or sequence of up to 128 numbers, optional
        Lowest value of the foreground, in the units of the image. With a sequence, each threshold is labelled
        separately, and the labels have one more axis in front. NaN in the image is background. Integers are compared
        exactly, floating-point values in the precision of the image.
    batch : bool
        The first axis of `image` is a batch of pictures or volumes, which are labelled separately.
    delta : number, optional
        Neighbours belong to one region if their values differ by at most `delta`. Without it, values must be equal.
        Elements of the value `background` get label 0. Cannot be combined with `threshold`; on the CPU only.
    periodic : bool
        Opposite sides of the array are neighbours. Cannot be combined with `delta`; on the CPU only.
    largest_k : int, optional
        Only the `largest_k` largest regions are labelled, in raster order. Of regions of equal size, the first remain.
    return_areas : bool
        Also return the area of the region of each element: an int32 array of the labels' shape, 0 in the background.
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
    areas : int32 array of the labels' shape; with `return_areas` only
    table : structured array; with `return_table` only

    Raises
    ------
    TypeError
        The type of the image is not supported, or `out` is not int32.
    ValueError
        A shape or size is not supported; `image` (without `threshold`), `background` or `threshold` contains NaN;
        `connectivity` is out of range; or two arguments cannot be combined.
    """
    if background is not None and background.__class__ is not int:
        background = _arrays.number_of(background, "background")
    if connectivity is not None and connectivity.__class__ is not int:
        connectivity = _arrays.integer_of(connectivity, "connectivity")
    if (image.__class__ is np.ndarray and threshold is None and delta is None and largest_k is None and out is None
            and structure is None and not (batch or periodic or return_areas) and 0 < image.size < SMALL_SIZE):
        # This is the common case. It adds little to the time that the algorithm needs.
        rows = bytearray() if return_table and intensity_image is None else None
        small = _label_small(image, background, connectivity, rows)
        if small:
            if threads.__class__ is not int or threads < 0:
                max_threads(threads)
            small_labels, num = small
            if not (return_num or return_table):
                return small_labels
            if not return_table:
                return small
            if rows:
                table = table_in(rows)
            else:
                intensity = image if intensity_image is None else _arrays.as_numpy(intensity_image, "intensity_image")
                table = table_of(small_labels, num, intensity, has_all=True)
            return (small_labels, num, table) if return_num else (small_labels, table)
    if threads:
        max_threads(threads)
    if delta is not None:
        delta = _arrays.number_of(delta, "delta")
    footprint: Footprint | None = None
    if structure is not None:
        if connectivity is not None:
            raise ValueError("connectivity and structure cannot be combined; pass only one of them")
        connectivity, footprint = neighbourhood_of(structure, np.ndim(image) - batch)
    thresholds, is_threshold_list = thresholds_of(threshold)
    if footprint is not None and (delta is not None or periodic):
        raise ValueError(f"structure and {'periodic' if periodic else 'delta'} can be combined only if structure is one of "
                         "scipy.ndimage.generate_binary_structure()")
    _expect_combinable(background, thresholds, is_threshold_list, batch, delta, periodic, largest_k, return_table)
    if device_array := None if isinstance(image, np.ndarray) else _device_arrays.as_device_array(image):
        if delta is not None or periodic or footprint is not None:
            name = "periodic" if periodic else "delta" if delta is not None else "structure"
            raise ValueError(f"{name} is set for an array on a CUDA device; copy the array to the host")
        if device_array.ndim == 1 + batch and not return_table:
            return _label_lines(device_array, batch, out, connectivity, background=background, return_num=return_num,
                                threshold=threshold, largest_k=largest_k, return_areas=return_areas, stream=stream)
        needs_counts = return_num or return_table or largest_k is not None
        with _device_arrays.on_stream(device_array, stream):
            labels, device_counts = label_on_device(device_array, background, connectivity, thresholds,
                                                    is_threshold_list, batch, out, needs_counts)
            if not needs_counts and not return_areas:
                return labels
            leading_axes = device_array.shape[:batch] + ((len(thresholds),) if is_threshold_list else ())
            return _results_on_device(device_array, labels, device_counts, leading_axes, return_num, return_areas,
                                      return_table, largest_k, intensity_image)
    values = _arrays.as_numpy(image, "image")
    if values.ndim == 0 and not batch and out is None:  # as in SciPy
        line = label(values.reshape(1), background, return_num, threshold=threshold, delta=delta,
                     return_areas=return_areas)
        if isinstance(line, tuple):
            return tuple(part[..., 0] if part is not line[1] or not return_num else part for part in line)
        return line[..., 0]
    expect_batch(values.shape, batch)
    reach = _arrays.connectivity_of(connectivity, values.ndim - batch)
    shape = values.shape[1:] if batch else values.shape
    leading_axes = values.shape[:batch] + ((len(thresholds),) if is_threshold_list else ())
    counts: Any = 0
    is_blank = (out is None and not (batch or thresholds or background or delta is not None)
                and _is_large_and_blank(values))
    if is_blank or values.size == 0:
        # For a blank image np.zeros() is enough. It needs neither memory nor time until the array is written.
        array = np.zeros(leading_axes + shape, np.int32)
        counts = [0] * math.prod(leading_axes) if leading_axes or thresholds else 0
    elif batch:
        array = _output_array(out, leading_axes + shape, values)
        counts = [_label(picture, background, thresholds, delta, periodic, labels, reach, footprint, threads)
                  for picture, labels in zip(values, array)]
    elif out is None and not is_threshold_list and footprint is None and is_transposed(values):
        array = _output_array(None, shape[::-1], values)
        counts = _label(values.T, background, thresholds, delta, periodic, array, reach, None, threads)
        _core.renumber_transposed(array, counts[0] if thresholds else counts)
        array = array.T
    else:
        array = _output_array(out, leading_axes + shape, values)
        counts = _label(values, background, thresholds, delta, periodic, array, reach, footprint, threads)
    nums: Any = np.array(counts, np.int64).reshape(leading_axes) if leading_axes else counts[0] if thresholds else counts
    if largest_k is not None:
        nums = keep_largest(array, nums, largest_k)
    results: list[Any] = [_arrays.result_of(array, out, image)]
    if return_num:
        results.append(nums)
    if return_areas:
        results.append(_arrays.result_of(_areas_of(array, len(leading_axes)), None, image))
    if return_table:
        intensity = values if intensity_image is None else _arrays.as_numpy(intensity_image, "intensity_image")
        results.append(table_of(array, nums, intensity))
    return results[0] if len(results) == 1 else tuple(results)


class SmallPlan(NamedTuple):
    """The prepared arguments of the compiled functions for a small picture or volume."""

    background: NDArray[Any]
    settings: Settings
    reach: int
    may_be_mask: bool  # whether label_small_mask() accepts the picture
    is_signed: bool


@functools.lru_cache(maxsize=256, typed=True)
def _small_plan(shape: tuple[int, ...], dtype: np.dtype[Any], background: float | None,
                connectivity: int | None) -> SmallPlan | None:
    """Returns the plan for an image. Returns None if the image needs other preparations."""
    if len(shape) not in NEIGHBOURS or dtype.char not in TYPE_CODES or not dtype.isnative:
        return None
    reach = _arrays.connectivity_of(connectivity, len(shape))
    may_be_mask = len(shape) == 2 and max(shape) <= MAX_SMALL_SIDE and dtype.itemsize == 1 and not background
    return SmallPlan(background_of(background, dtype), settings_of(shape, reach), reach, may_be_mask, dtype.kind == "i")


def _label_small(image: NDArray[Any], background: float | None, connectivity: int | None,
                 rows: bytearray | None) -> tuple[Labels, int] | None:
    """Labels a small picture or volume. Returns None if it needs other preparations, such as a copy.

    For a small mask with regions, `rows` receives the rows of the table.
    """
    shape = image.shape
    plan = _small_plan(shape, image.dtype, background, connectivity)
    if plan is None:
        return None
    excluded, settings, reach, may_be_mask, is_signed = plan
    flags = image.flags
    is_packed = flags.c_contiguous
    if may_be_mask and (is_packed or flags.f_contiguous):
        labels = np.empty(shape, INT32, "C" if is_packed else "F")
        data = image.tobytes() if is_packed else image.tobytes("F")
        num = _core.label_small_mask(data, labels, is_packed, reach, is_signed, rows)
        if num is not None:
            return labels, num
    if not is_packed or not flags.aligned:
        return None
    labels = np.empty(shape, INT32)
    return labels, _core.label_equal(image, excluded, labels, settings, reach, 1)


def _expect_combinable(background: float | None, thresholds: tuple[float, ...], is_threshold_list: bool, batch: bool,
                       delta: float | None, periodic: bool, largest_k: int | None, return_table: bool) -> None:
    """Raises ValueError if arguments of `label` cannot be combined."""
    if thresholds and background is not None:
        raise ValueError("background and threshold cannot be combined; pass only one of them")
    if return_table and (batch or is_threshold_list):
        raise ValueError("return_table cannot be combined with batch or several thresholds; use regionprops_table on "
                         "each result")
    if delta is not None and (thresholds or periodic):
        raise ValueError(f"delta and {'threshold' if thresholds else 'periodic'} cannot be combined; pass only one of "
                         "them")
    if largest_k is not None:
        if batch or is_threshold_list:
            raise ValueError("largest_k cannot be combined with batch or several thresholds; call label for each "
                             "picture")
        if _arrays.integer_of(largest_k, "largest_k") < 1:
            raise ValueError(f"largest_k is {largest_k}, must be at least 1")


def _label_lines(lines: DeviceArray, batch: bool, out: Array | None, connectivity: int | None, **how: Any) -> Any:
    """Labels an array with one axis, or a batch of them, on a CUDA device, as pictures of one row."""
    _arrays.connectivity_of(connectivity, 1)

    def as_rows(array: Array) -> Array:
        shape = tuple(array.shape)
        return array.reshape(*shape[:-1], 1, shape[-1])

    found = label(as_rows(lines.array), batch=batch, out=None if out is None else as_rows(out), **how)
    results = list(found) if isinstance(found, tuple) else [found]
    for k, array in enumerate(results):
        if not isinstance(array, (int, np.ndarray)):  # labels and areas; numbers of regions are on the host
            results[k] = array.reshape(*array.shape[:-2], array.shape[-1])
    if out is not None:
        results[0] = out
    return tuple(results) if isinstance(found, tuple) else results[0]


def _results_on_device(image: DeviceArray, labels: Array, counts: list[int], leading_axes: tuple[int, ...],
                       return_num: bool, return_areas: bool, return_table: bool, largest_k: int | None,
                       intensity_image: Array | None) -> tuple[Any, ...] | Array:
    library = image.library
    num: Any = np.array(counts, np.int64).reshape(leading_axes) if leading_axes else counts[0] if counts else 0
    if largest_k is not None and num > largest_k:
        numbers = _largest_numbers(library.host(library.bincount(labels.reshape(-1))), largest_k)
        kept = library.take(library.from_host(numbers, labels), labels)
        if library.can_write:
            labels[...] = kept
        else:
            labels = kept
        num = largest_k
    results = [labels]
    if return_num:
        results.append(num)
    if return_areas:
        results.append(library.areas_of(labels, len(leading_axes)))
    if return_table:
        device_intensity = image if intensity_image is None else _device_arrays.as_device_array(intensity_image)
        intensity = (device_intensity.host() if device_intensity
                     else _arrays.as_numpy(intensity_image, "intensity_image"))
        results.append(table_of(image.wrap(labels).host(), num, intensity))
    return results[0] if len(results) == 1 else tuple(results)


def keep_largest(labels: NDArray[np.int32], count: int, largest_k: int) -> int:
    """Keeps the largest regions of the labels 0..count and renumbers them. Returns the number of regions that remain."""
    if count <= largest_k:
        return count
    numbers = _largest_numbers(np.bincount(labels.ravel(order="K"), minlength=count + 1), largest_k)
    np.take(numbers, labels, out=labels, mode="clip")
    return largest_k


def _largest_numbers(areas: NDArray[Any], largest_k: int) -> NDArray[np.int32]:
    """Returns the new number of each label, from the area of each label including label 0."""
    order = np.argsort(-areas[1:], kind="stable")[:largest_k] + 1
    numbers = np.zeros(len(areas), np.int32)
    numbers[np.sort(order)] = np.arange(1, len(order) + 1)
    return numbers


def _areas_of(labels: NDArray[np.int32], leading: int) -> NDArray[np.int32]:
    """Returns the area of the region of each element. The first `leading` axes hold separate label arrays."""
    areas = np.empty_like(labels)
    for index in np.ndindex(*labels.shape[:leading]):
        item = labels[index]
        area = np.bincount(item.ravel(order="K"), minlength=1).astype(np.int32)
        area[0] = 0
        areas[index] = area[item]
    return areas


def is_transposed(values: NDArray[Any]) -> bool:
    """Returns whether the transpose of the array is C-contiguous, unlike the array itself."""
    flags = values.flags
    return values.ndim > 1 and flags.f_contiguous and not flags.c_contiguous and values.dtype.isnative and flags.aligned


def expect_batch(shape: tuple[int, ...], batch: bool) -> None:
    """Raises ValueError if an image of this shape has too few axes."""
    if len(shape) < 1 + batch:
        raise ValueError(f"image has {len(shape)} axes, must have at least {1 + batch}")


def _output_array(out: Array | None, shape: tuple[int, ...], image: NDArray[Any]) -> NDArray[np.int32]:
    size = math.prod(shape)
    if out is None and size >= LARGE_SIZE:
        expect_labellable(shape)
        return _core.empty_labels(shape)
    return _arrays.separate_output(out, shape, np.int32, image, "image")


def expect_labellable(shape: tuple[int, ...]) -> None:
    """Raises ValueError if an array of this shape has more elements than there are int32 labels."""
    size = math.prod(shape)
    if size > MAX_LABEL:
        raise ValueError(f"an array has {size} elements, must have at most {MAX_LABEL}, the largest int32 label")


def _is_large_and_blank(values: NDArray[Any]) -> bool:
    return (LARGE_SIZE <= values.size <= MAX_LABEL and values.flags.c_contiguous and values.flags.aligned
            and values.dtype.isnative and _core.is_blank(values))


def _label(image: NDArray[Any], background: float | None, thresholds: tuple[float, ...], delta: float | None,
           periodic: bool, labels: NDArray[np.int32], reach: int, footprint: Footprint | None,
           threads: int) -> int | list[int]:
    """Labels one picture or volume. Returns the number of regions; with thresholds, a list of numbers."""
    image = _arrays.in_rows(image)
    dtype = image.dtype
    if footprint is not None:
        return _label_by_footprint(image, background, thresholds, labels, footprint)
    if periodic or delta is not None or image.ndim not in NEIGHBOURS or max(image.shape) > MAX_SIDE:
        expect_labellable(image.shape)
        image = np.ascontiguousarray(image)
        if delta is not None:
            return _core.label_similar(image, background_of(background, dtype), delta_of(delta, dtype), labels,
                                       earlier_neighbours(distance_from_center(image.ndim) <= reach))
        if not thresholds:
            return _core.label_values(image, background_of(background, dtype), labels, reach, periodic)
        levels, ranks = levels_of(thresholds, dtype)
        layers = labels.reshape(len(thresholds), *image.shape)
        return [_core.label_values(image >= levels[rank - 1] if rank <= len(levels) else np.zeros(image.shape, np.bool_),
                                   np.zeros(1, np.bool_), layer, reach, periodic) for rank, layer in zip(ranks, layers)]
    settings = settings_of(image.shape, reach)
    threads = threads_for(image, threads)
    if thresholds:
        return _core.label_above(image, *levels_of(thresholds, dtype), labels, settings, threads)
    return _core.label_equal(image, background_of(background, dtype), labels, settings, reach, threads)


def _label_by_footprint(image: NDArray[Any], background: float | None, thresholds: tuple[float, ...],
                        labels: NDArray[np.int32], footprint: Footprint) -> int | list[int]:
    """Like _label(), for the neighbours at the offsets of `footprint`."""
    expect_labellable(image.shape)
    image = np.ascontiguousarray(image)
    if not thresholds:
        if image.dtype.kind == "f" and np.isnan(image).any():
            raise ValueError("image contains NaN; without threshold, the image must not contain NaN")
        return _core.label_similar(image, background_of(background, image.dtype), np.zeros(1, image.dtype), labels,
                                   footprint)
    levels, ranks = levels_of(thresholds, image.dtype)
    false = np.zeros(1, np.bool_)
    return [_core.label_similar(image >= levels[rank - 1] if rank <= len(levels) else np.zeros(image.shape, np.bool_),
                                false, false, layer, footprint)
            for rank, layer in zip(ranks, labels.reshape(len(thresholds), *image.shape))]


# Offsets of the neighbours that are earlier in raster order.
Footprint = list[tuple[int, ...]]


def neighbourhood_of(structure: ArrayLike, axes: int) -> tuple[int | None, Footprint | None]:
    """Returns the connectivity of the argument `structure`, or the offsets of its neighbours if it has none."""
    is_neighbour = np.asarray(structure) != 0
    if is_neighbour.shape != (3,) * axes:
        raise ValueError(f"structure has shape {is_neighbour.shape}, must have {(3,) * axes}: 3 elements per axis")
    if (is_neighbour != np.flip(is_neighbour)).any():
        raise ValueError("structure is not symmetric about its centre; opposite elements must be equal")
    if axes == 0:
        return None, None
    distance = distance_from_center(axes)
    for connectivity in range(1, axes + 1):
        if (is_neighbour == (distance <= connectivity))[distance > 0].all():
            return connectivity, None
    return None, earlier_neighbours(is_neighbour)


def distance_from_center(axes: int) -> NDArray[np.int64]:
    """Returns, for each element of a structure, the number of axes along which it differs from the centre."""
    distance: NDArray[np.int64] = np.abs(np.indices((3,) * axes) - 1).sum(0)
    return distance


def earlier_neighbours(is_neighbour: NDArray[np.bool_]) -> Footprint:
    """Returns the offsets of the neighbours before the centre, in raster order."""
    return [tuple(int(step) for step in index - 1) for index in np.argwhere(is_neighbour)
            if index.tolist() < [1] * is_neighbour.ndim]


@functools.lru_cache(maxsize=256)
def settings_of(shape: tuple[int, ...], connectivity: int) -> Settings:
    """Returns the settings of the algorithm for a picture or volume."""
    return [("connectivity", neighbours(shape, connectivity)), ("output", "none")]


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


def delta_of(value: float, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns the argument `delta` as a one-element array of the image's type, rounded down."""
    if not value >= 0:
        raise ValueError(f"delta is {value}, must be at least 0")
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array([value]).astype(dtype)
    limit = max_of(dtype) if dtype.kind != "i" else (1 << 8 * dtype.itemsize) - 1
    number = limit if math.isinf(value) else min(math.floor(value), limit)
    return np.array([number], dtype if dtype.kind != "i" else f"u{dtype.itemsize}").view(dtype)


def thresholds_of(threshold: float | Sequence[float] | NDArray[Any] | None) -> tuple[tuple[float, ...], bool]:
    """Returns the argument `threshold` as a tuple of ints and floats, and whether it is a sequence."""
    if threshold is None:
        return (), False
    if isinstance(threshold, (int, float)):
        numbers, is_list = [threshold], False
    else:
        shape = np.shape(threshold)
        if len(shape) > 1 or 0 in shape:
            raise ValueError(f"threshold has shape {shape}, must be a number or a list of numbers")
        is_list = len(shape) == 1
        items: Any = threshold.tolist() if hasattr(threshold, "tolist") else threshold
        numbers = [number.item() if hasattr(number, "item") else number for number in (items if is_list else [items])]
    return tuple(map(_threshold_number, numbers)), is_list


def _threshold_number(number: Any) -> float:
    """Checks a threshold. An int that is too large for a float becomes infinite."""
    if not isinstance(number, (int, float)):
        raise TypeError(f"threshold contains {number!r}, must contain numbers")
    try:
        if math.isnan(number):
            raise ValueError("threshold is NaN, must be a number")
    except OverflowError:
        return math.copysign(math.inf, 1 if number > 0 else -1)
    return number


@functools.lru_cache(maxsize=64, typed=True)
def levels_of(thresholds: tuple[float, ...], dtype: np.dtype[Any]) -> tuple[NDArray[Any], list[int]]:
    """Converts thresholds to the type of the image.

    Returns
    -------
    levels : the lowest values that reach each threshold, sorted; a threshold that no value of the type reaches has none
    ranks : the position of each threshold in `levels`, from 1 on
    """
    lowest: list[Any] = []
    for threshold in thresholds:
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                level = np.array([threshold], np.float64).astype(dtype)[0]
        else:
            level = math.ceil(threshold) if math.isfinite(threshold) else math.inf if threshold > 0 else min_of(dtype)
            level = max(level, min_of(dtype))
        lowest.append(level)
    limit = math.inf if dtype.kind == "f" else max_of(dtype)
    reached = sorted(level for level in lowest if level <= limit)
    return np.array(reached, dtype), [bisect.bisect_left(reached, level) + 1 for level in lowest]


def neighbours(shape: tuple[int, ...], connectivity: int | None) -> str:
    """Returns the number of neighbours that the algorithm uses, as text."""
    axes = len(shape)
    counts = NEIGHBOURS[axes]
    if axes == 3 and shape[0] == 1:
        counts = (4, 8, 8)  # the algorithm processes a volume with one slice as a picture
    return str(counts[_arrays.connectivity_of(connectivity, axes) - 1])


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
    if not thresholds and image.dtype.itemsize > 2:
        image, background = _numbered(image, background)
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


def _numbered(image: DeviceArray, background: float | None) -> tuple[DeviceArray, int]:
    """Replaces elements of 4 or 8 bytes by 16-bit numbers of their values. Returns also the number of the background."""
    expect_type(image.dtype, "image")
    distinct, numbers = image.library.unique(image.array)
    values = image.library.host(distinct)
    if np.isnan(values).any():
        raise ValueError("image contains NaN; without threshold, the image must not contain NaN")
    if len(values) > 1 << 16:
        raise ValueError(f"image has {len(values)} distinct values, must have at most 65536 on a CUDA device; pass "
                         "threshold or copy the image to the host")
    excluded = np.flatnonzero(np.isin(values, background_of(background, values.dtype)))
    first = np.iinfo(np.int16).min
    number = int(excluded[0]) + first if len(excluded) else -first  # int16 cannot hold the latter
    return image.wrap(image.library.cast(numbers + first, np.dtype(np.int16))), number


@functools.lru_cache(maxsize=256, typed=True)
def _plan_of(library: Library, device: int, image_type: Any, shape: tuple[int, ...], batch: bool,
             background: float | None,
             connectivity: int | None, thresholds: tuple[float, ...], is_threshold_list: bool, counts: bool) -> Plan:
    """Makes a Plan. `image_type` is the library's type object for the elements of the image."""
    shape, leading = tuple(shape), int(batch)
    expect_shape(shape, "image", *((3, 4) if batch else (2, 3)))
    settings = settings_of(shape[leading:], _arrays.connectivity_of(connectivity, len(shape) - leading))
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
