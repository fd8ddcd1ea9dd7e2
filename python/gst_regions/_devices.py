"""Arrays in the memory of CUDA devices: CuPy's, PyTorch's and JAX's, and by way of CuPy or PyTorch those of others."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core

CUDA = 2  # of DLPack: kDLCUDA
NO_WAIT = -1  # of DLPack: the stream that the work follows is the one that the array is made on

Array = Any
Place = tuple[int, int, int]  # threads, device, stream: as the compiled module takes it


class DeviceArray:
    """An array on a device, with what NumPy tells of arrays."""

    __slots__ = ("array", "device", "dtype", "library", "shape")

    def __init__(self, array: Array, library: Library, device: int) -> None:
        self.array, self.library, self.device = array, library, device
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.dtype = library.dtype_of(array)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def of(self, array: Array) -> DeviceArray:
        """Another array of the same library and device."""
        return DeviceArray(array, self.library, self.device)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        return self.of(self.library.empty(shape, dtype, self.array))

    def in_rows(self, leading: int = 0) -> DeviceArray:
        """The array itself where elements of a row lie side by side, rows apart, and behind `leading` axes slices
        without a gap; else a copy without gaps."""
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
        """The array itself, or a copy of it, without gaps."""
        if self.library.is_packed(self.array):
            return self
        return self.of(self.library.packed(self.array))

    def place(self) -> Place:
        return 0, self.device, self.library.stream(self.device)

    def capsule(self, place: Place) -> Any:
        """For the compiled module."""
        return self.library.capsule(self.array, place)

    def host(self) -> Any:
        """A copy for NumPy."""
        return self.library.host(self.array)

    def finished(self, place: Place) -> Array:
        """The library's array, once it was written by work at the place."""
        return self.library.finished(self.array, place)


class Library:
    """What CuPy and PyTorch do alike; `module` is theirs."""

    can_write = True  # arrays that exist

    def __init__(self, module: Any) -> None:
        self.module = self.ops = module

    def is_packed(self, array: Array) -> bool:
        raise NotImplementedError

    def strides(self, array: Array) -> tuple[int, ...]:
        """In elements."""
        return tuple(stride // array.itemsize for stride in array.strides)

    def reaches(self, image: DeviceArray, threshold: float) -> Array:
        """Where the image is as large, a bool array."""
        array = image.array
        if image.dtype.kind == "f":
            return array >= threshold
        if threshold > most_of(image.dtype):
            return array != array
        return array == array if threshold <= least_of(image.dtype) else array >= math.ceil(threshold)

    def dtype_of(self, array: Array) -> np.dtype[Any]:
        found: np.dtype[Any] = np.dtype(array.dtype)
        return found

    def device_of(self, array: Array) -> int | None:
        """None on the CPU."""
        kind, device = array.__dlpack_device__()
        return int(device) if kind == CUDA else None

    def capsule(self, array: Array, place: Place) -> Any:
        return array.__dlpack__(stream=NO_WAIT)

    def finished(self, array: Array, place: Place) -> Array:
        return array

    def stream(self, device: int) -> int:
        raise NotImplementedError

    def on(self, stream: int, device: int) -> contextlib.AbstractContextManager[Any]:
        raise NotImplementedError

    def packed(self, array: Array) -> Array:
        raise NotImplementedError

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        raise NotImplementedError

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        return array.astype(dtype)

    def host(self, array: Array) -> Any:
        return np.asarray(array)

    def is_not_zero(self, array: Array, out: Array | None) -> Array:
        return self.module.not_equal(array, 0, out=out)

    def inverted(self, array: Array, out: Array | None) -> Array:
        return self.module.logical_not(array, out=out)


class CuPy(Library):
    def is_packed(self, array: Array) -> bool:
        return bool(array.flags.c_contiguous)

    def device_of(self, array: Array) -> int | None:
        return int(array.device.id)

    def stream(self, device: int) -> int:
        return int(self.module.cuda.get_current_stream(device).ptr)

    @contextlib.contextmanager
    def on(self, stream: int, device: int) -> Iterator[None]:
        with self.module.cuda.Device(device), self.module.cuda.ExternalStream(stream, device):
            yield

    def packed(self, array: Array) -> Array:
        return self.module.ascontiguousarray(array)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        if like.device.id == self.module.cuda.runtime.getDevice():
            return self.module.empty(shape, dtype)
        with like.device:
            return self.module.empty(shape, dtype)

    def host(self, array: Array) -> Any:
        return array.get()


class Torch(Library):
    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.dtypes: dict[Any, np.dtype[Any]] = {}
        self.torch_types = {np.dtype(name).char: getattr(module, name) for name in ("int32", "uint8")}
        self.capsule_of = module.utils.dlpack.to_dlpack

    def dtype_of(self, array: Array) -> np.dtype[Any]:
        kind = array.dtype
        if kind not in self.dtypes:
            with contextlib.suppress(TypeError):  # bfloat16 and others, of which there is no NumPy's
                self.dtypes[kind] = np.dtype(str(kind).removeprefix("torch."))
        return self.dtypes.get(kind, np.dtype("V1"))

    def device_of(self, array: Array) -> int | None:
        return array.get_device() if array.is_cuda else None

    def capsule(self, array: Array, place: Place) -> Any:
        return self.capsule_of(array)  # as __dlpack__, at a fifth of the time

    def stream(self, device: int) -> int:
        return int(self.module.cuda.current_stream(device).cuda_stream)

    def on(self, stream: int, device: int) -> contextlib.AbstractContextManager[Any]:
        cuda = self.module.cuda
        held: contextlib.AbstractContextManager[Any] = cuda.stream(cuda.ExternalStream(stream, device))
        return held

    def is_packed(self, array: Array) -> bool:
        return bool(array.is_contiguous())

    def strides(self, array: Array) -> tuple[int, ...]:
        return tuple(array.stride())

    def reaches(self, image: DeviceArray, threshold: float) -> Array:
        if image.dtype.kind == "u" and image.dtype.itemsize > 1:  # PyTorch does not compare these
            if image.dtype.itemsize > 4:
                raise TypeError("image has elements of type uint64, which PyTorch does not compare on a device")
            image = image.of(image.array.to(self.module.int64))
        return super().reaches(image, threshold)

    def packed(self, array: Array) -> Array:
        return array.contiguous()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        return like.new_empty(shape, dtype=self.torch_types[dtype.char])

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        return array.to(self.torch_types[dtype.char])

    def host(self, array: Array) -> Any:
        return array.cpu().numpy()

    def is_not_zero(self, array: Array, out: Array | None) -> Array:
        return self.module.ne(array, 0, out=out)


class Jax(Library):
    """Its arrays do not change, and its streams are its own: work is done on one of ours, which waits for the arrays
    that are read, and which JAX waits for when it takes what was written."""

    can_write = False

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.ops = module.numpy

    def is_packed(self, array: Array) -> bool:
        return True

    def stream(self, device: int) -> int:
        return _core.stream_of(device)

    def on(self, stream: int, device: int) -> contextlib.AbstractContextManager[Any]:
        raise TypeError("stream is given, but JAX has streams of its own")

    def capsule(self, array: Array, place: Place) -> Any:
        return array.__dlpack__(stream=place[2])

    def packed(self, array: Array) -> Array:
        return array

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        return self.ops.empty(shape, dtype, device=like.device)

    def finished(self, array: Array, place: Place) -> Array:
        return self.module.dlpack.from_dlpack(_Ordered(array, place))

    def is_not_zero(self, array: Array, out: Array | None) -> Array:
        return array != 0

    def inverted(self, array: Array, out: Array | None) -> Array:
        return ~array


class _Ordered:
    """An array for a library that says on which stream it goes on: that one waits for the place's."""

    def __init__(self, array: Array, place: Place) -> None:
        self.array, self.place = array, place

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None, **how: Any) -> Any:
        _core.wait_for_stream_of(self.place[1], stream or 0)
        return self.array.__dlpack__(stream=stream)


