"""Reads and writes arrays on CUDA devices.

Arrays of CuPy, PyTorch and JAX are used directly. Arrays of other libraries are converted by CuPy or PyTorch.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _arrays, _core
from ._arrays import TYPES, library_of_class

CUDA = 2  # DLPack's device type kDLCUDA
CURRENT_STREAM = contextlib.nullcontext()  # a context in which the library keeps its current stream
NO_WAIT = -1  # DLPack's stream argument for no synchronisation, because the work uses the array's own stream

Array = Any
Target = tuple[int, int, int]  # threads, device, stream; see _core.pyi


class Library:
    """The operations of an array library that this package needs, as CuPy and PyTorch implement them.

    `module` is the imported library. A contiguous array is called packed.
    """

    can_write = True  # whether existing arrays can be written
    # is_packed and address are the library's own functions if it has them. A wrapper around them would double the time
    # of the call.
    is_packed: Callable[[Array], bool]  # returns whether the array is contiguous
    address: Callable[[Array], int]  # returns the address of the first element, for work on the stream of stream()

    def __init__(self, module: Any) -> None:
        self.module = self.ops = module  # `ops` has the NumPy-like functions, such as `stack`
        self.int32: Any = np.dtype(np.int32)  # the library's type object for int32

    def strides(self, array: Array) -> tuple[int, ...]:
        """Returns the strides of the array, in elements."""
        return tuple(stride // array.itemsize for stride in array.strides)

    def reaches(self, image: DeviceArray, threshold: float) -> Array:
        """Returns a bool array that is True where the image is at least `threshold`."""
        array = image.array
        if image.dtype.kind == "f":
            return array >= threshold
        if threshold > max_of(image.dtype):
            return array != array  # False everywhere, because integers are never NaN
        return array == array if threshold <= min_of(image.dtype) else array >= math.ceil(threshold)

    def dtype_of(self, kind: Any) -> np.dtype[Any]:
        """Returns the NumPy type for an element type of the library."""
        dtype: np.dtype[Any] = np.dtype(kind)
        return dtype

    def device_of(self, array: Array) -> int | None:
        """Returns the index of the CUDA device that the array is on, or None for the CPU."""
        kind, device = array.__dlpack_device__()
        return int(device) if kind == CUDA else None

    def capsule(self, array: Array, target: Target) -> Any:
        """Returns the array as a DLPack capsule for work on the stream of `target`."""
        return array.__dlpack__(stream=NO_WAIT)

    def finished(self, array: Array, target: Target) -> Array:
        """Makes later work of the library wait for the work on `target`. Returns the array."""
        return array

    def stream(self, device: int) -> int:
        """Returns the CUDA stream on which the work for arrays of this device runs."""
        raise NotImplementedError

    def on(self, stream: int, device: int) -> contextlib.AbstractContextManager[Any]:
        """Returns a context in which the library works on `stream`."""
        raise NotImplementedError

    def packed(self, array: Array) -> Array:
        """Returns the array itself if it is contiguous, else a contiguous copy."""
        raise NotImplementedError

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        """Returns an uninitialised array on the device of `like`."""
        raise NotImplementedError

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """Converts the elements to another type."""
        return array.astype(dtype)

    def host(self, array: Array) -> Any:
        """Copies the array to a NumPy array on the host."""
        return np.asarray(array)

    def unique(self, array: Array) -> tuple[Array, Array]:
        """Returns the distinct values, and the index of each element's value among them."""
        values, numbers = self.ops.unique(array, return_inverse=True)
        return values, numbers.reshape(array.shape)

    def bincount(self, array: Array) -> Array:
        """Returns how often each number occurs in an array with one axis."""
        return self.ops.bincount(array)

    def take(self, array: Array, indices: Array) -> Array:
        """Returns the elements of `array` at the indices, as int32."""
        return self.cast(array[indices], np.dtype(np.int32))

    def from_host(self, array: Any, like: Array) -> Array:
        """Copies a NumPy array to the device of `like`."""
        with like.device:
            return self.module.asarray(array)

    def areas_of(self, labels: Array, leading: int) -> Array:
        """Returns the area of the region of each element. The first `leading` axes hold separate label arrays."""
        items = []
        for item in labels.reshape(-1, *labels.shape[leading:]):
            areas = self.bincount(item.reshape(-1))
            items.append(self.take(areas, item) * self.cast(item != 0, np.dtype(np.int32)))
        return self.ops.stack(items).reshape(labels.shape)

    def is_not_zero(self, array: Array, out: Array | None) -> Array:
        return self.module.not_equal(array, 0, out=out)

    def inverted(self, array: Array, out: Array | None) -> Array:
        return self.module.logical_not(array, out=out)


