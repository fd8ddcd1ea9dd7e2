"""Superpixels: the function slic."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, threads_for
from ._parameters import with_argument_names
from .tables import table_of

# The arguments of `slic` for the fields of the algorithm.
FIELD_ARGUMENTS = {"superpixels": "n_segments", "iterations": "max_num_iter", "min-size": "min_size_factor"}


class Options(TypedDict, total=False):
    """Keyword arguments of `slic` that do not change the type of the result."""

    convert2lab: bool
    min_size_factor: float
    slic_zero: bool
    out: NDArray[np.int32] | None
    threads: int


Labels = NDArray[np.int32]


@overload
def slic(image: NDArray[np.uint8], n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[False] = ..., return_adjacency: Literal[False] = ...,
         **options: Unpack[Options]) -> Labels: ...
@overload
def slic(image: NDArray[np.uint8], n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[True], return_adjacency: Literal[False] = ...,
         **options: Unpack[Options]) -> tuple[Labels, NDArray[Any]]: ...
@overload
def slic(image: NDArray[np.uint8], n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[False] = ..., return_adjacency: Literal[True],
         **options: Unpack[Options]) -> tuple[Labels, NDArray[np.int32]]: ...
@overload
def slic(image: NDArray[np.uint8], n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[True], return_adjacency: Literal[True],
         **options: Unpack[Options]) -> tuple[Labels, NDArray[Any], NDArray[np.int32]]: ...
@overload  # for lists, and for arrays of other libraries
def slic(image: Array, n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         convert2lab: bool = ..., min_size_factor: float = ..., slic_zero: bool = ..., return_table: bool = ...,
         return_adjacency: bool = ..., out: Array | None = ..., threads: int = ..., stream: Any = ...) -> Any: ...
def slic(image: Array, n_segments: int = 100, compactness: float = 10.0, max_num_iter: int = 10, *,
         convert2lab: bool = True, min_size_factor: float = 0.5, slic_zero: bool = False, return_table: bool = False,
         return_adjacency: bool = False, out: Array | None = None, threads: int = 0,
         stream: Any = None) -> Any:
    """Divides a picture into superpixels: compact, connected regions of similar colour.

    The arguments have the names and defaults of `skimage.segmentation.slic`. The borders differ slightly from
    scikit-image where a pixel fits two superpixels about equally well.

    Parameters
    ----------
    image : uint8 array of shape (H, W) or (H, W, 3)
        Gray, or R, G, B (sRGB).
    n_segments : int
        Approximate number of superpixels, at least 1. The initial grid has cells of at most 512 × 512 pixels.
    compactness : float
        Colour distance that counts as much as the spacing of the superpixels, 0 to 1000 (CIELAB units). A higher value
        makes superpixels more compact.
    max_num_iter : int
        Maximum number of iterations, 0 to 100.
    convert2lab : bool
        Compare colours in CIELAB. False compares the values of the image.
    min_size_factor : float
        Minimum size of a superpixel, 0 to 1 (fraction of a grid cell). A smaller one is merged into its most similar
        neighbour.
    slic_zero : bool
        Use SLICO, which adapts the compactness of each superpixel.
    return_table : bool
        Also return the table of `regionprops_table` with mean gray, or with mean R, G, B (`intensity_mean_0` …).
    return_adjacency : bool
        Also return the pairs of superpixels that have a common border.
    out : int32 array of shape (H, W), optional
        C-contiguous array that is written and returned instead of a new array.
    threads : int
        Maximum number of CPU threads, as for `label`. The result does not depend on it.
    stream : optional
        CUDA stream, as for `label`. Tables and pairs are always NumPy arrays. For an image on a device, the image and
        the labels are copied to the host for them.

    Returns
    -------
    labels : int32 array of shape (H, W), 1 … n in raster order of the first pixel of each superpixel
    table : structured array; with `return_table` only
    pairs : int32 array of shape (m, 2), sorted, each with the lower label first; with `return_adjacency` only

    Raises
    ------
    TypeError
        The image is not uint8, or `out` is not int32.
    ValueError
        The image has another shape, an axis has no elements or more than 65535, or a parameter is out of range.
    """
    device_array = _device_arrays.as_device_array(image)
    pixels: Any = device_array or _arrays.as_picture(image, "image", channels=(3,))
    if device_array:
        _arrays.expect_picture(device_array, "image", channels=(3,))
    if n_segments < 1:
        raise ValueError(f"n_segments is {n_segments}, must be at least 1")
    settings = [("superpixels", str(n_segments)), ("compactness", repr(float(compactness))),
                ("iterations", str(max_num_iter)), ("color-space", "lab" if convert2lab else "rgb"),
                ("min-size", repr(float(min_size_factor))), ("variant", "slico" if slic_zero else "slic"),
                ("output", "none")]
    needs_count = return_table or return_adjacency
    if device_array:
        with _device_arrays.on_stream(device_array, stream):
            labels = _device_arrays.separate_output(out, pixels.shape[:2], np.dtype(np.int32), device_array, "image")
            target = device_array.target()
            with with_argument_names(FIELD_ARGUMENTS):
                count = _core.slic(device_array.packed().capsule(target), device_array.library.capsule(labels, target),
                                   settings, needs_count, target)
            results = [device_array.library.finished(labels, target) if out is None else out]
        if needs_count:
            host_labels, pixels = device_array.wrap(results[0]).host(), device_array.host()
    else:
        host_labels = _arrays.output_array(out, pixels.shape[:2], np.int32)
        target = (threads_for(host_labels, threads), *_arrays.CPU_TARGET)
        with with_argument_names(FIELD_ARGUMENTS):
            count = _core.slic(pixels, host_labels, settings, needs_count, target)
        results = [_arrays.result_of(host_labels, out, image)]
    if return_table:
        results.append(table_of(host_labels, count, pixels))
    if return_adjacency:
        results.append(np.frombuffer(bytearray(_core.touching(host_labels)), np.int32).reshape(-1, 2))
    return results[0] if len(results) == 1 else tuple(results)
