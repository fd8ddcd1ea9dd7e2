"""Minimum cuts of grids: the function mincut and the class WarmCut."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, max_threads, threads_for

Capacities = NDArray[np.int32]
INT32, UINT8, BOOL = np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.bool_)
NAMES = ("terminal", "right", "down", "down_right", "down_left")
OFFSETS = ((0, 1), (1, 0), (1, 1), (1, -1))  # of right, down, down_right and down_left
MAX_LINKS = 13  # VolumeGraph::kMaxLinks in cpu/maxflow/volume_cut.hpp
# A capacity of all links of one offset. A tuple contains the capacities in both directions.
Capacity = Array | float | tuple[Array | float, Array | float]
# The offset, the name and the capacity of each kind of link.
NamedLinks = list[tuple[tuple[int, ...], str, Any]]
# The arguments terminal, right, down, down_right and down_left of mincut.
Graph = tuple[Array, Capacity, Capacity, Capacity | None, Capacity | None]


Whole = NDArray[np.integer[Any]] | int


@overload
def mincut(terminal: NDArray[np.signedinteger[Any]], right: Whole, down: Whole, down_right: Whole | None = ...,
           down_left: Whole | None = ..., *, out: NDArray[np.bool_] | None = ...,
           threads: int = ...) -> tuple[NDArray[np.bool_], int]: ...
@overload  # for floating-point capacities, one-way capacities, volumes, and for arrays of other libraries
def mincut(terminal: Array | tuple[Array, Array], right: Capacity | None = ..., down: Capacity | None = ...,
           down_right: Capacity | None = ..., down_left: Capacity | None = ..., *,
           links: Mapping[tuple[int, ...], Capacity] | Capacity | None = ..., connectivity: int = ...,
           out: Array | None = ..., threads: int = ..., stream: Any = ...) -> tuple[Array, Any]: ...
def mincut(terminal: Array, right: Capacity | None = None, down: Capacity | None = None,
           down_right: Capacity | None = None, down_left: Capacity | None = None, *,
           links: Mapping[tuple[int, ...], Capacity] | Capacity | None = None, connectivity: int = 1,
           out: Array | None = None, threads: int = 0, stream: Any = None) -> tuple[Array, Any]:
    """Computes the exact minimum cut between a source and a sink, in a grid with one node per element.

    Pictures have the arguments `right` and `down`. Volumes and other grids have the argument `links` instead.

    Parameters
    ----------
    terminal : array of shape (H, W), or a tuple of two such arrays; with `links`, of any shape
        A value t > 0 is a link from the source with capacity t. A value t < 0 is a link to the sink with capacity -t.
        Elements are signed integers, float32 or float64. A tuple (s, t) contains the capacities from the source and to
        the sink, both at least 0 and of any integer or floating-point type. An infinite capacity puts the element on
        that side.
    right, down : arrays of shape (H, W), or one number for all pixels
        Capacities, at least 0, of the links from (y, x) to (y, x + 1) and to (y + 1, x). A link has the same capacity
        in both directions. The values of links that would leave the picture are ignored. A tuple of two arrays or
        numbers contains the capacities in this direction and in the opposite direction. Both belong to the same link:
        the second array, at (y, x), has the capacity from (y, x + 1) or (y + 1, x) back to (y, x).
    down_right, down_left : arrays of shape (H, W) or one number, optional
        Capacities of the links to (y + 1, x + 1) and to (y + 1, x - 1), for eight neighbours. Pass both or neither.
        If an argument is floating point, all capacities are rounded to multiples of the same power of two: the largest
        capacity becomes a number of about 30 bits. The cut is the exact minimum cut of these rounded capacities.
    links : mapping from offsets to capacities, or one capacity, optional
        The key (0, 0, 1) is the offset of links from (z, y, x) to (z, y, x + 1). An offset has one number per axis, -1,
        0 or 1. Each link is in the mapping once, so there are at most 13 offsets. Capacities are arrays of the shape of
        `terminal`, numbers, or tuples, as for `right`. One capacity instead of a mapping is the capacity of the links to
        all neighbours.
    connectivity : int
        If `links` is one capacity: the number of axes along which neighbours may differ, as for `label`.
    out : bool array of the shape of `terminal`, optional
        C-contiguous array that is written and returned instead of a new array.
    threads : int
        Maximum number of CPU threads, as for `label`. The result does not depend on it. Only pictures with the same
        capacities in both directions use several threads.
    stream : optional
        CUDA stream, as for `label`. Either all arrays are on one device, or all are on the CPU. Arrays on a device are
        pictures with the same capacities in both directions and elements of at most 32 bits, and the call waits for the
        flow.

    Returns
    -------
    foreground : bool array of the shape of `terminal`
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
        A capacity is NaN, a link between elements is infinite, shapes differ, a capacity is negative or does not fit in
        int32, an offset is unsuitable, or the grid has no elements or too many: a picture has at most 2**29 pixels.
    """
    directions = (right, down, down_right, down_left)
    if links is None:
        if right is None or down is None:
            raise TypeError(f"mincut() requires {'right' if right is None else 'down'}; for a volume, pass links")
        graph = (terminal, right, down, down_right, down_left)
        if not any(is_directed(capacity, 2) for capacity in directions):
            return _cut(graph, out, stream, _core.mincut, threads)
        named: NamedLinks = [(offset, name, capacity)
                             for offset, (name, capacity) in zip(OFFSETS, itertools.islice(named_arrays(graph), 1, None))
                             if capacity is not None]
    else:
        if any(capacity is not None for capacity in directions):
            raise TypeError("links and right, down, down_right or down_left cannot be combined; pass only links")
        named = _named_links(links, _axes_of(terminal), connectivity)
        if tuple(offset for offset, *_ in named) in (OFFSETS[:2], OFFSETS) and not any(
                is_directed(capacity, 2) for *_, capacity in named):
            capacities = [capacity for *_, capacity in named]
            return _cut((terminal, *capacities, *[None] * (4 - len(capacities))), out, stream, _core.mincut, threads)
    max_threads(threads)
    return _cut_volume(terminal, named, out)


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
        """Computes the minimum cut of the next graph. Arguments, results and errors are the same as for `mincut`.

        Links have the same capacity in both directions, and the graph is a picture.
        """
        if any(is_directed(capacity, 2) for capacity in (right, down, down_right, down_left)):
            raise ValueError("a capacity is a tuple with two directions, which WarmCut does not support; use mincut")
        return _cut((terminal, right, down, down_right, down_left), out, stream, self._cut.cut, self._threads)


def _cut(graph: Graph, out: Array | None, stream: Any, cut: Callable[..., int], threads: int) -> tuple[Array, Any]:
    pair = graph[0] if is_pair(graph[0], 2) else None
    first = pair[0] if pair else graph[0]
    if device_array := _device_arrays.as_device_array(first):
        with _device_arrays.on_stream(device_array, stream):
            direct_flow = 0  # from the source through one pixel to the sink
            if pair:
                device_array, direct_flow = _terminal_on_device(device_array, pair[1])
            foreground, flow = _cut_on_device(device_array, (device_array.array, *graph[1:]), out, cut)
            return foreground, flow + direct_flow
    links = [Link(offset, name, array, array)
             for offset, (name, array) in zip(OFFSETS, itertools.islice(named_arrays(graph), 1, None)) if array is not None]
    grid = _Grid(graph[0], pair, links)
    shape = grid.terminal.shape
    _arrays.expect_axes(grid.terminal, "terminal", 2)
    capacities: list[Any] = [np.ascontiguousarray(grid.terminal)]
    capacities += [np.ascontiguousarray(np.broadcast_to(link.forward, shape)) for link in grid.links]
    result = _arrays.output_array(out, shape, np.bool_)
    flow = cut(*capacities, *[None] * (5 - len(capacities)), result.view(np.uint8),
               (threads_for(result, threads), *_arrays.CPU_TARGET))
    return _arrays.result_of(result, out, first), grid.value_of(result, flow)


def _cut_volume(terminal: Array, named: NamedLinks, out: Array | None) -> tuple[Array, Any]:
    """Cuts a grid of any shape."""
    axes = _axes_of(terminal)
    pair = terminal if is_pair(terminal, axes) else None
    links = []
    for offset, name, capacity in named:
        forward, backward = capacity if is_directed(capacity, axes) else (capacity, capacity)
        links.append(Link(offset, name, forward, backward))
    first = pair[0] if pair else terminal
    for array in (*(pair or (terminal,)), *itertools.chain.from_iterable(link[2:] for link in links)):
        if not isinstance(array, np.ndarray) and _device_arrays.as_device_array(array):
            raise ValueError("an array is on a CUDA device; graphs with links or one-way capacities are cut on the CPU "
                             "only, so copy the arrays to the host")
    grid = _Grid(terminal, pair, links)
    if not 0 < axes:
        raise ValueError("terminal has no axes, must have at least 1")
    result = _arrays.output_array(out, grid.terminal.shape, np.bool_)
    flow = _core.cut_volume(np.ascontiguousarray(grid.terminal), [link.offset for link in grid.links],
                            [np.ascontiguousarray(link.forward).reshape(-1) for link in grid.links],
                            [np.ascontiguousarray(link.backward).reshape(-1) for link in grid.links], result.view(np.uint8))
    return _arrays.result_of(result, out, first), grid.value_of(result, flow)


class Link(NamedTuple):
    """The links from each element to the element at `offset`."""

    offset: tuple[int, ...]
    name: str
    forward: Any
    backward: Any


class _Grid:
    """The capacities of a graph: as the caller passed them, and as int32 arrays.

    Capacities of links are arrays of the shape of `terminal`, or have no axes.
    """

    def __init__(self, terminal: Array, pair: tuple[Array, Array] | None, links: list[Link]) -> None:
        self._direct_flow: Any = 0
        if pair:
            numbers, self._direct_flow = _terminal_of(pair)
        else:
            numbers = _as_numbers(terminal, "terminal", is_infinite_allowed=True)
        given = [Link(link.offset, link.name, forward := _as_numbers(link.forward, link.name),
                      forward if link.backward is link.forward else _as_numbers(link.backward, link.name))
                 for link in links]
        arrays = [numbers, *itertools.chain.from_iterable(link[2:] for link in given)]
        self._given: tuple[Any, list[Link]] | None = None
        if any(array.dtype.kind == "f" for array in arrays):
            arrays[0] = _with_finite_numbers(numbers, arrays[1:])
            self._given = arrays[0], given
            arrays = _rounded(arrays)
        self.terminal: Any = _as_int32(arrays[0], "terminal", None)
        self.links: list[Link] = []
        for link, forward, backward in zip(given, arrays[1::2], arrays[2::2]):
            first = _as_int32(forward, link.name, self.terminal.shape)
            second = first if link.backward is link.forward else _as_int32(backward, link.name, self.terminal.shape)
            self.links.append(Link(link.offset, link.name, first, second))

    def value_of(self, foreground: NDArray[np.bool_], flow: int) -> Any:
        """Returns the value of the cut. `flow` is the flow of the int32 capacities."""
        if not self._given:
            return flow + self._direct_flow
        terminal, links = self._given
        value = terminal[(terminal > 0) & ~foreground].sum(dtype=np.float64)
        value -= terminal[(terminal < 0) & foreground].sum(dtype=np.float64)
        for offset, _, forward, backward in links:
            here = tuple(slice(max(0, -step), side - max(0, step)) for step, side in zip(offset, foreground.shape))
            there = tuple(slice(max(0, step), side - max(0, -step)) for step, side in zip(offset, foreground.shape))
            for capacity, source, sink in ((forward, here, there), (backward, there, here)):
                is_cut = foreground[source] & ~foreground[sink]
                value += np.broadcast_to(capacity, foreground.shape)[here][is_cut].sum(dtype=np.float64)
        return float(value + self._direct_flow)


def _axes_of(terminal: Array) -> int:
    """Returns the number of axes of the grid. A tuple of two arrays is a pair of capacities."""
    if isinstance(terminal, tuple) and len(terminal) == 2 and np.ndim(terminal[0]) > 0:
        return np.ndim(terminal[0])
    return np.ndim(terminal)


def _named_links(links: Any, axes: int, connectivity: int) -> NamedLinks:
    """Converts the argument `links`."""
    if not isinstance(links, Mapping):
        reach = _arrays.connectivity_of(connectivity, max(1, axes))
        offsets = [offset for offset in itertools.product((0, 1, -1), repeat=axes)
                   if axes - reach <= offset.count(0) < axes and next(filter(None, offset)) > 0]
        return [(offset, "links", links) for offset in _in_usual_order(offsets)]
    for offset in links:
        if not (isinstance(offset, tuple) and len(offset) == axes and all(step in (-1, 0, 1) for step in offset)
                and any(offset)):
            raise ValueError(f"links has the offset {offset!r}, must have tuples of {axes} numbers -1, 0 or 1, not all 0")
        if tuple(-step for step in offset) in links:
            raise ValueError(f"links has the offset {offset} and its opposite, which belong to the same link; pass one of "
                             "them with a tuple of both capacities")
    if len(links) > MAX_LINKS:
        raise ValueError(f"links has {len(links)} offsets, must have at most {MAX_LINKS}")
    return [(tuple(map(int, offset)), f"links[{offset}]", links[offset]) for offset in _in_usual_order(list(links))]


def _in_usual_order(offsets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Sorts offsets: in a picture, right, down, down right and down left."""
    return sorted(offsets, key=lambda offset: (len(offset) - offset.count(0), [abs(step) for step in offset],
                                               [-step for step in offset]))