class CuPy(Library):
    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.current_stream = module.cuda.get_current_stream
        self.current_device = module.cuda.runtime.getDevice
        self.new_array = module.ndarray
        self.is_packed = operator.attrgetter("_c_contiguous")  # same as flags.c_contiguous, but takes 1/20 of the time
        self.address = operator.attrgetter("data.ptr")

    def device_of(self, array: Array) -> int | None:
        device: int = array.data.device_id  # same as device.id, but does not create a Device object
        return device

    def stream(self, device: int) -> int:
        handle: int = self.current_stream(device).ptr
        return handle

    @contextlib.contextmanager
    def on(self, stream: int, device: int) -> Iterator[None]:
        with self.module.cuda.Device(device), self.module.cuda.ExternalStream(stream, device):
            yield

    def packed(self, array: Array) -> Array:
        return self.module.ascontiguousarray(array)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        type_code = dtype.char  # faster than passing the type itself
        if like.data.device_id == self.current_device():
            return self.new_array(shape, type_code)
        with like.device:
            return self.new_array(shape, type_code)

    def host(self, array: Array) -> Any:
        return array.get()


class Torch(Library):
    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.dtypes: dict[Any, np.dtype[Any]] = {}
        self.torch_types = {np.dtype(name).char: getattr(module, name) for name in ("int16", "int32", "uint8")}
        self.capsule_of = module.utils.dlpack.to_dlpack
        self.int32 = module.int32
        self.is_packed = module.Tensor.is_contiguous
        self.address = module.Tensor.data_ptr
        # PyTorch functions that code of torch.compile calls. They may be missing in some versions of PyTorch.
        # raw_stream returns the stream as a number. It takes 1/10 of the time of torch.cuda.current_stream().
        self.raw_stream = getattr(module._C, "_cuda_getCurrentRawStream", None)
        self.current_device = getattr(module._C, "_cuda_getDevice", lambda: -1)
        # new_array allocates on the current device in half the time of PyTorch's public functions.
        guards = getattr(getattr(module._C, "_dynamo", None), "guards", None)
        self.new_array = getattr(guards, "_empty_strided_cuda", None)

    def dtype_of(self, kind: Any) -> np.dtype[Any]:
        if kind not in self.dtypes:
            with contextlib.suppress(TypeError):  # for bfloat16 and other types that NumPy does not have
                self.dtypes[kind] = np.dtype(str(kind).removeprefix("torch."))
        if kind not in self.dtypes:
            raise TypeError(f"an array has elements of type {str(kind).removeprefix('torch.')}, must have {TYPES}")
        return self.dtypes[kind]

    def device_of(self, array: Array) -> int | None:
        return array.get_device() if array.is_cuda else None

    def capsule(self, array: Array, target: Target) -> Any:
        return self.capsule_of(array)  # same as __dlpack__, but takes 1/5 of the time

    def stream(self, device: int) -> int:
        if self.raw_stream:
            handle: int = self.raw_stream(device)
            return handle
        return int(self.module.cuda.current_stream(device).cuda_stream)

    def on(self, stream: int, device: int) -> contextlib.AbstractContextManager[Any]:
        cuda = self.module.cuda
        context: contextlib.AbstractContextManager[Any] = cuda.stream(cuda.ExternalStream(stream, device))
        return context

    def strides(self, array: Array) -> tuple[int, ...]:
        return tuple(array.stride())

    def reaches(self, image: DeviceArray, threshold: float) -> Array:
        if image.dtype.kind == "u" and image.dtype.itemsize > 1:  # PyTorch cannot compare uint16, uint32 and uint64
            if image.dtype.itemsize > 4:
                raise TypeError("image has elements of type uint64, which PyTorch cannot compare on a CUDA "
                                "device; convert the image to another type")
            image = image.wrap(image.array.to(self.module.int64))
        return super().reaches(image, threshold)

    def packed(self, array: Array) -> Array:
        return array.contiguous()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        kind = self.torch_types[dtype.char]
        if self.new_array and like.get_device() == self.current_device():
            return self.new_array(shape, strides_of(shape), kind)
        if shape == like.shape and like.is_contiguous():
            return self.module.empty_like(like, dtype=kind)  # takes 2/3 of the time of new_empty()
        return like.new_empty(shape, dtype=kind)

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        return array.to(getattr(self.module, dtype.name))

    def host(self, array: Array) -> Any:
        return array.cpu().numpy()

    def from_host(self, array: Any, like: Array) -> Array:
        return self.module.from_numpy(array).to(like.device)

    def take(self, array: Array, indices: Array) -> Array:
        return self.cast(array[indices.long()], np.dtype(np.int32))

    def is_not_zero(self, array: Array, out: Array | None) -> Array:
        return self.module.ne(array, 0, out=out)


