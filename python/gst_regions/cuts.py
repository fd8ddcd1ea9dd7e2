"""Minimum cuts of pixel grids: mincut, WarmCut."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core
from ._arrays import Array
from .labelling import most_threads, threads_for

Capacities = NDArray[np.int32]


def mincut(terminal: Array, right: Array | int, down: Array | int, down_right: Array | int | None = None,
           down_left: Array | int | None = None, *, out: Array | None = None, threads: int = 0) -> tuple[Array, int]:
    """The exact minimum cut of a grid with a node for each pixel, between a source and a sink.

    Parameters
    ----------
    terminal : integer array of shape (H, W)
        t > 0: a link from the source with capacity t; t < 0: one to the sink with capacity -t.
    right, down : integer arrays of shape (H, W), or one number for all
        Capacities, at least 0, of the links between (y, x) and (y, x + 1), and (y + 1, x), the same both ways. Those
        of links that would leave the picture may have any value.
    down_right, down_left : likewise, optional
        Links to (y + 1, x + 1) and (y + 1, x - 1), for eight neighbours; both or neither.
    out : bool array of shape (H, W), optional
        Written and returned in place of a new array; C-contiguous.
    threads : int
        As for `label`. The result does not depend on it.

    Returns
    -------
    foreground : bool array of shape (H, W)
        The pixels on the source's side: of all minimum cuts the largest such side.
    flow : int
        The maximum flow, which is the cut's value.

    Raises
    ------
    TypeError
        Capacities are not integers, or `out` is not bool.
    ValueError
        Shapes differ, a capacity is negative or beyond int32, the picture has no pixels or more than 2**29.
    """
    capacities = _graph(terminal, right, down, down_right, down_left)
    place = _arrays.place(out, capacities[0].shape, np.bool_)
    flow = _core.mincut(*capacities, place, threads_for(place, threads))
    return _arrays.given(place, out, terminal), flow


class WarmCut:
    """Minimum cuts of graphs that change little from one to the next, as of the frames of a video.

    Each cut begins with the flow of the last one, which is changed to fit the new capacities (Kohli and Torr 2007);
    foreground and flow are those of `mincut`. Another size, or eight neighbours in place of four, begins anew. May be
    used by several threads, whose cuts come one after another.

    Parameters
    ----------
    threads : int
        As for `label`.
    """

    def __init__(self, threads: int = 0) -> None:
        self._cut = _core.WarmCut(most_threads(threads))

    def cut(self, terminal: Array, right: Array | int, down: Array | int, down_right: Array | int | None = None,
            down_left: Array | int | None = None, *, out: Array | None = None) -> tuple[Array, int]:
        """The minimum cut: arguments, results and errors are those of `mincut`."""
        capacities = _graph(terminal, right, down, down_right, down_left)
        place = _arrays.place(out, capacities[0].shape, np.bool_)
        flow = self._cut.cut(*capacities, place)
        return _arrays.given(place, out, terminal), flow


def _graph(terminal: Array, right: Array | int, down: Array | int, down_right: Array | int | None,
           down_left: Array | int | None) -> tuple[Capacities, Capacities, Capacities, Capacities | None,
                                                   Capacities | None]:
    weights = _capacities(terminal, "terminal", None)
    if (down_right is None) != (down_left is None):
        raise ValueError("down_right and down_left go together")
    shape = weights.shape
    return (weights, _capacities(right, "right", shape), _capacities(down, "down", shape),
            None if down_right is None else _capacities(down_right, "down_right", shape),
            None if down_left is None else _capacities(down_left, "down_left", shape))


def _capacities(array: Any, name: str, shape: tuple[int, ...] | None) -> NDArray[np.int32]:
    found = _arrays.taken(array, name)
    if found.dtype.kind not in "iu":
        raise TypeError(f"{name} has elements of type {found.dtype}, must have integers")
    if shape is None:
        _arrays.expect_axes(found, name, 2)
    elif found.shape not in ((), shape):
        raise ValueError(f"{name} has shape {found.shape}, terminal has {shape}")
    limits = np.iinfo(np.int32)
    if not np.can_cast(found.dtype, np.int32) and (found.min() < limits.min or found.max() > limits.max):
        raise ValueError(f"{name} has capacities beyond int32")
    return np.ascontiguousarray(np.broadcast_to(found, shape or found.shape), np.int32)
