"""Arrays on CUDA devices: CuPy, PyTorch and JAX arrays directly, arrays of other libraries through CuPy or PyTorch."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from typing import Any

import numpy as np

from . import _core
from ._array_libraries import Array, CuPy, Jax, Library, Place, Torch

CURRENT = contextlib.nullcontext()  # leaves the library on its current stream


class DeviceArray:
    """An array on a CUDA device, with the attributes of a NumPy array."""

    __slots__ = ("array", "device", "library")

    def __init__(self, array: Array, library: Library, device: int) -> None:
        self.array, self.library, self.device = array, library, device

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.library.dtype_of(self.array.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def of(self, array: Array) -> DeviceArray:
        """Wraps another array of the same library and device."""
        return DeviceArray(array, self.library, self.device)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        return self.of(self.library.empty(shape, dtype, self.array))

    def in_rows(self, leading: int = 0) -> DeviceArray:
        """The array itself if the compiled module can read it, else a contiguous copy.

        The elements of a row must be contiguous, rows must not overlap, and the slices of a volume must have no gaps
        between them. The first `leading` axes may have any strides.
        """
        if self.library.is_packed(self.array):
            return self
        strides = self.library.strides(self.array)
        *outer, rows, row = strides
        width, height = self.shape[-1], self.shape[-2]
        is_volume = self.ndim - leading == 3
        if row == 1 and rows >= width and (not is_volume or outer[-1] == rows * height):
            return self
        return self.packed()

    def packed(self) -> DeviceArray:
        """The array itself if it is contiguous, else a contiguous copy."""
        if self.library.is_packed(self.array):
            return self
        return self.of(self.library.packed(self.array))

    def place(self) -> Place:
        return 0, self.device, self.library.stream(self.device)

    def capsule(self, place: Place) -> Any:
        """The array as a DLPack capsule for the compiled module."""
        return self.library.capsule(self.array, place)

    def host(self) -> Any:
        """Copies the array to host memory and returns a NumPy array."""
        return self.library.host(self.array)

    def labelled(self, work: _core.DeviceLabelling, leading: int, labels: Array) -> tuple[Array, list[int]]:
        """Runs `work` on the array. Returns the labels, and the number of regions of each picture if it is counted."""
        library, array, place = self.library, self.array, self.place()
        strides: tuple[int, ...] = ()
        if not library.is_packed(array):
            array = self.in_rows(leading).array
            strides = library.strides(array)
        found = work.run(library.address(array), strides, library.address(labels), place[2])
        return library.finished(labels, place), found

    def finished(self, place: Place) -> Array:
        """The library's array. The library waits for the work that was enqueued at `place`."""
        return self.library.finished(self.array, place)


@functools.lru_cache(maxsize=64)
def _library_of(kind: Any) -> Library | None:
    """The library that arrays of the class `kind` belong to."""
    name = kind.__module__.partition(".")[0].replace("jaxlib", "jax")
    kinds: dict[str, type[Library]] = {"cupy": CuPy, "torch": Torch, "jax": Jax}
    return kinds[name](sys.modules[name]) if name in kinds and hasattr(kind, "__dlpack_device__") else None


def on_device(array: Array) -> DeviceArray | None:
    """The array as a DeviceArray if it is on a CUDA device, else None."""
    if isinstance(array, np.ndarray):
        return None
    library = _library_of(array.__class__)
    if library:
        device = library.device_of(array)
        return None if device is None else DeviceArray(array, library, device)
    if hasattr(array, "__cuda_array_interface__"):
        for name, adopt in (("cupy", "asarray"), ("torch", "as_tensor")):
            if name in sys.modules:
                options = {"device": "cuda"} if name == "torch" else {}
                return on_device(getattr(sys.modules[name], adopt)(array, **options))
        raise TypeError(f"an array of {type(array).__module__} is on a CUDA device; import CuPy or PyTorch, "
                        "through which gst_regions reads it")
    return None


def beside(array: Array, name: str, other: DeviceArray, other_name: str) -> DeviceArray:
    """The array as a DeviceArray. Raises ValueError if it is not on the device of `other`."""
    found = on_device(array)
    if found is None or found.device != other.device:
        raise ValueError(f"{name} is not on the device of {other_name}, CUDA device {other.device}")
    return found


def hosted(array: Array) -> Array:
    """The array itself, or a copy in host memory if it is on a CUDA device."""
    found = on_device(array)
    return found.host() if found else array


def handle_of(stream: Any) -> int:
    """The cudaStream_t of a stream: an int, an object with `__cuda_stream__`, or a CuPy or PyTorch stream."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("ptr", "cuda_stream"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    raise TypeError(f"stream is {stream!r}, must be a CUDA stream: an int, a stream of CuPy or PyTorch, or an "
                    "object with __cuda_stream__")


def on_stream(array: DeviceArray, stream: Any) -> contextlib.AbstractContextManager[Any]:
    """A context in which the array's library works on `stream`. None leaves the current stream."""
    if stream is None:
        return CURRENT
    return array.library.on(handle_of(stream), array.device)


def written(out: Array | None, shape: tuple[int, ...], dtype: np.dtype[Any], like: DeviceArray, name: str) -> Array:
    """The array to write: `out`, or a new array. It must not share memory with the argument `like`, named `name`."""
    if out is None:
        return like.library.empty(shape, dtype, like.array)
    library = like.library
    if out.__class__ is not like.array.__class__ or library.device_of(out) != like.device:
        library = beside(out, "out", like, name).library
    if not library.can_write:
        raise ValueError("out is an immutable array; omit it and use the returned array")
    if library is not like.library:
        raise ValueError(f"out is a {type(out).__module__} array, must be an array of the same library as {name}")
    kind = library.dtype_of(out.dtype)
    if kind != dtype:
        raise TypeError(f"out has elements of type {kind}, must have {dtype}")
    if tuple(out.shape) != shape:
        raise ValueError(f"out has shape {tuple(out.shape)}, must have {shape}")
    begin, end = _extent(like)
    first = library.address(out)
    if not library.is_packed(out) or (first < end and begin < first + math.prod(shape) * dtype.itemsize):
        raise ValueError(f"out shares memory with {name} or is not C-contiguous; pass separate, contiguous memory")
    return out


def _extent(array: DeviceArray) -> tuple[int, int]:
    """The address of the first byte and the address after the last byte."""
    library, held = array.library, array.array
    first = last = library.address(held)
    size = library.dtype_of(held.dtype).itemsize
    if library.is_packed(held):
        return first, first + math.prod(held.shape) * size
    for side, stride in zip(held.shape, library.strides(held)):
        reach = (side - 1) * stride * size
        first, last = (first, last + reach) if stride > 0 else (first + reach, last)
    return first, last + size
