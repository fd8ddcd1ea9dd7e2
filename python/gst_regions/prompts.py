"""Objects that boxes point out: the function cut_box."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, threads_for
from ._parameters import with_argument_names
from .background import CHANNELS

MAX_BOXES = 256  # kMaxBoxes in core/graphcutbg/graphcutbg.hpp
FAR = 1 << 30  # beyond all pictures, which have sides of at most 65535 pixels


@overload
def cut_box(image: Array, boxes: Array, *, as_labels: Literal[False] = ..., lambda_: float | None = ...,
            sigma: float | None = ..., channels: str = ..., threads: int = ...) -> NDArray[np.bool_]: ...
@overload
def cut_box(image: Array, boxes: Array, *, as_labels: Literal[True], lambda_: float | None = ...,
            sigma: float | None = ..., channels: str = ..., threads: int = ...) -> NDArray[np.int32]: ...
def cut_box(image: Array, boxes: Array, *, as_labels: bool = False, lambda_: float | None = None,
            sigma: float | None = None, channels: str = "RGB", threads: int = 0) -> NDArray[np.bool_] | NDArray[np.int32]:
    """Finds the exact shape of the object in each box, as GrabCut does (Rother, Kolmogorov and Blake, 2004).

    The colours of each object and of its surroundings are modelled by Gaussian mixtures, and an exact minimum cut
    separates them. This is `graphcutbg source=boxes`. No pixel outside a box is foreground. A pixel in several boxes
    can only belong to the box whose centre is nearest, where distances are measured in sides of the box.

    Parameters
    ----------
    image : uint8 array of shape (H, W), (H, W, 3) or (H, W, 4)
        Gray, colour, or colour with an alpha channel, which is ignored. An image on a CUDA device is copied to the host.
    boxes : array of numbers of shape (n, 4)
        One row per object: x, y, width and height in pixels, with the upper left corner of the image at (0, 0). All
        pixels that a box touches count. Boxes are clipped to the image. At most 256.
    as_labels : bool
        Return one label image instead of a mask per box.
    lambda_ : float, optional
        Smoothness, 0 to 32: cost of a border between two pixels of equal colour. The default is 22.
    sigma : float, optional
        Contrast at which a border costs exp(-1/2) times as much (levels of 255), 0 to 255. 0, the default: estimate it
        from the surroundings of each box.
    channels : str
        Order of the colour channels: "RGB" or "BGR".
    threads : int
        Maximum number of CPU threads, as for `label`. The result does not depend on it.

    Returns
    -------
    bool array of shape (n, H, W), True in the object of each box
        The masks do not overlap. A box without area or outside the image has an empty mask.
    int32 array of shape (H, W); with `as_labels`
        i + 1 in the object of box i, else 0.

    Raises
    ------
    TypeError
        `image` is not uint8, or `boxes` does not contain numbers.
    ValueError
        An array has another shape than stated, a box has a negative width or height, or a number is NaN or infinite.
    """
    if channels not in CHANNELS:
        raise ValueError(f"channels is {channels!r}, must be 'RGB' or 'BGR'")
    pixels = _arrays.as_picture(_device_arrays.to_host(image), "image")
    corners = _corners_of(np.asarray(_device_arrays.to_host(boxes)))
    labels = np.empty(pixels.shape[:2], np.int32)
    settings = [(name, str(value)) for name, value in (("lambda", lambda_), ("sigma", sigma)) if value is not None]
    with with_argument_names({"lambda": "lambda_"}):
        _core.cut_boxes(pixels, channels == "BGR", corners, labels, settings,
                        (threads_for(pixels, threads), *_arrays.CPU_TARGET))
    if as_labels:
        return labels
    masks = np.empty((len(corners), *labels.shape), np.bool_)
    for i in range(len(masks)):
        masks[i] = labels == i + 1
    return masks


def _corners_of(boxes: NDArray[np.generic]) -> NDArray[np.int32]:
    """Returns the first and last column and row of the pixels that each box touches: left, top, right, bottom."""
    if boxes.size == 0 and boxes.ndim <= 2:
        boxes = boxes.reshape(0, 4)
    if boxes.dtype.kind not in "iuf":
        raise TypeError(f"boxes has elements of type {boxes.dtype}, must have numbers")
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"boxes has shape {boxes.shape}, must have (n, 4): x, y, width and height of each box")
    if len(boxes) > MAX_BOXES:
        raise ValueError(f"boxes has {len(boxes)} rows, must have at most {MAX_BOXES}")
    numbers = boxes.astype(np.float64)
    for i, (x, y, width, height) in enumerate(numbers.tolist()):
        if not np.isfinite((x, y, width, height)).all():
            raise ValueError(f"boxes[{i}] is ({x}, {y}, {width}, {height}), must have finite numbers")
        if width < 0 or height < 0:
            raise ValueError(f"boxes[{i}] has width {width:g} and height {height:g}, must have at least 0; a row is x, y, "
                             "width and height, not two corners")
    first, last = np.floor(numbers[:, :2]), np.ceil(numbers[:, :2] + numbers[:, 2:]) - 1
    is_empty = (numbers[:, 2:] == 0).any(axis=1)
    last[is_empty] = first[is_empty] - 1
    return np.ascontiguousarray(np.concatenate([first, last], axis=1).clip(-FAR, FAR).astype(np.int32))
