"""Access to the libraries that have arrays on CUDA devices: CuPy, PyTorch and JAX."""

from __future__ import annotations

import contextlib
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from ._devices import DeviceArray

CUDA = 2  # kDLCUDA of DLPack
NO_WAIT = -1  # DLPack stream argument: no synchronisation, because the work uses the array's own stream

Array = Any
Place = tuple[int, int, int]  # threads, device, stream: the argument of the compiled module


class Library:
    """The behaviour that CuPy and PyTorch share. `module` is the imported library."""

    can_write = True  # existing arrays can be written
    # The library's own functions where it has them: a wrapper around them would double the time of the call.
    is_packed: Callable[[Array], bool]
    address: Callable[[Array], int]  # of the first element, for work on the stream that stream() returns

    def __init__(self, module: Any) -> None:
        self.module = self.ops = module
        self.int32: Any = np.dtype(np.int32)  # the library's type object for int32

    def strides(self, array: Array) -> tuple[int, ...]:
        """The strides of the array, in elements."""
        return tuple(stride // array.itemsize for stride in array.strides)

    def reaches(self, image: DeviceArray, threshold: float) -> Array:
        """A bool array that is True where the image is at least `threshold`."""
        array = image.array
        if image.dtype.kind == "f":
            return array >= threshold
        if threshold > most_of(image.dtype):
            return array != array
        return array == array if threshold <= least_of(image.dtype) else array >= math.ceil(threshold)

    def dtype_of(self, kind: Any) -> np.dtype[Any]:
        """The NumPy type for an element type of the library."""
        found: np.dtype[Any] = np.dtype(kind)
        return found

    def device_of(self, array: Array) -> int | None:
        """The index of the CUDA device that the array is on; None for the CPU."""
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
    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.current_stream = module.cuda.get_current_stream
        self.current_device = module.cuda.runtime.getDevice
        self.new = module.ndarray
        self.is_packed = operator.attrgetter("_c_contiguous")  # same as flags.c_contiguous, in 1/20 of the time
        self.address = operator.attrgetter("data.ptr")

    def device_of(self, array: Array) -> int | None:
        found: int = array.data.device_id  # same as device.id, without creating a Device
        return found

    def stream(self, device: int) -> int:
        found: int = self.current_stream(device).ptr
        return found

    @contextlib.contextmanager
    def on(self, stream: int, device: int) -> Iterator[None]:
        with self.module.cuda.Device(device), self.module.cuda.ExternalStream(stream, device):
            yield

    def packed(self, array: Array) -> Array:
        return self.module.ascontiguousarray(array)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        kind = dtype.char  # faster than passing the type itself
        if like.data.device_id == self.current_device():
            return self.new(shape, kind)
        with like.device:
            return self.new(shape, kind)

    def host(self, array: Array) -> Any:
        return array.get()


class Torch(Library):
    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.dtypes: dict[Any, np.dtype[Any]] = {}
        self.torch_types = {np.dtype(name).char: getattr(module, name) for name in ("int32", "uint8")}
        self.capsule_of = module.utils.dlpack.to_dlpack
        self.int32 = module.int32
        self.is_packed = module.Tensor.is_contiguous
        self.address = module.Tensor.data_ptr
        # The function that kernels of torch.compile call. It returns the handle alone, in 1/10 of the time.
        self.raw_stream = getattr(module._C, "_cuda_getCurrentRawStream", None)
        # Another function of torch.compile: allocates on the current device in half the time.
        self.current_device = getattr(module._C, "_cuda_getDevice", lambda: -1)
        self.new = getattr(getattr(getattr(module._C, "_dynamo", None), "guards", None), "_empty_strided_cuda", None)

    def dtype_of(self, kind: Any) -> np.dtype[Any]:
        if kind not in self.dtypes:
            with contextlib.suppress(TypeError):  # bfloat16 and other types that NumPy does not have
                self.dtypes[kind] = np.dtype(str(kind).removeprefix("torch."))
        return self.dtypes.get(kind, np.dtype("V1"))

    def device_of(self, array: Array) -> int | None:
        return array.get_device() if array.is_cuda else None

    def capsule(self, array: Array, place: Place) -> Any:
        return self.capsule_of(array)  # same as __dlpack__, in 1/5 of the time

    def stream(self, device: int) -> int:
        if self.raw_stream:
            found: int = self.raw_stream(device)
            return found
        return int(self.module.cuda.current_stream(device).cuda_stream)

    def on(self, stream: int, device: int) -> contextlib.AbstractContextManager[Any]:
        cuda = self.module.cuda
        held: contextlib.AbstractContextManager[Any] = cuda.stream(cuda.ExternalStream(stream, device))
        return held

    def strides(self, array: Array) -> tuple[int, ...]:
        return tuple(array.stride())

    def reaches(self, image: DeviceArray, threshold: float) -> Array:
        if image.dtype.kind == "u" and image.dtype.itemsize > 1:  # PyTorch cannot compare these types
            if image.dtype.itemsize > 4:
                raise TypeError("image has elements of type uint64, which PyTorch cannot compare on a CUDA "
                                "device; convert the image to another type")
            image = image.of(image.array.to(self.module.int64))
        return super().reaches(image, threshold)

    def packed(self, array: Array) -> Array:
        return array.contiguous()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Array) -> Array:
        kind = self.torch_types[dtype.char]
        if self.new and like.get_device() == self.current_device():
            return self.new(shape, strides_of(shape), kind)
        if shape == like.shape and like.is_contiguous():
            return self.module.empty_like(like, dtype=kind)  # in 2/3 of the time
        return like.new_empty(shape, dtype=kind)

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        return array.to(self.torch_types[dtype.char])

    def host(self, array: Array) -> Any:
        return array.cpu().numpy()

    def is_not_zero(self, array: Array, out: Array | None) -> Array:
        return self.module.ne(array, 0, out=out)


class Jax(Library):
    """JAX arrays are immutable, and JAX does not expose its streams. The work runs on a stream of this package.

    That stream waits for the arrays that are read. JAX waits for that stream when it takes the result.
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

    def capsule(self, array: Array, place: Place) -> Any:
        return array.__dlpack__(stream=place[2])

    def address(self, array: Array) -> int:
        return _core.address_of(array.__dlpack__(stream=self.stream(array.__dlpack_device__()[1])))

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
    """Passes an array to a library by DLPack and makes the stream of that library wait for the stream of `place`."""

    def __init__(self, array: Array, place: Place) -> None:
        self.array, self.place = array, place

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None, **how: Any) -> Any:
        _core.wait_for_stream_of(self.place[1], stream or 0)
        return self.array.__dlpack__(stream=stream)


@functools.lru_cache(maxsize=256)
def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a C-contiguous array, in elements."""
    return tuple(math.prod(shape[axis + 1:]) for axis in range(len(shape)))


@functools.lru_cache(maxsize=None)
def most_of(dtype: np.dtype[Any]) -> int:
    return 1 if dtype == np.bool_ else int(np.iinfo(dtype).max)


@functools.lru_cache(maxsize=None)
def least_of(dtype: np.dtype[Any]) -> int:
    return 0 if dtype == np.bool_ else int(np.iinfo(dtype).min)
