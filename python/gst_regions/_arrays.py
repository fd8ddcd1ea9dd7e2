"""Arrays as they come and as they go: NumPy's, and by DLPack those of others."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What the compiled module knows; see with_type() in python/arrays.hpp.
TYPES = "bool, int8 to int64, uint8 to uint64, float32 or float64"
TYPE_CODES = "?bBhHiIlLqQfd"  # NumPy's

HOST = (-1, 0)  # device and stream of a place, as the compiled module takes it
HOST_DEVICES = (1, 3)  # of DLPack: kDLCPU, kDLCUDAHost

# An array of NumPy, or of a library that speaks DLPack and has a function from_dlpack.
Array = Any


def taken(array: Array, name: str) -> NDArray[Any]:
    """The array as NumPy sees it, without a copy unless it is a list."""
    if isinstance(array, np.ndarray):
        found = array
    elif hasattr(array, "__dlpack__"):
        device = array.__dlpack_device__()[0]
        if device not in HOST_DEVICES:
            raise ValueError(f"{name} lies on a device that the CPU cannot read, of DLPack's type {int(device)}")
        try:
            found = np.from_dlpack(array)
        except (RuntimeError, BufferError) as error:
            raise TypeError(f"{name} does not come by DLPack: {error}") from error
    else:
        found = np.asarray(array)
    expect_type(found.dtype, name)
    return found


def expect_type(dtype: np.dtype[Any], name: str) -> None:
    if dtype.char not in TYPE_CODES:
        raise TypeError(f"{name} has elements of type {dtype}; they must be {TYPES}")


def given(place: NDArray[Any], out: Array | None, like: Array) -> Array:
    """What to return of what was written: `out`, or an array of the library that `like` is of. NumPy, PyTorch and
    others take the memory itself; JAX copies where it is not aligned as its own."""
    if out is not None:
        return out
    if isinstance(like, np.ndarray) or not hasattr(like, "__dlpack__"):
        return place
    library = type(like).__module__.partition(".")[0]
    return sys.modules["jax.numpy" if library == "jaxlib" else library].from_dlpack(place)


def expect_axes(array: Any, name: str, *counts: int) -> None:
    """Raises ValueError unless the array has so many axes and each of them elements."""
    expect_shape(array.shape, name, *counts)


def expect_shape(shape: tuple[int, ...], name: str, *counts: int) -> None:
    if len(shape) not in counts:
        wanted = " or ".join(map(str, counts))
        raise ValueError(f"{name} has {len(shape)} axes, must have {wanted}")
    if 0 in shape:
        raise ValueError(f"{name} has no elements: its shape is {shape}")


def native(array: NDArray[Any]) -> NDArray[Any]:
    """The array in the machine's order of bytes, aligned."""
    if array.flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, array.dtype.newbyteorder("="), "A")


def in_rows(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself where the elements of a row lie side by side and rows apart; else a copy."""
    array = native(array)
    if array.flags.c_contiguous:
        return array
    row = array.shape[-1] * array.itemsize
    if array.ndim == 2 and array.strides[-1] == array.itemsize and abs(array.strides[0]) >= row:
        return array
    return np.ascontiguousarray(array)


def place(out: Array | None, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Where to write: `out` as NumPy sees it, or a new array."""
    if out is None:
        return np.empty(shape, dtype)
    found = taken(out, "out")
    if not found.flags.writeable and type(out).__module__.partition(".")[0] == "torch" and found.flags.c_contiguous:
        # DLPack before 1.0, which PyTorch speaks, does not say whether memory may be written: NumPy takes it as not.
        memory = (ctypes.c_uint8 * found.nbytes).from_address(found.ctypes.data)
        found = np.ctypeslib.as_array(memory).view(found.dtype).reshape(found.shape)
    if found.dtype != dtype:
        raise TypeError(f"out has elements of type {found.dtype}, must have {np.dtype(dtype)}")
    if found.shape != shape:
        raise ValueError(f"out has shape {found.shape}, must have {shape}")
    if not (found.flags.c_contiguous and found.flags.writeable and found.dtype.isnative and found.flags.aligned):
        raise ValueError("out must be C-contiguous and writeable")
    return found


def written(out: Array | None, shape: tuple[int, ...], dtype: Any, read: NDArray[Any], name: str) -> NDArray[Any]:
    """The same where `read`, which is called so, must not lie in `out`."""
    if out is None:
        return np.empty(shape, dtype)
    found = place(out, shape, dtype)
    if np.may_share_memory(found, read):
        raise ValueError(f"out shares memory with {name}")
    return found


def picture(array: Array, name: str, channels: tuple[int, ...] = (3, 4),
            kinds: tuple[type[np.generic], ...] = (np.uint8,)) -> NDArray[Any]:
    """A picture without gaps, whose third axis, if it has one, has one of these lengths."""
    found = taken(array, name)
    expect_picture(found, name, channels, kinds)
    return np.ascontiguousarray(native(found))


def expect_picture(found: Any, name: str, channels: tuple[int, ...] = (3, 4),
                   kinds: tuple[type[np.generic], ...] = (np.uint8,)) -> None:
    """Raises TypeError or ValueError for another array than picture() tells of."""
    if found.dtype not in kinds:
        raise TypeError(f"{name} has elements of type {found.dtype}, must have "
                        + " or ".join(kind.__name__ for kind in kinds))
    expect_axes(found, name, *((2, 3) if channels else (2,)))
    if found.ndim == 3 and found.shape[2] not in channels:
        raise ValueError(f"{name} has {found.shape[2]} channels, must have {' or '.join(map(str, channels))}, "
                         "or no third axis")