def is_pair(terminal: Any, axes: int) -> bool:
    """Returns whether the argument `terminal` is a tuple of two arrays, not a picture of two rows."""
    return isinstance(terminal, tuple) and len(terminal) == 2 and all(np.ndim(array) == axes for array in terminal)


def is_directed(capacity: Any, axes: int) -> bool:
    """Returns whether a capacity is a tuple of the capacities in both directions."""
    return (isinstance(capacity, tuple) and len(capacity) == 2
            and all(np.ndim(array) in (0, axes) for array in capacity))


def _terminal_of(pair: tuple[Array, Array]) -> tuple[NDArray[Any], Any]:
    """Returns s - t for capacities (s, t) without overflow, and the flow that passes through single pixels."""
    source, sink = (_as_numbers(array, "terminal", is_infinite_allowed=True) for array in pair)
    if source.shape != sink.shape:
        raise ValueError(f"terminal has arrays of shapes {source.shape} and {sink.shape}, must have equal shapes")
    if source.size and min(source.min(), sink.min()) < 0:
        raise ValueError("terminal has a negative capacity in its tuple, must have capacities of at least 0")
    direct_flow = np.minimum(source, sink)
    if np.isinf(direct_flow).any():
        raise ValueError("terminal has an element with infinite capacities from the source and to the sink")
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


