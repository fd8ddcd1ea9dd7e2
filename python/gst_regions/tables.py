"""Tables of regions: the function regionprops_table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core
from ._arrays import Array


def regionprops_table(label_image: Array, intensity_image: Array | None = None) -> NDArray[Any]:
    """Measures each region of a label image. The table has one row per label.

    Parameters
    ----------
    label_image : integer array of shape (H, W) or (D, H, W)
        0 is background. The elements of a label need not be connected, and labels may be missing.
    intensity_image : array of the same shape, optional, or with one more axis at the end for channels
        The array whose means the table contains.

    Returns
    -------
    structured array in order of labels, with the column names of `skimage.measure.regionprops_table`
        `label`; `area` (number of elements, int64); `bbox-0` … (first index on each axis, then end index on each axis,
        exclusive, int32); `centroid-0` … (mean index on each axis, float64). With an intensity image also
        `intensity_mean`, or `intensity_mean-0` … for channels (float64). `table["area"]` is a column as an array.
        `pandas.DataFrame(table)` converts the table.

    Raises
    ------
    TypeError
        The labels are not integers.
    ValueError
        A label is negative, the label image does not have 2 or 3 axes or has no elements, or the shape of the intensity
        image does not match.
    """
    labels = _arrays.as_numpy(label_image, "label_image")
    _arrays.expect_axes(labels, "label_image", 2, 3)
    if labels.dtype.kind not in "iu":
        raise TypeError(f"label_image has elements of type {labels.dtype}, must have integers")
    if labels.min() < 0:
        raise ValueError(f"label_image has the negative label {labels.min()}, must have labels of at least 0")
    max_label = int(labels.max())
    original_labels = None
    if max_label > labels.size:  # avoids a temporary table with more rows than the image has elements
        original_labels, numbers = np.unique(labels, return_inverse=True)
        first = int(original_labels[0] != 0)  # the new number of the lowest label; 0 is background
        labels, original_labels = numbers.reshape(labels.shape) + first, original_labels[1 - first:]
        max_label = len(original_labels)
    intensity = None if intensity_image is None else _arrays.as_numpy(intensity_image, "intensity_image")
    table = table_of(np.ascontiguousarray(labels, np.int32), max_label, intensity)
    if original_labels is not None:
        table["label"] = original_labels[table["label"] - 1]
    return table


def table_of(labels: NDArray[np.int32], max_label: int, intensity: NDArray[Any] | None) -> NDArray[Any]:
    """Returns the table of the labels from 1 to `max_label` that occur in `labels`."""
    extents = np.zeros((max_label, 10), np.int64)  # columns: area; begin, end and sum along z, y, x
    _core.measure(labels, extents)
    present = extents[:, 0] > 0
    area = extents[present, 0]
    begin, end, total = (extents[present, 1 + 3 * k:4 + 3 * k][:, 3 - labels.ndim:] for k in range(3))
    columns: dict[str, NDArray[Any]] = {"label": np.flatnonzero(present) + 1, "area": area}
    for k, corner in enumerate([*begin.T, *end.T]):
        columns[f"bbox-{k}"] = corner.astype(np.int32)
    for axis, sums in enumerate(total.T):
        columns[f"centroid-{axis}"] = sums / area
    if intensity is not None:
        columns.update(_means(labels, max_label, intensity, present, area))
    table = np.empty(len(area), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table


def _means(labels: NDArray[np.int32], max_label: int, intensity: NDArray[Any], present: NDArray[np.bool_],
           area: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Returns the columns with the mean intensity of each label that is present."""
    has_channels = intensity.ndim == labels.ndim + 1
    if intensity.shape[:labels.ndim] != labels.shape or intensity.ndim > labels.ndim + 1:
        raise ValueError(f"intensity_image has shape {intensity.shape}, must have {labels.shape}, the shape of the labels, "
                         "or one more axis for channels")
    sums = np.zeros((max_label, intensity.shape[-1] if has_channels else 1), np.float64)
    _core.add_values(labels, np.ascontiguousarray(_arrays.with_native_bytes(intensity)), sums)
    means = sums[present] / area[:, None]
    if not has_channels:
        return {"intensity_mean": means[:, 0]}
    return {f"intensity_mean-{c}": channel for c, channel in enumerate(means.T)}
