"""Masks without what is small or enclosed: remove_small_objects, remove_small_holes, fill_holes."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core
from ._arrays import Array
from .labelling import neighbours, threads_for


def remove_small_objects(ar: Array, max_size: int = 64, connectivity: int = 1, *, out: Array | None = None,
                         threads: int = 0) -> Array:
    """Removes connected regions of up to `max_size` pixels, as `skimage.morphology.remove_small_objects` does.

    Parameters
    ----------
    ar : bool array of shape (H, W) or (D, H, W)
    max_size : int
        Pixels or voxels of the largest region that is removed.
    connectivity : int
        As for `label`.
    out : bool array, optional
        Written and returned in place of a new array; C-contiguous. Must not share memory with `ar`.
    threads : int
        As for `label`.

    Returns
    -------
    bool array of the same shape

    Raises
    ------
    TypeError
        `ar` or `out` is not bool. (Of a label image, keep the labels whose `area` in `regionprops_table` suffices.)
    ValueError
        As for `label`; `max_size` is negative.
    """
    mask = _mask(ar)
    place = _arrays.written(out, mask.shape, np.bool_, mask, "ar")
    _keep_large(mask, max_size, connectivity, place, threads)
    return _arrays.given(place, out, ar)


def remove_small_holes(ar: Array, max_size: int = 64, connectivity: int = 1, *, out: Array | None = None,
                       threads: int = 0) -> Array:
    """Fills background regions of up to `max_size` pixels, as `skimage.morphology.remove_small_holes` does.

    Those that touch the border as well. Parameters, result and errors as of `remove_small_objects`, where regions and
    their connectivity are those of the background.
    """
    mask = _mask(ar)
    place = _arrays.place(out, mask.shape, np.bool_)
    _keep_large(~mask, max_size, connectivity, place, threads)
    np.logical_not(place, out=place)
    return _arrays.given(place, out, ar)


def fill_holes(ar: Array, connectivity: int = 1, *, out: Array | None = None, threads: int = 0) -> Array:
    """Fills background that is enclosed, as `scipy.ndimage.binary_fill_holes` does.

    Parameters
    ----------
    ar : bool array of shape (H, W) or (D, H, W)
    connectivity : int
        Along how many axes at once a path out of a hole may step, as for `label`; SciPy's `structure` is
        `generate_binary_structure(ar.ndim, connectivity)`.
    out : bool array, optional
        Written and returned in place of a new array; C-contiguous. Must not share memory with `ar`.
    threads : int
        As for `label`.

    Returns
    -------
    bool array of the same shape

    Raises
    ------
    TypeError
        `ar` or `out` is not bool.
    ValueError
        As for `label`.
    """
    mask = _mask(ar)
    place = _arrays.written(out, mask.shape, np.bool_, mask, "ar")
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "none")]
    _core.fill_holes(_arrays.in_rows(mask), place, settings, threads_for(mask, threads))
    return _arrays.given(place, out, ar)


def _mask(array: Array) -> NDArray[np.bool_]:
    mask = _arrays.taken(array, "ar")
    _arrays.expect_axes(mask, "ar", 2, 3)
    if mask.dtype != np.bool_:
        raise TypeError(f"ar has elements of type {mask.dtype}, must have bool")
    return mask


def _keep_large(mask: NDArray[np.bool_], max_size: int, connectivity: int, place: NDArray[np.bool_],
                threads: int) -> None:
    if operator.index(max_size) < 0:
        raise ValueError(f"max_size is {max_size}, must be at least 0")
    settings = [("connectivity", neighbours(mask.shape, connectivity)), ("output", "mask"),
                ("min-area", str(min(max_size, mask.size) + 1))]
    _core.select(_arrays.in_rows(mask), place, settings, threads_for(mask, threads))
