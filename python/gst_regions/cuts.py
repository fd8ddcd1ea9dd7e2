"""Minimum cuts of pixel grids: the function mincut and the class WarmCut."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, max_threads, threads_for

Capacities = NDArray[np.int32]
INT32, UINT8, BOOL = np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.bool_)
NAMES = ("terminal", "right", "down", "down_right", "down_left")
# The arguments terminal, right, down, down_right and down_left of mincut.
Graph = tuple[Array, Array | float, Array | float, Array | float | None, Array | float | None]


Whole = NDArray[np.integer[Any]] | int


@overload
def mincut(terminal: NDArray[np.signedinteger[Any]], right: Whole, down: Whole, down_right: Whole | None = ...,
           down_left: Whole | None = ..., *, out: NDArray[np.bool_] | None = ...,
           threads: int = ...) -> tuple[NDArray[np.bool_], int]: ...
@overload  # for floating-point capacities, and for arrays of other libraries
def mincut(terminal: Array | tuple[Array, Array], right: Array | float, down: Array | float,
           down_right: Array | float | None = ..., down_left: Array | float | None = ..., *, out: Array | None = ...,
           threads: int = ..., stream: Any = ...) -> tuple[Array, Any]: ...
def mincut(terminal: Array, right: Array | float, down: Array | float, down_right: Array | float | None = None,
           down_left: Array | float | None = None, *, out: Array | None = None, threads: int = 0,
           stream: Any = None) -> tuple[Array, Any]:
    """Computes the exact minimum cut between a source and a sink, in a grid with one node per pixel.

    Parameters
    ----------
    terminal : array of shape (H, W), or a tuple of two such arrays
        A value t > 0 is a link from the source with capacity t. A value t < 0 is a link to the sink with capacity -t.
        Elements are signed integers, float32 or float64. A tuple (s, t) contains the capacities from the source and to
        the sink, both at least 0 and of any integer or floating-point type.
    right, down : arrays of shape (H, W), or one number for all pixels
        Capacities, at least 0, of the links from (y, x) to (y, x + 1) and to (y + 1, x). A link has the same capacity
        in both directions. The values of links that would leave the picture are ignored.
    down_right, down_left : arrays of shape (H, W) or one number, optional
        Capacities of the links to (y + 1, x + 1) and to (y + 1, x - 1), for eight neighbours. Pass both or neither.
        If an argument is floating point, all capacities are rounded to multiples of the same power of two: the largest
        capacity becomes a number of about 30 bits. The cut is the exact minimum cut of these rounded capacities.
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
    flow : int; for floating-point capacities float
        The maximum flow, which equals the value of the cut. For floating-point capacities, the value of the cut before
        rounding.

    Raises
    ------
    TypeError
        Capacities are not numbers, `terminal` consists of unsigned integers, which cannot have links to the sink, or
        `out` is not bool. On a device, capacities are not integers of at most 32 bits.
    ValueError
        A capacity is NaN or infinite, shapes differ, a capacity is negative or does not fit in int32, or the picture has no pixels or more than 2**29.
    """
    return _cut((terminal, right, down, down_right, down_left), out, stream, _core.mincut, threads)


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

    def __reduce__(self) -> NoReturn:
        raise TypeError("a WarmCut cannot be copied or pickled, because its flow cannot be saved; make a new WarmCut")

    def cut(self, terminal: Array, right: Array | float, down: Array | float, down_right: Array | float | None = None,
            down_left: Array | float | None = None, *, out: Array | None = None, stream: Any = None) -> tuple[Array, Any]:
        """Computes the minimum cut of the next graph. Arguments, results and errors are the same as for `mincut`."""
        return _cut((terminal, right, down, down_right, down_left), out, stream, self._cut.cut, self._threads)


def _cut(graph: Graph, out: Array | None, stream: Any, cut: Callable[..., int], threads: int) -> tuple[Array, Any]:
    pair = graph[0] if is_pair(graph[0]) else None
    first = pair[0] if pair else graph[0]
    if device_array := _device_arrays.as_device_array(first):
        with _device_arrays.on_stream(device_array, stream):
            direct_flow = 0  # from the source through one pixel to the sink
            if pair:
                device_array, direct_flow = _terminal_on_device(device_array, pair[1])
            foreground, flow = _cut_on_device(device_array, (device_array.array, *graph[1:]), out, cut)
            return foreground, flow + direct_flow
    terminal, direct_flow = _terminal_of(pair) if pair else (graph[0], 0)
    arrays = [None if array is None else _as_numbers(array, name)
              for name, array in named_arrays((terminal, *graph[1:]))]
    has_floats = any(array is not None and array.dtype.kind == "f" for array in arrays)
    limited: list[Any] = _rounded(arrays) if has_floats else arrays
    shape = limited[0].shape
    capacities = [None if array is None else _capacities(array, name, None if name == "terminal" else shape)
                  for name, array in zip(NAMES, limited)]
    result = _arrays.output_array(out, shape, np.bool_)
    flow = cut(*capacities, result.view(np.uint8), (threads_for(result, threads), *_arrays.CPU_TARGET))
    if has_floats:
        return _arrays.result_of(result, out, first), _value_of(arrays, result) + direct_flow
    return _arrays.result_of(result, out, first), flow + direct_flow


def is_pair(terminal: Any) -> bool:
    """Returns whether the argument `terminal` is a tuple of two arrays, not a picture of two rows."""
    return isinstance(terminal, tuple) and len(terminal) == 2 and all(np.ndim(array) == 2 for array in terminal)


def _terminal_of(pair: tuple[Array, Array]) -> tuple[NDArray[Any], Any]:
    """Returns s - t for capacities (s, t) without overflow, and the flow that passes through single pixels."""
    source, sink = (_as_numbers(array, "terminal") for array in pair)
    if source.shape != sink.shape:
        raise ValueError(f"terminal has arrays of shapes {source.shape} and {sink.shape}, must have equal shapes")
    if source.size and min(source.min(), sink.min()) < 0:
        raise ValueError("terminal has a negative capacity in its tuple, must have capacities of at least 0")
    direct_flow = np.minimum(source, sink)
    if "f" in (source.dtype.kind, sink.dtype.kind):
        return np.subtract(source, sink, dtype=np.float64), float(direct_flow.sum(dtype=np.float64))
    limit = np.iinfo(np.int32).max
    for array in (source, sink):
        if array.size and array.max() > limit:
            raise ValueError(f"terminal has capacities up to {array.max()}, must fit in int32")
    return np.subtract(source, sink, dtype=np.int64, casting="unsafe"), int(direct_flow.sum(dtype=np.int64))


def _terminal_on_device(source: _device_arrays.DeviceArray, sink: Array) -> tuple[_device_arrays.DeviceArray, int]:
    """Like _terminal_of(), for arrays on a device."""
    library = source.library
    first, second = (_capacities_on_device(array, "terminal", source).array for array in (source.array, sink))
    if bool((first < 0).any()) or bool((second < 0).any()):
        raise ValueError("terminal has a negative capacity in its tuple, must have capacities of at least 0")
    return source.wrap(first - second), int(library.ops.minimum(first, second).sum())


def _as_numbers(array: Any, name: str) -> NDArray[Any]:
    numbers = _arrays.as_numpy(array, name)
    if numbers.dtype.kind not in "iuf":
        raise TypeError(f"{name} has elements of type {numbers.dtype}, must have numbers")
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise ValueError(f"{name} has a capacity that is NaN or infinite, must have finite numbers")
    return numbers


def _rounded(arrays: list[NDArray[Any] | None]) -> list[Any]:
    """Rounds capacities to integers of about 30 bits, which are multiples of the same power of two."""
    most = max(float(np.abs(array, dtype=np.float64).max(initial=0)) for array in arrays if array is not None)
    exponent = 30 - math.frexp(most)[1]
    return [None if array is None else np.rint(np.ldexp(array.astype(np.float64), exponent)).astype(np.int64)
            for array in arrays]


def _value_of(arrays: list[Any], foreground: NDArray[np.bool_]) -> float:
    """Returns the value of a cut."""
    terminal = arrays[0]
    value = terminal[(terminal > 0) & ~foreground].sum(dtype=np.float64)
    value -= terminal[(terminal < 0) & foreground].sum(dtype=np.float64)
    height, width = foreground.shape
    for capacity, (dy, dx) in zip(arrays[1:], ((0, 1), (1, 0), (1, 1), (1, -1))):
        if capacity is None:
            continue
        here = slice(0, height - dy), slice(max(0, -dx), width - max(0, dx))
        there = slice(dy, None), slice(max(0, dx), width - max(0, -dx))
        is_cut = foreground[here] != foreground[there]
        value += np.broadcast_to(capacity, foreground.shape)[here][is_cut].sum(dtype=np.float64)
    return float(value)


def _cut_on_device(terminal: _device_arrays.DeviceArray, graph: Graph, out: Array | None,
                   cut: Callable[..., int]) -> tuple[Array, int]:
    _expect_signed(terminal.dtype)
    target = terminal.target()
    capacities = []
    for name, array in named_arrays(graph):
        capacities.append(None if array is None else _capacities_on_device(array, name, terminal))
    foreground = terminal.empty(terminal.shape, UINT8)
    if out is not None:
        _device_arrays.separate_output(out, terminal.shape, BOOL, terminal, "terminal")
    flow = cut(*[array and array.capsule(target) for array in capacities], foreground.capsule(target), target)
    return terminal.library.is_not_zero(foreground.finished(target), out), flow


def _expect_signed(dtype: np.dtype[Any]) -> None:
    """Raises TypeError if the argument `terminal` cannot have negative values."""
    if dtype.kind == "u":
        raise TypeError(f"terminal has elements of type {dtype}, which cannot be negative, so it has no links to the "
                        "sink, and s - t wraps around; pass the tuple (s, t), or convert both to a signed type first")


def named_arrays(graph: Graph) -> Iterator[tuple[str, Any]]:
    """Yields each array of the graph with its name."""
    if (graph[3] is None) != (graph[4] is None):
        missing = "down_right" if graph[3] is None else "down_left"
        raise ValueError(f"{missing} is missing; pass both down_right and down_left, or neither")
    return zip(NAMES, graph)


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


def _capacities(capacities: NDArray[Any], name: str, shape: tuple[int, ...] | None) -> NDArray[np.int32]:
    if shape is None:
        _expect_signed(capacities.dtype)
        _arrays.expect_axes(capacities, name, 2)
    elif capacities.shape not in ((), shape):
        raise ValueError(f"{name} has shape {capacities.shape}, must have {shape}, the shape of terminal")
    limits = np.iinfo(np.int32)
    if not np.can_cast(capacities.dtype, np.int32) and (capacities.min() < limits.min or capacities.max() > limits.max):
        raise ValueError(f"{name} has capacities from {capacities.min()} to {capacities.max()}, must fit in int32")
    return np.ascontiguousarray(np.broadcast_to(capacities, shape or capacities.shape), np.int32)