@functools.lru_cache(maxsize=None)
def most_of(dtype: np.dtype[Any]) -> int:
    return 1 if dtype == np.bool_ else int(np.iinfo(dtype).max)


@functools.lru_cache(maxsize=None)
def least_of(dtype: np.dtype[Any]) -> int:
    return 0 if dtype == np.bool_ else int(np.iinfo(dtype).min)


@functools.lru_cache(maxsize=64)
def _library_of(kind: Any) -> Library | None:
    """Of arrays of this class."""
    name = kind.__module__.partition(".")[0].replace("jaxlib", "jax")
    kinds: dict[str, type[Library]] = {"cupy": CuPy, "torch": Torch, "jax": Jax}
    return kinds[name](sys.modules[name]) if name in kinds and hasattr(kind, "__dlpack_device__") else None


def on_device(array: Array) -> DeviceArray | None:
    """The array if it lies on a CUDA device, else None."""
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
        raise TypeError(f"arrays of {type(array).__module__} on a GPU come by way of CuPy or PyTorch; neither is imported")
    return None


def beside(array: Array, name: str, other: DeviceArray, other_name: str) -> DeviceArray:
    """The array, which must lie on the device of the other."""
    found = on_device(array)
    if found is None or found.device != other.device:
        raise ValueError(f"{name} does not lie on the device of {other_name}")
    return found


def hosted(array: Array) -> Array:
    """The array itself, or a copy for NumPy of one on a device."""
    found = on_device(array)
    return found.host() if found else array


def handle_of(stream: Any) -> int:
    """A cudaStream_t of the number itself, or of an object that speaks the protocol of CUDA's Python packages."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("ptr", "cuda_stream"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    raise TypeError(f"stream is {stream!r}, must be a CUDA stream")


def on_stream(array: DeviceArray, stream: Any) -> contextlib.AbstractContextManager[Any]:
    """While it lasts the array's library works on the stream; of None on its current one."""
    if stream is None:
        return contextlib.nullcontext()
    return array.library.on(handle_of(stream), array.device)


def written(out: Array | None, shape: tuple[int, ...], dtype: np.dtype[Any], like: DeviceArray, name: str) -> Array:
    """Where to write: `out`, or a new array. It must not share memory with `like`, which is called `name`."""
    if out is None:
        return like.library.empty(shape, dtype, like.array)
    found = beside(out, "out", like, name)
    if not found.library.can_write:
        raise ValueError("out is an array that does not change")
    if found.library is not like.library:
        raise ValueError(f"out is no array of the library that {name} is of")
    if found.dtype != dtype:
        raise TypeError(f"out has elements of type {found.dtype}, must have {dtype}")
    if found.shape != shape:
        raise ValueError(f"out has shape {found.shape}, must have {shape}")
    place = like.place()
    if not _core.is_apart(found.capsule(place), like.capsule(place)):
        raise ValueError(f"out shares memory with {name}, or is not C-contiguous")
    return out
