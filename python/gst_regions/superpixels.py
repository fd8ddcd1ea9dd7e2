"""Superpixels: slic."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _devices
from ._arrays import Array
from ._label_arguments import threads_for
from .tables import table_of


class Options(TypedDict, total=False):
    """Arguments of `slic` that say nothing of how many outputs there are."""

    convert2lab: bool
    min_size_factor: float
    slic_zero: bool
    out: NDArray[np.int32] | None
    threads: int


Labels = NDArray[np.int32]


@overload
def slic(image: NDArray[np.uint8], n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[False] = ..., return_adjacency: Literal[False] = ...,
         **how: Unpack[Options]) -> Labels: ...
@overload
def slic(image: NDArray[np.uint8], n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[True], return_adjacency: Literal[False] = ...,
         **how: Unpack[Options]) -> tuple[Labels, NDArray[Any]]: ...
@overload
def slic(image: NDArray[np.uint8], n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[False] = ..., return_adjacency: Literal[True],
         **how: Unpack[Options]) -> tuple[Labels, NDArray[np.int32]]: ...
@overload
def slic(image: NDArray[np.uint8], n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[True], return_adjacency: Literal[True],
         **how: Unpack[Options]) -> tuple[Labels, NDArray[Any], NDArray[np.int32]]: ...
@overload  # of other libraries, and lists
def slic(image: Array, n_segments: int = ..., compactness: float = ..., max_num_iter: int = ..., *,
         convert2lab: bool = ..., min_size_factor: float = ..., slic_zero: bool = ..., return_table: bool = ...,
         return_adjacency: bool = ..., out: Array | None = ..., threads: int = ..., stream: Any = ...) -> Any: ...
def slic(image: Array, n_segments: int = 100, compactness: float = 10.0, max_num_iter: int = 10, *,
         convert2lab: bool = True, min_size_factor: float = 0.5, slic_zero: bool = False, return_table: bool = False,
         return_adjacency: bool = False, out: Array | None = None, threads: int = 0,
         stream: Any = None) -> Any:
    """Cuts a picture into compact pieces of similar colour, each one connected region.

    Takes the arguments of `skimage.segmentation.slic` by the same names and with the same defaults; borders differ
    from its where two pieces fit a pixel about as well.

    Parameters
    ----------
    image : uint8 array of shape (H, W) or (H, W, 3)
        Gray, or R, G, B (sRGB).
    n_segments : int
        How many pieces are wanted, at least 1; about as many come. Cells have at most 512 pixels a side.
    compactness : float
        0 to 1000: the colour distance, in CIELAB units, that counts as much as the distance between pieces.
    max_num_iter : int
        0 to 100 rounds.
    convert2lab : bool
        Compare colours in CIELAB; else as they are.
    min_size_factor : float
        0 to 1: pieces smaller than this part of a cell join their most similar neighbour.
    slic_zero : bool
        SLICO: each piece finds the compactness that suits it.
    return_table : bool
        Also return the table of `regionprops_table` with mean gray or mean R, G, B (`intensity_mean-0` …).
    return_adjacency : bool
        Also return which pieces touch along sides of pixels.
    out : int32 array of shape (H, W), optional
        Written and returned in place of a new array; C-contiguous.
    threads : int
        As for `label`. Pieces do not depend on it.
    stream : optional
        As for `label`. Tables and adjacency of an image on a device are NumPy's, and made of copies.

    Returns
    -------
    labels : int32 array of shape (H, W), 1 … n in raster order of the pieces' first pixels
    table : structured array, with `return_table`
    pairs : int32 array of shape (n, 2), with `return_adjacency`: two labels, the lower one first, in rising order

    Raises
    ------
    TypeError
        The image is not uint8, or `out` not int32.
    ValueError
        Another shape, an axis without elements or with more than 65535, or a parameter beyond these limits.
    """
    device = _devices.on_device(image)
    pixels: Any = device or _arrays.picture(image, "image", channels=(3,))
    if device:
        _arrays.expect_picture(device, "image", channels=(3,))
    if n_segments < 1:
        raise ValueError(f"n_segments is {n_segments}, must be at least 1")
    settings = [("superpixels", str(n_segments)), ("compactness", repr(float(compactness))),
                ("iterations", str(max_num_iter)), ("color-space", "lab" if convert2lab else "rgb"),
                ("min-size", repr(float(min_size_factor))), ("variant", "slico" if slic_zero else "slic"),
                ("output", "none")]
    wants_count = return_table or return_adjacency
    if device:
        with _devices.on_stream(device, stream):
            labels = _devices.written(out, pixels.shape[:2], np.dtype(np.int32), device, "image")
            place = device.place()
            count = _core.slic(device.packed().capsule(place), device.library.capsule(labels, place), settings, wants_count, place)
            results = [device.library.finished(labels, place) if out is None else out]
        if wants_count:
            at, pixels = device.of(results[0]).host(), device.host()
    else:
        at = _arrays.place(out, pixels.shape[:2], np.int32)
        count = _core.slic(pixels, at, settings, wants_count, (threads_for(at, threads), *_arrays.HOST))
        results = [_arrays.given(at, out, image)]
    if return_table:
        results.append(table_of(at, count, pixels))
    if return_adjacency:
        results.append(np.frombuffer(bytearray(_core.touching(at)), np.int32).reshape(-1, 2))
    return results[0] if len(results) == 1 else tuple(results)
