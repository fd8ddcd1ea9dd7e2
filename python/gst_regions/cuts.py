"""Minimum cuts of pixel grids: mincut, WarmCut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _devices
from ._arrays import Array
from ._label_arguments import most_threads, threads_for

Capacities = NDArray[np.int32]
INT32, UINT8, BOOL = np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.bool_)
# terminal, right, down, down_right, down_left
Graph = tuple[Array, Array | int, Array | int, Array | int | None, Array | int | None]


def mincut(terminal: Array, right: Array | int, down: Array | int, down_right: Array | int | None = None,
           down_left: Array | int | None = None, *, out: Array | None = None, threads: int = 0,
           stream: Any = None) -> tuple[Array, int]:
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
    stream : optional
        As for `label`. Arrays are all on one device or none is; there they are of at most 32 bits, and the call waits
        for the flow.

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
    given = (terminal, right, down, down_right, down_left)
    if device := _devices.on_device(terminal):
        return _cut_on_device(device, given, out, stream, _core.mincut)
    return _cut(given, out, _core.mincut, threads)


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
        self._cut = _core.WarmCut()
        self._threads = most_threads(threads)

    def cut(self, terminal: Array, right: Array | int, down: Array | int, down_right: Array | int | None = None,
            down_left: Array | int | None = None, *, out: Array | None = None, stream: Any = None) -> tuple[Array, int]:
        """The minimum cut: arguments, results and errors are those of `mincut`."""
        given = (terminal, right, down, down_right, down_left)
        if device := _devices.on_device(terminal):
            return _cut_on_device(device, given, out, stream, self._cut.cut)
        return _cut(given, out, self._cut.cut, self._threads)


def _cut(given: Graph, out: Array | None, cut: Callable[..., int], threads: int) -> tuple[Array, int]:
    first, *others = named(given)
    terminal = _capacities(first[1], first[0], None)
    capacities = [terminal, *(None if array is None else _capacities(array, name, terminal.shape) for name, array in others)]
    place = _arrays.place(out, terminal.shape, np.bool_)
    flow = cut(*capacities, place.view(np.uint8), (threads_for(place, threads), *_arrays.HOST))
    return _arrays.given(place, out, given[0]), flow


def _cut_on_device(terminal: _devices.DeviceArray, given: Graph, out: Array | None, stream: Any,
                   cut: Callable[..., int]) -> tuple[Array, int]:
    with _devices.on_stream(terminal, stream):
        place = terminal.place()
        capacities = []
        for name, array in named(given):
            capacities.append(None if array is None else _capacities_on_device(array, name, terminal))
        sides = terminal.empty(terminal.shape, UINT8)
        if out is not None:
            _devices.written(out, terminal.shape, BOOL, terminal, "terminal")
        flow = cut(*[array and array.capsule(place) for array in capacities], sides.capsule(place), place)
        return terminal.library.is_not_zero(sides.finished(place), out), flow


def named(given: Graph) -> Iterator[tuple[str, Any]]:
    """The graph's arrays by their names."""
    if (given[3] is None) != (given[4] is None):
        raise ValueError("down_right and down_left go together")
    return zip(("terminal", "right", "down", "down_right", "down_left"), given)


def _capacities_on_device(array: Any, name: str, like: _devices.DeviceArray) -> _devices.DeviceArray:
    if isinstance(array, (int, np.integer)):
        found = like.empty(like.shape, INT32)
        return like.of(like.library.ops.full_like(found.array, array))
    found = _devices.beside(array, name, like, "terminal")
    _arrays.expect_axes(found, name, 2)
    if not np.can_cast(found.dtype, np.int32) or found.dtype.kind not in "iu":
        raise TypeError(f"{name} has elements of type {found.dtype}, must have integers that int32 holds")
    if found.shape != like.shape:
        raise ValueError(f"{name} has shape {found.shape}, terminal has {like.shape}")
    if found.dtype != np.int32:
        found = found.of(found.library.cast(found.array, INT32))
    return found.packed()


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