class Jax(Library):
    """JAX arrays are immutable. JAX does not expose its streams, so the work runs on a stream of this package.

    The stream of this package waits for the input arrays. JAX waits for this stream when it takes the result.
    """

    can_write = False

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.ops = module.numpy

    def is_packed(self, array: Array) -> bool:
        return True

    def stream(self, device: int) -> int:
        return _core.stream_of(device)

    def on(self, stream: int, device: int) -> contextlib.AbstractContextManager[Any]:
        raise TypeError("stream is given, but JAX does not accept streams; leave stream out for a JAX array")

    def capsule(self, array: Array, target: Target) -> Any:
        return array.__dlpack__(stream=target[2])

    def address(self, array: Array) -> int:
        return _core.address_of(array.__dlpack__(stream=self.stream(array.__dlpack_device__()[1])))

    def packed(self, array: Array) -> Array:
        return array

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        return self.ops.empty(shape, dtype, device=like.device)

    def finished(self, array: Array, target: Target) -> Array:
        return self.module.dlpack.from_dlpack(_OrderedArray(array, target))

    def from_host(self, array: Any, like: Array) -> Array:
        return self.module.device_put(array, like.device)

    def is_not_zero(self, array: Array, out: Array | None) -> Array:
        return array != 0

    def inverted(self, array: Array, out: Array | None) -> Array:
        return ~array


class _OrderedArray:
    """Passes an array to a library by DLPack, and makes the library's stream wait for the stream of `target`."""

    def __init__(self, array: Array, target: Target) -> None:
        self.array, self.target = array, target

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None, **other_arguments: Any) -> Any:
        _core.wait_for_stream_of(self.target[1], stream or 0)
        return self.array.__dlpack__(stream=stream)


@functools.lru_cache(maxsize=256)
def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides of a C-contiguous array, in elements."""
    return tuple(math.prod(shape[axis + 1:]) for axis in range(len(shape)))


@functools.lru_cache(maxsize=None)
def max_of(dtype: np.dtype[Any]) -> int:
    """Returns the largest value of an integer type or bool."""
    return 1 if dtype == np.bool_ else int(np.iinfo(dtype).max)


@functools.lru_cache(maxsize=None)
def min_of(dtype: np.dtype[Any]) -> int:
    """Returns the smallest value of an integer type or bool."""
    return 0 if dtype == np.bool_ else int(np.iinfo(dtype).min)


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

    def wrap(self, array: Array) -> DeviceArray:
        """Wraps another array of the same library and device."""
        return DeviceArray(array, self.library, self.device)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        return self.wrap(self.library.empty(shape, dtype, self.array))

    def in_rows(self, leading: int = 0) -> DeviceArray:
        """Returns the array itself if the compiled module can read it, else a contiguous copy.

        The elements of a row must be contiguous, rows must not overlap, and the slices of a volume must have no gaps
        between them. The first `leading` axes may have any strides.
        """
        if self.library.is_packed(self.array):
            return self
        strides = self.library.strides(self.array)
        *outer_strides, row_stride, element_stride = strides
        width, height = self.shape[-1], self.shape[-2]
        is_volume = self.ndim - leading == 3
        has_packed_slices = not is_volume or outer_strides[-1] == row_stride * height
        if element_stride == 1 and row_stride >= width and has_packed_slices:
            return self
        return self.packed()

    def packed(self) -> DeviceArray:
        """Returns the array itself if it is contiguous, else a contiguous copy."""
        if self.library.is_packed(self.array):
            return self
        return self.wrap(self.library.packed(self.array))

    def target(self) -> Target:
        """Returns the Target for work on this array: its device and the library's stream."""
        return 0, self.device, self.library.stream(self.device)

    def capsule(self, target: Target) -> Any:
        """Returns the array as a DLPack capsule for the compiled module."""
        return self.library.capsule(self.array, target)

    def host(self) -> Any:
        """Copies the array to host memory and returns a NumPy array."""
        return self.library.host(self.array)

    def run_labelling(self, work: _core.DeviceLabelling, leading: int, labels: Array) -> tuple[Array, list[int]]:
        """Runs `work` on the array. Returns the labels, and the number of regions of each picture if counted."""
        library, array, target = self.library, self.array, self.target()
        strides: tuple[int, ...] = ()
        if not library.is_packed(array):
            array = self.in_rows(leading).array
            strides = library.strides(array)
        counts = work.run(library.address(array), strides, library.address(labels), target[2])
        return library.finished(labels, target), counts

    def finished(self, target: Target) -> Array:
        """Returns the library's own array. Later work of the library waits for the work on `target`."""
        return self.library.finished(self.array, target)