def _as_numbers(array: Any, name: str, *, is_infinite_allowed: bool = False) -> NDArray[Any]:
    numbers = _arrays.as_numpy(array, name)
    if numbers.dtype.kind not in "iuf":
        raise TypeError(f"{name} has elements of type {numbers.dtype}, must have numbers")
    if numbers.dtype.kind == "f":
        if is_infinite_allowed and np.isnan(numbers).any():
            raise ValueError(f"{name} has a capacity that is NaN, must have numbers")
        if not is_infinite_allowed and not np.isfinite(numbers).all():
            raise ValueError(f"{name} has a capacity that is NaN or infinite, must have finite numbers")
    return numbers


def _with_finite_numbers(terminal: NDArray[Any], capacities: list[NDArray[Any]]) -> NDArray[Any]:
    """Replaces infinite capacities by finite ones that no minimum cut contains.

    They are larger than the capacities of all links of an element together.
    """
    is_infinite = np.isinf(terminal)
    if not is_infinite.any():
        return terminal
    bound = 1 + 2 * sum(float(array.max(initial=0)) for array in capacities)
    return np.where(is_infinite, np.copysign(bound, terminal), terminal)


def _rounded(arrays: list[NDArray[Any]]) -> list[Any]:
    """Rounds capacities to integers of about 30 bits, which are multiples of the same power of two."""
    most = max(float(np.abs(array, dtype=np.float64).max(initial=0)) for array in arrays)
    exponent = 30 - math.frexp(most)[1]
    rounded: dict[int, Any] = {id(array): None for array in arrays}  # an array may occur several times
    for array in arrays:
        if rounded[id(array)] is None:
            rounded[id(array)] = np.rint(np.ldexp(array.astype(np.float64), exponent)).astype(np.int64)
    return [rounded[id(array)] for array in arrays]


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


def _as_int32(capacities: NDArray[Any], name: str, shape: tuple[int, ...] | None) -> NDArray[np.int32]:
    """Checks capacities and converts them to int32. `shape` is None for the argument `terminal`."""
    if shape is None:
        _expect_signed(capacities.dtype)
        if 0 in capacities.shape:
            raise ValueError(f"{name} has no elements: its shape is {capacities.shape}, each axis must have at least 1")
    elif capacities.shape not in ((), shape):
        raise ValueError(f"{name} has shape {capacities.shape}, must have {shape}, the shape of terminal")
    limits = np.iinfo(np.int32)
    if not np.can_cast(capacities.dtype, np.int32) and (capacities.min() < limits.min or capacities.max() > limits.max):
        raise ValueError(f"{name} has capacities from {capacities.min()} to {capacities.max()}, must fit in int32")
    return capacities.astype(np.int32, copy=False)
