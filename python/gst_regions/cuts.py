"""Minimum cuts of pixel grids: the function mincut and the class WarmCut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, max_threads, threads_for

Capacities = NDArray[np.int32]
INT32, UINT8, BOOL = np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.bool_)
# The arguments terminal, right, down, down_right and down_left of mincut.
Graph = tuple[Array, Array | int, Array | int, Array | int | None, Array | int | None]


def mincut(terminal: Array, right: Array | int, down: Array | int, down_right: Array | int | None = None,
           down_left: Array | int | None = None, *, out: Array | None = None, threads: int = 0,
           stream: Any = None) -> tuple[Array, int]:
    """Computes the exact minimum cut between a source and a sink, in a grid with one node per pixel.

    Parameters
    ----------
    terminal : integer array of shape (H, W)
        A value t > 0 is a link from the source with capacity t. A value t < 0 is a link to the sink with capacity -t.
    right, down : integer arrays of shape (H, W), or one number for all pixels
        Capacities, at least 0, of the links from (y, x) to (y, x + 1) and to (y + 1, x). A link has the same capacity
        in both directions. The values of links that would leave the picture are ignored.
    down_right, down_left : integer arrays of shape (H, W) or one number, optional
        Capacities of the links to (y + 1, x + 1) and to (y + 1, x - 1), for eight neighbours. Pass both or neither.
    out : bool array of shape (H, W), optional
        C-contiguous array that is written and returned instead of a new array.
    threads : int
        Maximum number of CPU threads, as for `label`. The result does not depend on it.
    stream : optional
        CUDA stream, as for `label`. Either all arrays are on one device, or all are on the CPU. Arrays on a device have
        elements of at most 32 bits, and the call waits for the flow.

    Returns
    -------
    foreground : bool array of shape (H, W)
        True on the source's side. If there are several minimum cuts, this is the cut with the largest source side.
    flow : int
        The maximum flow, which equals the value of the cut.

    Raises
    ------
    TypeError
        Capacities are not integers, or `out` is not bool.
    ValueError
        Shapes differ, a capacity is negative or does not fit in int32, or the picture has no pixels or more than 2**29.
    """
    graph = (terminal, right, down, down_right, down_left)
    if device_array := _device_arrays.as_device_array(terminal):
        return _cut_on_device(device_array, graph, out, stream, _core.mincut)
    return _cut(graph, out, _core.mincut, threads)


class WarmCut:
    """Computes minimum cuts of a sequence of similar graphs, such as the frames of a video.

    Each cut starts from the flow of the previous cut, adapted to the new capacities (Kohli and Torr 2007). The results
    equal the results of `mincut`. A change of the size or of the number of neighbours starts from zero flow. Several
    threads may use one object; it computes their cuts one after another.

    Parameters
    ----------
    threads : int
        Maximum number of CPU threads, as for `label`.
    """

    def __init__(self, threads: int = 0) -> None:
        self._cut = _core.WarmCut()
        self._threads = max_threads(threads)

    def cut(self, terminal: Array, right: Array | int, down: Array | int, down_right: Array | int | None = None,
            down_left: Array | int | None = None, *, out: Array | None = None, stream: Any = None) -> tuple[Array, int]:
        """Computes the minimum cut of the next graph. Arguments, results and errors are the same as for `mincut`."""
        graph = (terminal, right, down, down_right, down_left)
        if device_array := _device_arrays.as_device_array(terminal):
            return _cut_on_device(device_array, graph, out, stream, self._cut.cut)
        return _cut(graph, out, self._cut.cut, self._threads)


def _cut(graph: Graph, out: Array | None, cut: Callable[..., int], threads: int) -> tuple[Array, int]:
    first, *others = named_arrays(graph)
    terminal = _capacities(first[1], first[0], None)
    capacities = [terminal, *(None if array is None else _capacities(array, name, terminal.shape)
                              for name, array in others)]
    foreground = _arrays.output_array(out, terminal.shape, np.bool_)
    flow = cut(*capacities, foreground.view(np.uint8), (threads_for(foreground, threads), *_arrays.CPU_TARGET))
    return _arrays.result_of(foreground, out, graph[0]), flow


def _cut_on_device(terminal: _device_arrays.DeviceArray, graph: Graph, out: Array | None, stream: Any,
                   cut: Callable[..., int]) -> tuple[Array, int]:
    with _device_arrays.on_stream(terminal, stream):
        target = terminal.target()
        capacities = []
        for name, array in named_arrays(graph):
            capacities.append(None if array is None else _capacities_on_device(array, name, terminal))
        foreground = terminal.empty(terminal.shape, UINT8)
        if out is not None:
            _device_arrays.separate_output(out, terminal.shape, BOOL, terminal, "terminal")
        flow = cut(*[array and array.capsule(target) for array in capacities], foreground.capsule(target), target)
        return terminal.library.is_not_zero(foreground.finished(target), out), flow


def named_arrays(graph: Graph) -> Iterator[tuple[str, Any]]:
    """Yields each array of the graph with its name."""
    if (graph[3] is None) != (graph[4] is None):
        missing = "down_right" if graph[3] is None else "down_left"
        raise ValueError(f"{missing} is missing; pass both down_right and down_left, or neither")
    return zip(("terminal", "right", "down", "down_right", "down_left"), graph)


def _capacities_on_device(array: Any, name: str, like: _device_arrays.DeviceArray) -> _device_arrays.DeviceArray:
    if isinstance(array, (int, np.integer)):
        capacities = like.empty(like.shape, INT32)
        return like.wrap(like.library.ops.full_like(capacities.array, array))
    capacities = _device_arrays.expect_same_device(array, name, like, "terminal")
    _arrays.expect_axes(capacities, name, 2)
    if not np.can_cast(capacities.dtype, np.int32) or capacities.dtype.kind not in "iu":
        raise TypeError(f"{name} has elements of type {capacities.dtype}, must have integers that fit in int32")
    if capacities.shape != like.shape:
        raise ValueError(f"{name} has shape {capacities.shape}, must have {like.shape}, the shape of terminal")
    if capacities.dtype != np.int32:
        capacities = capacities.wrap(capacities.library.cast(capacities.array, INT32))
    return capacities.packed()


def _capacities(array: Any, name: str, shape: tuple[int, ...] | None) -> NDArray[np.int32]:
    capacities = _arrays.as_numpy(array, name)
    if capacities.dtype.kind not in "iu":
        raise TypeError(f"{name} has elements of type {capacities.dtype}, must have integers")
    if shape is None:
        _arrays.expect_axes(capacities, name, 2)
    elif capacities.shape not in ((), shape):
        raise ValueError(f"{name} has shape {capacities.shape}, must have {shape}, the shape of terminal")
    limits = np.iinfo(np.int32)
    if not np.can_cast(capacities.dtype, np.int32) and (capacities.min() < limits.min or capacities.max() > limits.max):
        raise ValueError(f"{name} has capacities from {capacities.min()} to {capacities.max()}, must fit in int32")
    return np.ascontiguousarray(np.broadcast_to(capacities, shape or capacities.shape), np.int32)