@functools.lru_cache(maxsize=64)
def _library_of(array_class: Any) -> Library | None:
    """Returns the library to which arrays of the class `array_class` belong, or None for other classes."""
    name = library_of_class(array_class)
    libraries: dict[str | None, type[Library]] = {"cupy": CuPy, "torch": Torch, "jax": Jax}
    if name is None or name not in libraries or not hasattr(array_class, "__dlpack_device__"):
        return None
    return libraries[name](sys.modules[name])


def as_device_array(array: Array) -> DeviceArray | None:
    """Converts the array to a DeviceArray if it is on a CUDA device. Returns None for other arrays."""
    if isinstance(array, np.ndarray):
        return None
    _arrays.expect_elements(array)
    library = _library_of(array.__class__)
    if library:
        device = library.device_of(array)
        return None if device is None else DeviceArray(array, library, device)
    if hasattr(array, "__cuda_array_interface__"):
        for name, converter in (("cupy", "asarray"), ("torch", "as_tensor")):
            if name in sys.modules:
                options = {"device": "cuda"} if name == "torch" else {}
                return as_device_array(getattr(sys.modules[name], converter)(array, **options))
        raise TypeError(f"an array of {type(array).__module__} is on a CUDA device; import CuPy or PyTorch, "
                        "through which gst_regions reads it")
    return None


def expect_same_device(array: Array, name: str, other: DeviceArray, other_name: str) -> DeviceArray:
    """Converts the array to a DeviceArray. Raises ValueError if it is not on the device of `other`.

    `name` and `other_name` are the arguments that the error names.
    """
    device_array = as_device_array(array)
    if device_array is None or device_array.device != other.device:
        raise ValueError(f"{name} is not on the device of {other_name}, CUDA device {other.device}")
    return device_array


def to_host(array: Array) -> Array:
    """Returns the array itself, or a copy in host memory if it is on a CUDA device."""
    device_array = as_device_array(array)
    return device_array.host() if device_array else array


def handle_of(stream: Any) -> int:
    """Returns the cudaStream_t of a stream: an int, an object with `__cuda_stream__`, or a CuPy or PyTorch stream."""
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
    """Returns a context in which the array's library works on `stream`. None keeps the current stream."""
    if stream is None:
        return CURRENT_STREAM
    return array.library.on(handle_of(stream), array.device)


def separate_output(out: Array | None, shape: tuple[int, ...], dtype: np.dtype[Any], like: DeviceArray,
                    name: str) -> Array:
    """Returns the array to which results are written: `out`, or a new array.

    `out` must not share memory with the array `like`, the argument named `name`.
    """
    if out is None:
        return like.library.empty(shape, dtype, like.array)
    output_array(out, shape, dtype, like, name)
    begin, end = _extent(like)
    first = like.library.address(out)
    if first < end and begin < first + math.prod(shape) * dtype.itemsize:
        raise ValueError(f"out shares memory with {name}; pass separate memory")
    return out


def output_array(out: Array, shape: tuple[int, ...], dtype: np.dtype[Any], like: DeviceArray, name: str) -> None:
    """Raises TypeError or ValueError if results cannot be written to `out`, next to the argument `like` named `name`."""
    library = like.library
    if out.__class__ is not like.array.__class__ or library.device_of(out) != like.device:
        library = expect_same_device(out, "out", like, name).library
    if not library.can_write:
        raise ValueError("out is an immutable array; omit it and use the returned array")
    if library is not like.library:
        raise ValueError(f"out is a {type(out).__module__} array, must be an array of the same library as {name}")
    kind = library.dtype_of(out.dtype)
    if kind != dtype:
        raise TypeError(f"out has elements of type {kind}, must have {dtype}")
    if tuple(out.shape) != shape:
        raise ValueError(f"out has shape {tuple(out.shape)}, must have {shape}")
    if not library.is_packed(out):
        raise ValueError("out is not C-contiguous; pass contiguous memory")


def _extent(array: DeviceArray) -> tuple[int, int]:
    """Returns the address of the first byte of the array, and the address after its last byte."""
    library, library_array = array.library, array.array
    first = last = library.address(library_array)
    size = library.dtype_of(library_array.dtype).itemsize
    if library.is_packed(library_array):
        return first, first + math.prod(library_array.shape) * size
    for side, stride in zip(library_array.shape, library.strides(library_array)):
        offset = (side - 1) * stride * size  # from the first to the last element of the axis
        first, last = (first, last + offset) if stride > 0 else (first + offset, last)
    return first, last + size
