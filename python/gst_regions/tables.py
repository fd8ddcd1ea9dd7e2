"""Tables of regions: regionprops_table, and the conversion to and from supervision.Detections."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array

Column = NDArray[Any]
Table = Any  # a structured array, a dictionary of columns or a pandas.DataFrame
# The names that earlier versions of scikit-image used, and the current names.
OLD_NAMES = {"bbox_area": "area_bbox", "convex_area": "area_convex", "equivalent_diameter": "equivalent_diameter_area",
             "local_centroid": "centroid_local", "major_axis_length": "axis_major_length",
             "minor_axis_length": "axis_minor_length", "max_intensity": "intensity_max",
             "mean_intensity": "intensity_mean", "min_intensity": "intensity_min", "std_intensity": "intensity_std",
             "weighted_centroid": "centroid_weighted", "weighted_local_centroid": "centroid_weighted_local",
             "weighted_moments": "moments_weighted", "weighted_moments_central": "moments_weighted_central",
             "weighted_moments_normalized": "moments_weighted_normalized", "weighted_moments_hu": "moments_weighted_hu"}


@overload
def regionprops_table(label_image: Array, intensity_image: Array | None = ..., properties: None = ..., *,
                      cache: bool = ..., separator: str = ..., extra_properties: None = ...,
                      spacing: Sequence[float] | None = ...) -> NDArray[Any]: ...
@overload
def regionprops_table(label_image: Array, intensity_image: Array | None = ..., properties: Collection[str] = ..., *,
                      cache: bool = ..., separator: str = ...,
                      extra_properties: Collection[Callable[..., Any]] | None = ...,
                      spacing: Sequence[float] | None = ...) -> dict[str, Column]: ...
def regionprops_table(label_image: Array, intensity_image: Array | None = None,
                      properties: Collection[str] | None = None, *, cache: bool = True, separator: str = "-",
                      extra_properties: Collection[Callable[..., Any]] | None = None,
                      spacing: Sequence[float] | None = None) -> Any:
    """Measures each region of a label image. The table has one row per label.

    With `properties`, this is `skimage.measure.regionprops_table`: the result is a dictionary of columns. Integer
    measurements equal scikit-image's, and others differ by rounding. Without `properties`, the result is a
    structured array with fixed columns.

    Parameters
    ----------
    label_image : integer array of shape (H, W) or (D, H, W)
        0 is background. The elements of a label need not be connected, and labels may be missing. An array on a CUDA
        device is copied to the host.
    intensity_image : array of the same shape, optional, or with one more axis at the end for channels
        The array whose values are measured.
    properties : sequence of str, optional
        Names of properties as in scikit-image: `label`, `area`, `num_pixels`, `bbox`, `area_bbox`, `extent`, `centroid`,
        `centroid_local`, `equivalent_diameter_area`, `axis_major_length`, `axis_minor_length`, `eccentricity`,
        `orientation`, `perimeter`, `area_convex`, `solidity`, `inertia_tensor`, `inertia_tensor_eigvals`, `moments`,
        `moments_central`, `moments_normalized`, `moments_hu`; with an intensity image also `intensity_mean`,
        `intensity_min`, `intensity_max`, `intensity_std`, `centroid_weighted`, `centroid_weighted_local`,
        `moments_weighted` and its variants. Their old names are accepted, too. Other properties of scikit-image are
        computed by scikit-image, if it is installed.
    cache : bool
        Accepted for compatibility. It has no effect.
    separator : str
        Stands between the name of a property and the index of its element, such as `bbox-0`.
    extra_properties : sequence of functions, optional
        Each function is called with the mask of each region and, if it has two parameters, with the intensities inside
        the bounding box. The name of the column is the name of the function.
    spacing : sequence of numbers, optional
        Distance of neighbouring elements along each axis. The default is 1.

    Returns
    -------
    dict of columns, if `properties` or `extra_properties` is given
    structured array, otherwise
        `label`; `area` (number of elements, int64); `bbox_0` … (first index on each axis, then end index on each axis,
        exclusive, int32); `centroid_0` … (mean index on each axis, float64). With an intensity image also
        `intensity_mean`, or `intensity_mean_0` … for channels (float64). The names with `-` of scikit-image, such as
        `bbox-0`, are aliases. `table["area"]` is a column as an array. `pandas.DataFrame(table)` converts the table.

    Raises
    ------
    TypeError
        The labels are not integers.
    ValueError
        A label is negative, the label image does not have 2 or 3 axes or has no elements, the shape of the intensity
        image does not match, or a property does not exist or requires an intensity image.
    """
    labels, original, max_label = compact_labels(label_image)
    intensity = None
    if intensity_image is not None:
        intensity = _arrays.as_numpy(_device_arrays.to_host(intensity_image), "intensity_image")
    if properties is None and extra_properties is None and spacing is None and separator == "-":
        table = table_of(labels, max_label, intensity)
        return table if original is None else _with_labels(table, original)
    regions = Regions(labels, max_label, intensity, original, spacing)
    columns: dict[str, Column] = {}
    names = ("label", "bbox") if properties is None else properties
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"properties is {properties!r}, must be a sequence of names")
    for name in names:
        columns.update(_columns_of(name, regions.values_of(OLD_NAMES.get(name, name)), separator))
    for function in extra_properties or ():
        columns.update(_columns_of(function.__name__, regions.results_of(function), separator))
    return columns


def to_supervision(table: NDArray[Any], labels: Array | None = None) -> Any:
    """Converts a table of regions to `supervision.Detections`, whose annotators draw them.

    Parameters
    ----------
    table : structured array
        A table of `label`, `regionprops_table`, `slic` or `Tracker.apply` for a picture.
    labels : integer array of shape (H, W), optional
        The labels of the table. With them, the detections have masks.

    Returns
    -------
    supervision.Detections
        `xyxy` has the boxes: first column, first row, and the column and row after the last ones. `data["area"]` has the
        areas. If the table has tracks, they are the `tracker_id`. `class_id` and `confidence` are the columns with these
        names; without them, the class is 0.

    Raises
    ------
    ImportError
        The package supervision is not installed.
    ValueError
        The table is about volumes.
    """
    names = table.dtype.names or ()
    if "bbox_3" not in names or "bbox_4" in names:
        raise ValueError("table has no boxes of pictures; pass a table of label, regionprops_table, slic or Tracker.apply")
    supervision = importlib.import_module("supervision")
    boxes = np.stack([table[f"bbox_{k}"] for k in (1, 0, 3, 2)], -1).astype(np.float32)
    mask = None
    if labels is not None:
        values = _arrays.as_numpy(_device_arrays.to_host(labels), "labels")
        mask = values[None] == table["label"][:, None, None]
    return supervision.Detections(xyxy=boxes, mask=mask,
                                  confidence=table["confidence"].astype(np.float32) if "confidence" in names else None,
                                  class_id=table["class_id"].astype(int) if "class_id" in names else np.zeros(len(table), int),
                                  tracker_id=table["track"].astype(int) if "track" in names else None,
                                  data={"area": table["area"]})


def from_supervision(detections: Any, return_labels: bool = False) -> Any:
    """Converts `supervision.Detections`, for example of a neural network, to a table for `Zones.update`.

    Parameters
    ----------
    detections : supervision.Detections
        Objects of a picture. The package supervision need not be installed.
    return_labels : bool
        Also return the masks of the objects as a label image. Where masks overlap, the last object has the pixel.

    Returns
    -------
    table : structured array
        `label` (1 … n, in the order of the detections, int64); `track`, if there is a `tracker_id` (int64; 0 for an
        object that the tracker has not confirmed, whose `tracker_id` is negative); `area` (pixels: `data["area"]`, else
        of the mask, else of the box, float64); `bbox_0` … `bbox_3` (first row, first column, and the row and column
        after the last ones, float64, because detectors give fractions); `centroid_0` and `centroid_1` (mean index of the
        mask, else of the box, float64); `class_id` (int64) and `confidence` (float64), if they are known.
        `to_supervision` converts the table back. Other data of the detections are left out.
    labels : int32 array of shape (H, W), if `return_labels` is set

    Raises
    ------
    TypeError
        `detections` has no `xyxy`.
    ValueError
        The boxes are not finite, an attribute has another length, or `return_labels` is set but masks are missing.
    """
    if not hasattr(detections, "xyxy"):
        raise TypeError(f"detections is of type {type(detections).__name__}, must be supervision.Detections")
    boxes = np.asarray(detections.xyxy, np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"detections has xyxy of shape {boxes.shape}, must have (n, 4)")
    if not np.isfinite(boxes).all():
        raise ValueError("detections has a box that is not finite")
    count = len(boxes)
    masks = _of_detections(detections, "mask", count)
    if return_labels and masks is None:
        raise ValueError("detections has no masks, from which labels can be made")
    columns: dict[str, Column] = {"label": np.arange(1, count + 1)}
    if (tracks := _of_detections(detections, "tracker_id", count)) is not None:
        columns["track"] = np.maximum(tracks.astype(np.int64), 0)
    left, top, right, bottom = boxes.T
    areas = (right - left) * (bottom - top)
    centers = np.stack([(top + bottom) / 2, (left + right) / 2], -1) - 0.5
    if masks is not None:
        masks = masks.astype(bool)
        areas = masks.sum((1, 2), float)
        for row in np.flatnonzero(areas):
            centers[row] = np.mean(np.nonzero(masks[row]), 1)
    known = _of_detections(getattr(detections, "data", None) or {}, "area", count)
    columns["area"] = (areas if known is None else known).astype(np.float64)
    columns |= {f"bbox_{k}": edge for k, edge in enumerate((top, left, bottom, right))}
    columns |= {"centroid_0": centers[:, 0], "centroid_1": centers[:, 1]}
    for name, kind in (("class_id", np.int64), ("confidence", np.float64)):
        if (values := _of_detections(detections, name, count)) is not None:
            columns[name] = values.astype(kind)
    table = np.empty(count, [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    if masks is None or not return_labels:
        return table
    labels = np.zeros(masks.shape[1:], np.int32)
    for number, mask in enumerate(masks, 1):
        labels[mask] = number
    return table, labels


def _of_detections(detections: Any, name: str, count: int) -> Column | None:
    """Returns an attribute or a column of the data of detections, or None if it is unknown."""
    values = detections.get(name) if isinstance(detections, dict) else getattr(detections, name, None)
    if values is None:
        return None
    column = np.asarray(values)
    if len(column) != count:
        raise ValueError(f"detections has {len(column)} values of {name} for {count} boxes")
    return column


def compact_labels(label_image: Array, name: str = "label_image") -> tuple[NDArray[np.int32], Column | None, int]:
    """Returns the labels as int32, the original labels if they have been renumbered, and the largest label."""
    labels = _arrays.as_numpy(_device_arrays.to_host(label_image), name)
    _arrays.expect_axes(labels, name, 2, 3)
    if labels.dtype.kind not in "iu":
        raise TypeError(f"{name} has elements of type {labels.dtype}, must have integers")
    if labels.dtype.kind == "i" and labels.min() < 0:
        raise ValueError(f"{name} has the negative label {labels.min()}, must have labels of at least 0")
    max_label = int(labels.max())
    original = None
    if max_label > labels.size:  # avoids a temporary table with more rows than the image has elements
        original, numbers = np.unique(labels, return_inverse=True)
        first = int(original[0] != 0)  # the new number of the lowest label; 0 is background
        labels, original = numbers.reshape(labels.shape) + first, original[1 - first:]
        max_label = len(original)
        if original.dtype == np.uint64 and original[-1] <= np.iinfo(np.int64).max:
            original = original.astype(np.int64)
    return np.ascontiguousarray(labels, np.int32), original, max_label


def _with_labels(table: NDArray[Any], original: Column) -> NDArray[Any]:
    """Replaces the numbers in the column `label` by the original labels."""
    kinds = [(table.dtype.fields[name][2:] + (name,) if len(table.dtype.fields[name]) > 2 else name,  # type: ignore[index]
              table.dtype[name]) for name in table.dtype.names or ()]
    dtype = original.dtype if original.dtype == np.uint64 else np.dtype(np.int64)
    renamed = np.empty(len(table), [(kinds[0][0], dtype), *kinds[1:]])
    for name in table.dtype.names or ():
        renamed[name] = original[table["label"] - 1] if name == "label" else table[name]
    return renamed


class Extents:
    """The measurements of the labels that occur: area, bounding box and sums of indices along each axis."""

    def __init__(self, labels: NDArray[np.int32], max_label: int) -> None:
        self.table = np.zeros((max_label, 10), np.int64)  # columns: area; begin, end and sum along z, y, x
        _core.measure(labels, self.table)
        self.is_present = self.table[:, 0] > 0
        present = self.table if self.is_present.all() else self.table[self.is_present]
        axes = labels.ndim
        self.labels = np.flatnonzero(self.is_present) + 1
        self.area = present[:, 0]
        self.begin, self.end, self.total = (present[:, 4 + 3 * k - axes:4 + 3 * k] for k in range(3))


def table_of(labels: NDArray[np.int32], max_label: int, intensity: NDArray[Any] | None, *,
             has_all: bool = False) -> NDArray[Any]:
    """Returns the table of the labels from 1 to `max_label` that occur in `labels`: all of them with `has_all`."""
    channels = None
    if intensity is not None:
        channels = 0 if intensity.shape == labels.shape or not _has_channels(labels, intensity) else intensity.shape[-1]
        if not (intensity.flags.c_contiguous and intensity.flags.aligned and intensity.dtype.isnative):
            intensity = np.ascontiguousarray(_arrays.with_native_bytes(intensity))
    kind = _table_type(labels.ndim, channels)
    table = np.empty(max_label, kind)
    if max_label:
        contiguous = labels if labels.flags.c_contiguous else np.ascontiguousarray(labels)
        _core.fill_table(contiguous, intensity, table.view(_row_type(kind.itemsize)))
        if not has_all and not (table["area"]).all():
            table = table[table["area"] > 0]
    return table


def table_in(rows: bytearray) -> NDArray[Any]:
    """Returns the table of a picture whose rows _core.label_small_mask() has written."""
    return np.frombuffer(rows, _table_type(2, 0))


@functools.lru_cache(maxsize=64)
def _row_type(size: int) -> np.dtype[Any]:
    """Returns the type of the bytes of a row."""
    return np.dtype((np.uint8, (size,)))


@functools.lru_cache(maxsize=64)
def _table_type(axes: int, channels: int | None) -> np.dtype[Any]:
    """Returns the type of a table. `channels` is None without an intensity image, and 0 for one without channels."""
    kinds: list[Any] = [("label", np.int64), ("area", np.int64)]
    kinds += [((f"bbox-{k}", f"bbox_{k}"), np.int32) for k in range(2 * axes)]
    kinds += [((f"centroid-{k}", f"centroid_{k}"), np.float64) for k in range(axes)]
    if channels == 0:
        kinds.append(("intensity_mean", np.float64))
    for k in range(channels or 0):
        kinds.append(((f"intensity_mean-{k}", f"intensity_mean_{k}"), np.float64))
    return np.dtype(kinds)


def _has_channels(labels: NDArray[np.int32], intensity: NDArray[Any]) -> bool:
    """Returns whether the intensity image has an axis of channels."""
    if intensity.shape[:labels.ndim] != labels.shape or intensity.ndim > labels.ndim + 1:
        raise ValueError(f"intensity_image has shape {intensity.shape}, must have {labels.shape}, the shape of the labels, "
                         "or one more axis for channels")
    return intensity.ndim == labels.ndim + 1


def _sums_of(labels: NDArray[np.int32], max_label: int, intensity: NDArray[Any]) -> NDArray[np.float64]:
    """Returns the sums of the intensities of each label, with one column per channel."""
    sums = np.zeros((max_label, intensity.size // labels.size), np.float64)
    _core.add_values(labels, np.ascontiguousarray(_arrays.with_native_bytes(intensity)), sums)
    return sums


def _columns_of(name: str, values: Column | list[Any], separator: str) -> dict[str, Column]:
    """Returns the columns of a property. A property with several elements has one column for each of them."""
    if isinstance(values, list) or values.ndim == 1:
        return {name: _object_column(values) if isinstance(values, list) else values}
    return {separator.join(map(str, (name, *index))): np.ascontiguousarray(values[(slice(None), *index)])
            for index in np.ndindex(values.shape[1:])}


def _object_column(values: list[Any]) -> Column:
    column = np.empty(len(values), object)
    for k, value in enumerate(values):
        column[k] = value
    return column


def _once(method: Callable[[Any], Column]) -> Callable[[Any], Column]:
    """Makes a method of Regions keep its result for later calls."""
    name = method.__name__

    @functools.wraps(method)
    def result_of(regions: Any) -> Column:
        if name not in regions._results:
            regions._results[name] = method(regions)
        result: Column = regions._results[name]
        return result
    return result_of


class Regions:
    """The properties of the regions of a label image, computed when they are needed.

    A property is a method. It returns an array with one row per region, whose further axes are the elements of the
    property.
    """

    def __init__(self, labels: NDArray[np.int32], max_label: int, intensity: NDArray[Any] | None,
                 original: Column | None, spacing: Sequence[float] | None) -> None:
        axes = labels.ndim
        self._labels, self._max_label, self._intensity, self._original = labels, max_label, intensity, original
        self._spacing = np.ones(axes) if spacing is None else np.broadcast_to(np.asarray(spacing, float), (axes,))
        self._results: dict[str, Column] = {}  # see _once()
        self._axes, self._pixel = axes, float(self._spacing.prod())
        self._extents = Extents(labels, max_label)
        self._has_channels = intensity is not None and _has_channels(labels, intensity)

    def values_of(self, name: str) -> Column | list[Any]:
        """Returns the values of the property `name`."""
        if not name.startswith("_") and name not in ("values_of", "results_of") and hasattr(Regions, name):
            values: Column = getattr(self, name)()
            return values
        return self._by_scikit_image(name)

    def results_of(self, function: Callable[..., Any]) -> Column | list[Any]:
        """Returns the results of a function that is called for each region."""
        takes_intensity = len(inspect.signature(function).parameters) > 1
        results = []
        for label, begin, end in zip(self._extents.labels, self._extents.begin, self._extents.end):
            box = tuple(map(slice, begin, end))
            mask = self._labels[box] == label
            arguments: list[Any] = [mask]
            if takes_intensity:
                values = self._with_intensity(function.__name__)[box]
                arguments.append(values * (mask[..., None] if self._has_channels else mask))
            results.append(function(*arguments))
        shapes = {np.shape(result) for result in results if not isinstance(result, (list, str))}
        if len(shapes) != 1 or not all(isinstance(result, (int, float, np.generic, np.ndarray)) for result in results):
            return results
        return np.asarray(results)

    def label(self) -> Column:
        labels = self._extents.labels
        return labels if self._original is None else self._original[labels - 1]

    def num_pixels(self) -> Column:
        return self._extents.area

    def area(self) -> Column:
        return self._extents.area * self._pixel

    def bbox(self) -> Column:
        return np.concatenate([self._extents.begin, self._extents.end], 1)

    def area_bbox(self) -> Column:
        sides: Column = self._extents.end - self._extents.begin
        values: Column = sides.prod(1) * self._pixel
        return values

    def extent(self) -> Column:
        return self.area() / self.area_bbox()

    def centroid(self) -> Column:
        return self._extents.total / self._extents.area[:, None] * self._spacing

    def equivalent_diameter_area(self) -> Column:
        return (2 * self._axes * self.area() / math.pi) ** (1 / self._axes)

    @_once
    def moments(self) -> Column:
        return self._moments(np.zeros_like(self._extents.begin), None)

    def centroid_local(self) -> Column:
        return _centre_of(self.moments())

    @_once
    def moments_central(self) -> Column:
        return self._moments(self.centroid_local(), None)

    def moments_normalized(self) -> Column:
        return _normalized(self.moments_central(), float(self._spacing.min()))

    def moments_hu(self) -> Column:
        self._expect_picture("moments_hu", spacing=1)
        return _hu_of(self.moments_normalized())

    @_once
    def inertia_tensor(self) -> Column:
        return _inertia_of(self.moments_central())

    @_once
    def inertia_tensor_eigvals(self) -> Column:
        tensor = self.inertia_tensor()
        values: Column = np.linalg.eigvalsh(tensor)[:, ::-1] if len(tensor) else np.zeros(tensor.shape[:2])
        return np.clip(values, 0, None)

    def axis_major_length(self) -> Column:
        values = self.inertia_tensor_eigvals()
        if self._axes == 2:
            return 4 * np.sqrt(values[:, 0])
        lengths: Column = np.sqrt(np.maximum(0, 10 * (values[:, 0] + values[:, 1] - values[:, 2])))
        return lengths

    def axis_minor_length(self) -> Column:
        values = self.inertia_tensor_eigvals()
        if self._axes == 2:
            return 4 * np.sqrt(values[:, 1])
        lengths: Column = np.sqrt(np.maximum(0, 10 * (-values[:, 0] + values[:, 1] + values[:, 2])))
        return lengths

    def eccentricity(self) -> Column:
        self._expect_picture("eccentricity")
        major, minor = self.inertia_tensor_eigvals().T
        ratio = np.divide(minor, major, out=np.ones_like(minor), where=major != 0)
        values: Column = np.sqrt(1 - ratio)
        return values

    def orientation(self) -> Column:
        self._expect_picture("orientation")
        tensor = self.inertia_tensor()
        a, b, c = tensor[:, 0, 0], tensor[:, 0, 1], tensor[:, 1, 1]
        return np.where(a - c == 0, np.where(b < 0, math.pi / 4, -math.pi / 4), 0.5 * np.arctan2(-2 * b, c - a))

    def perimeter(self) -> Column:
        self._expect_picture("perimeter", spacing=self._spacing[0])
        perimeters = np.zeros((self._max_label, 1))
        _core.add_perimeters(self._labels, perimeters)
        values: Column = perimeters[self._extents.is_present, 0] * self._spacing[0]
        return values

    @_once
    def area_convex(self) -> Column:
        if self._axes == 3:
            return np.asarray(self._by_scikit_image("area_convex"))
        areas = np.zeros((self._max_label, 1))
        _core.measure_hulls(self._labels, self._extents.table, areas)
        values: Column = areas[self._extents.is_present, 0] * self._pixel
        return values

    def solidity(self) -> Column:
        return self.area() / self.area_convex()

    @_once
    def _means(self) -> Column:
        sums = _sums_of(self._labels, self._max_label, self._with_intensity("intensity_mean"))
        return sums[self._extents.is_present] / self._extents.area[:, None]

    @_once
    def _spread(self) -> Column:
        """Returns the minimum, the maximum and the sum of squared differences from the mean of each channel."""
        means = np.zeros((self._max_label, self._means().shape[1]))
        means[self._extents.is_present] = self._means()
        spread = np.zeros((self._max_label, 3 * means.shape[1]))
        intensity = np.ascontiguousarray(_arrays.with_native_bytes(self._with_intensity("intensity_std")))
        _core.measure_spread(self._labels, intensity, means, spread)
        return spread[self._extents.is_present].reshape(-1, means.shape[1], 3)

    def intensity_mean(self) -> Column:
        return self._of_channels(self._means())

    def intensity_min(self) -> Column:
        return self._of_channels(self._spread()[..., 0])

    def intensity_max(self) -> Column:
        return self._of_channels(self._spread()[..., 1])

    def intensity_std(self) -> Column:
        return self._of_channels(np.sqrt(self._spread()[..., 2] / self._extents.area[:, None]))

    def moments_weighted(self) -> Column:
        return self._per_channel(lambda values: self._moments(np.zeros_like(self._extents.begin), values))

    def centroid_weighted_local(self) -> Column:
        return self._per_channel(self._weighted_centre)

    def centroid_weighted(self) -> Column:
        start = self._extents.begin * self._spacing
        return self._per_channel(lambda values: self._weighted_centre(values) + start)

    def moments_weighted_central(self) -> Column:
        return self._per_channel(self._weighted_central)

    def moments_weighted_normalized(self) -> Column:
        smallest = float(self._spacing.min())
        return self._per_channel(lambda values: _normalized(self._weighted_central(values), smallest))

    def moments_weighted_hu(self) -> Column:
        self._expect_picture("moments_weighted_hu", spacing=1)
        return self._per_channel(lambda values: _hu_of(_normalized(self._weighted_central(values), 1)))

    def _weighted_centre(self, values: Column) -> Column:
        return _centre_of(self._moments(np.zeros_like(self._extents.begin), values))

    def _weighted_central(self, values: Column) -> Column:
        return self._moments(self._weighted_centre(values), values)

    def _moments(self, centers: Column, values: Column | None) -> Column:
        """Returns the moments up to order 3 along each axis, around one point per region.

        The coordinates of a point are relative to the first corner of the region's bounding box.
        """
        all_begins = np.zeros((self._max_label, self._axes), np.int64)
        all_centers = np.zeros((self._max_label, self._axes))
        all_begins[self._extents.is_present] = self._extents.begin
        all_centers[self._extents.is_present] = centers
        sums = np.zeros((self._max_label, 4 ** self._axes))
        _core.moments(self._labels, all_begins, all_centers, self._spacing.tolist(), values, sums)
        return sums[self._extents.is_present].reshape(-1, *[4] * self._axes)

    def _per_channel(self, function: Callable[[Column], Column]) -> Column:
        """Calls the function for each channel of the intensity image. The channels become the last axis."""
        intensity = self._with_intensity("a weighted property").astype(np.float64)
        if not self._has_channels:
            return function(np.ascontiguousarray(intensity))
        return np.stack([function(np.ascontiguousarray(intensity[..., c])) for c in range(intensity.shape[-1])], -1)

    def _of_channels(self, values: Column) -> Column:
        return values if self._has_channels else values[:, 0]

    def _with_intensity(self, name: str) -> NDArray[Any]:
        if self._intensity is None:
            raise ValueError(f"{name} requires intensity_image")
        return self._intensity

    def _expect_picture(self, name: str, spacing: float | None = None) -> None:
        """Raises ValueError for a volume, or if the spacing along any axis is not `spacing`."""
        if self._axes != 2:
            raise ValueError(f"{name} is defined for pictures, not for a label image with {self._axes} axes")
        if spacing is not None and (self._spacing != spacing).any():
            raise ValueError(f"{name} requires spacing {spacing:g} along both axes, not {self._spacing.tolist()}")

    def _by_scikit_image(self, name: str) -> Column | list[Any]:
        """Returns a property that this class does not have. scikit-image computes it."""
        try:
            measure = importlib.import_module("skimage.measure")
        except ImportError:
            raise ValueError(f"property {name!r} is not available without scikit-image; install scikit-image, or see the "
                             "documentation of `properties`") from None
        found = measure.regionprops(self._labels, self._intensity, spacing=tuple(self._spacing.tolist()))
        try:
            values = [region[name] for region in found]
        except (AttributeError, KeyError):
            reason = "requires intensity_image" if "intensity" in name or "weighted" in name else "does not exist"
            raise ValueError(f"property {name!r} {reason}") from None
        if not found and name not in ("euler_number", "area_filled", "feret_diameter_max", "perimeter_crofton"):
            raise ValueError(f"property {name!r} is not available for a label image without regions")
        if name.startswith(("image", "coords", "slice")):
            return values
        return np.asarray(values)


def _centre_of(moments: Any) -> Column:
    """Returns the centre of mass along each axis."""
    axes = moments.ndim - 1
    mass = moments[(slice(None), *[0] * axes)]
    first = [moments[(slice(None), *(int(k == axis) for k in range(axes)))] for axis in range(axes)]
    centre: Column = np.stack(first, -1) / mass[:, None]
    return centre


def _normalized(central: Any, scale: float) -> Column:
    """Returns central moments that do not depend on the size. Orders 0 and 1 are NaN."""
    axes = central.ndim - 1
    order = np.indices(central.shape[1:]).sum(0)
    mass = central[(slice(None), *[None] * axes, *[0] * axes)]
    normalized: Column = central / scale ** order / mass ** (order / axes + 1)
    normalized[:, order < 2] = np.nan
    return normalized


def _inertia_of(central: Any) -> Column:
    """Returns the inertia tensor: sums of second moments of the other axes, and negative mixed moments."""
    axes = central.ndim - 1
    mass = central[(slice(None), *[0] * axes)]

    def second(one: int, other: int) -> Any:
        return central[(slice(None), *((k == one) + (k == other) for k in range(axes)))]

    total = np.sum([second(k, k) for k in range(axes)], 0)
    tensor = np.empty((len(central), axes, axes))
    for one in range(axes):
        for other in range(axes):
            tensor[:, one, other] = (total - second(one, one) if one == other else -second(one, other)) / mass
    return tensor


def _hu_of(normalized: Any) -> Column:
    """Returns the seven moments of Hu: "Visual pattern recognition by moment invariants", 1962."""
    n = normalized
    sum_20, difference_20 = n[:, 2, 0] + n[:, 0, 2], n[:, 2, 0] - n[:, 0, 2]
    a, b = n[:, 3, 0] + n[:, 1, 2], n[:, 2, 1] + n[:, 0, 3]
    c, d = n[:, 3, 0] - 3 * n[:, 1, 2], 3 * n[:, 2, 1] - n[:, 0, 3]
    e, f = a * a - 3 * b * b, 3 * a * a - b * b
    return np.stack([sum_20, difference_20 ** 2 + 4 * n[:, 1, 1] ** 2, c * c + d * d, a * a + b * b,
                     c * a * e + d * b * f, difference_20 * (a * a - b * b) + 4 * n[:, 1, 1] * a * b,
                     d * a * e - c * b * f], -1)
