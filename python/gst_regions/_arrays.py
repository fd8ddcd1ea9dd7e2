"""Converts arguments to NumPy arrays, converts results back, and chooses the number of threads.

Arrays of other libraries are passed by DLPack.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The element types that the compiled module accepts, see with_type() in python/arrays.hpp.
TYPES = "bool, int8 to int64, uint8 to uint64, float32 or float64"
TYPE_CODES = "?bBhHiIlLqQfd"  # dtype.char of NumPy

CPU_TARGET = (-1, 0)  # device and stream of a `Target` for work on the CPU
HOST_DEVICES = (1, 3)  # DLPack's device types kDLCPU and kDLCUDAHost

CPU_CORES = os.cpu_count() or 1
PIXELS_PER_THREAD = 1 << 15  # for fewer pixels, one thread finishes before another thread wakes up

# An array of NumPy, or of a library that supports DLPack and has a function from_dlpack().
Array = Any


def as_numpy(array: Array, name: str) -> NDArray[Any]:
    """Converts the array to a NumPy array. Only lists are copied."""
    if isinstance(array, np.ndarray):
        if isinstance(array, np.ma.MaskedArray):
            warnings.warn(f"{name} is a masked array, and its mask is ignored, as in scikit-image and SciPy; pass "
                          "array.filled(value)", UserWarning, stacklevel=3)
        converted = np.asarray(array)  # without a subclass such as np.matrix, whose rows have two axes
    elif hasattr(array, "__dlpack__"):
        expect_elements(array)
        device = array.__dlpack_device__()[0]
        if device not in HOST_DEVICES:
            raise ValueError(f"{name} is on a device that the CPU cannot read (DLPack device type {int(device)}); "
                             "copy it to the host")
        try:
            converted = _from_dlpack(array)
        except (RuntimeError, BufferError) as error:
            raise TypeError(f"{name} cannot be read by DLPack: {error}") from error
    else:
        converted = np.asarray(array)
        if converted.dtype == np.object_ and converted.ndim == 0:
            raise TypeError(f"{name} is a {type(array).__name__}, must be an array; convert it first, for example a sparse "
                            "matrix by toarray()")
    expect_type(converted.dtype, name)
    return converted


def _from_dlpack(array: Array) -> NDArray[Any]:
    if str(getattr(array, "dtype", "")) == "torch.bool":  # DLPack of PyTorch before 2.2 has no bool
        bools: NDArray[Any] = np.from_dlpack(array.view(sys.modules["torch"].uint8)).view(np.bool_)
        return bools
    return np.from_dlpack(array)


def expect_elements(array: Array) -> None:
    """Raises TypeError for the placeholder of an array during jax.jit or torch.compile, which has no elements."""
    name = type(array).__name__
    if name in ("FakeTensor", "FunctionalTensor") or (name.endswith("Tracer") and not hasattr(array, "__dlpack_device__")):
        raise TypeError(f"an array is a {name} without elements; inside jax.jit, call this function by "
                        "jax.pure_callback(), and inside torch.compile, wrap it with torch.compiler.disable() (see the "
                        "guide on arrays)")


def warn_of_dark_mask(values: NDArray[Any], name: str, level: float) -> None:
    """Warns if the array is a mask of 0 and 1, and its pixels do not reach the foreground's level (0 to 255)."""
    if values.dtype == np.uint8 and level > 1 and values.size and values.max() == 1:
        warnings.warn(f"{name} has only the values 0 and 1, and foreground begins at {level:g}, so it is empty; multiply "
                      "the mask by 255, or convert it to bool", UserWarning, stacklevel=3)


def expect_type(dtype: np.dtype[Any], name: str) -> None:
    """Raises TypeError if the compiled module does not accept the element type."""
    if dtype.char not in TYPE_CODES:
        raise TypeError(f"{name} has elements of type {dtype}, must have {TYPES}")


def result_of(array: NDArray[Any], out: Array | None, like: Array) -> Array:
    """Returns `out` if it is given, else converts `array` to an array of the library of `like`.

    NumPy, PyTorch and other libraries share the memory of `array`. JAX copies it if its alignment does not suit JAX.
    """
    if out is not None:
        return out
    if isinstance(like, np.ndarray) or not hasattr(like, "__dlpack__"):
        return array
    name = library_name(like)
    if name is None:
        return array
    module = sys.modules["jax.numpy" if name == "jax" else name]
    if name == "torch" and array.dtype == np.bool_:  # DLPack of PyTorch before 2.2 has no bool
        return module.from_dlpack(array.view(np.uint8)).view(module.bool)
    return module.from_dlpack(array)


def library_name(array: Array) -> str | None:
    """Returns the name of the library to which an array with DLPack belongs, or of the library of its base class.

    Returns None for a class without such a library: results are then NumPy arrays.
    """
    array_class: Any = type(array)
    return library_of_class(array_class)


@functools.lru_cache(maxsize=64)
def library_of_class(array_class: Any) -> str | None:
    """Returns the name of the first imported library in the class's bases that has a function from_dlpack()."""
    for base in array_class.__mro__:
        name: str = base.__module__.partition(".")[0].replace("jaxlib", "jax")
        if name == "jax" or hasattr(sys.modules.get(name), "from_dlpack"):
            return name
    return None


def expect_axes(array: Any, name: str, *counts: int) -> None:
    """Raises ValueError if the number of axes is not one of `counts` or an axis has no elements."""
    expect_shape(array.shape, name, *counts)


def expect_shape(shape: tuple[int, ...], name: str, *counts: int) -> None:
    """Raises ValueError if the number of axes is not one of `counts` or an axis has no elements."""
    if len(shape) not in counts:
        expected = " or ".join(map(str, counts))
        raise ValueError(f"{name} has {len(shape)} axes, must have {expected}")
    if 0 in shape:
        raise ValueError(f"{name} has no elements: its shape is {shape}, each axis must have at least 1")


def with_native_bytes(array: NDArray[Any]) -> NDArray[Any]:
    """Returns the array in native byte order and aligned. Copies it if necessary."""
    if array.flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, array.dtype.newbyteorder("="), "A")


def in_rows(array: NDArray[Any]) -> NDArray[Any]:
    """Returns the array itself if the elements of each row are contiguous and rows do not overlap, else a copy."""
    array = with_native_bytes(array)
    if array.flags.c_contiguous:
        return array
    row_bytes = array.shape[-1] * array.itemsize
    if array.ndim == 2 and array.strides[-1] == array.itemsize and abs(array.strides[0]) >= row_bytes:
        return array
    return np.ascontiguousarray(array)


def writeable(values: NDArray[Any], array: Array) -> NDArray[Any]:
    """Returns a writeable view of the memory of `array`, which as_numpy() has converted to `values`, if there is one.

    PyTorch uses an old version of DLPack (before 1.0) without a flag for writeable memory, so NumPy assumes that the
    memory is read-only.
    """
    if values.flags.writeable or library_name(array) != "torch" or not values.size:
        return values
    memory = (ctypes.c_uint8 * values.itemsize).from_address(values.ctypes.data)
    first = np.ctypeslib.as_array(memory).view(values.dtype)
    view: NDArray[Any] = np.lib.stride_tricks.as_strided(first, values.shape, values.strides)
    return view


def output_array(out: Array | None, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Returns the array to which results are written: `out` as a NumPy array, or a new array."""
    if out is None:
        return np.empty(shape, dtype)
    output = writeable(as_numpy(out, "out"), out)
    if output.dtype != dtype:
        raise TypeError(f"out has elements of type {output.dtype}, must have {np.dtype(dtype)}")
    if output.shape != shape:
        raise ValueError(f"out has shape {output.shape}, must have {shape}")
    if not (output.flags.c_contiguous and output.flags.writeable and output.dtype.isnative and output.flags.aligned):
        raise ValueError("out must be C-contiguous, writeable, aligned and in native byte order")
    return output


def separate_output(out: Array | None, shape: tuple[int, ...], dtype: Any, source: NDArray[Any],
                    name: str) -> NDArray[Any]:
    """Like output_array(), but `out` must not share memory with the array `source`, the argument named `name`."""
    if out is None:
        return np.empty(shape, dtype)
    output = output_array(out, shape, dtype)
    if np.may_share_memory(output, source):
        raise ValueError(f"out shares memory with {name}; pass separate memory")
    return output


def as_picture(array: Array, name: str, channels: tuple[int, ...] = (3, 4),
            types: tuple[type[np.generic], ...] = (np.uint8,)) -> NDArray[Any]:
    """Converts the array to a C-contiguous picture. `channels` are the lengths that a third axis may have."""
    picture = as_numpy(array, name)
    expect_picture(picture, name, channels, types)
    return np.ascontiguousarray(with_native_bytes(picture))


def expect_picture(array: Any, name: str, channels: tuple[int, ...] = (3, 4),
                   types: tuple[type[np.generic], ...] = (np.uint8,)) -> None:
    """Raises TypeError or ValueError if as_picture() does not accept the array."""
    if array.dtype not in types:
        raise TypeError(f"{name} has elements of type {array.dtype}, must have "
                        + " or ".join(type_.__name__ for type_ in types))
    expect_axes(array, name, *((2, 3) if channels else (2,)))
    if array.ndim == 3 and array.shape[2] not in channels:
        raise ValueError(f"{name} has {array.shape[2]} channels, must have {' or '.join(map(str, channels))}, "
                         "or two axes")


def integer_of(value: Any, name: str) -> int:
    """Returns an argument as an int. Raises TypeError if it is not a whole number of an integer type."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, must be an int") from None


def number_of(value: Any, name: str) -> float:
    """Returns an argument as an int or float, also from an array without axes. Raises TypeError for other types."""
    number = value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value
    if not isinstance(number, (int, float)):
        raise TypeError(f"{name} is {value!r}, must be a number")
    return number


def connectivity_of(connectivity: int | None, axes: int) -> int:
    """Returns the number of axes along which neighbours may differ. None means all."""
    if connectivity is None:
        return axes
    number = integer_of(connectivity, "connectivity")
    if not 1 <= number <= axes:
        raise ValueError(f"connectivity is {connectivity}, must be 1 to {axes}")
    return number


def max_threads(threads: int) -> int:
    """Returns how many threads may work at most. `threads` is the caller's limit; 0: one per CPU core."""
    if integer_of(threads, "threads") < 0:
        raise ValueError(f"threads is {threads}, must be at least 0 (0: one per CPU core)")
    return min(threads or CPU_CORES, CPU_CORES)


def threads_for(image: NDArray[Any], threads: int) -> int:
    """Returns the number of threads that work on the image. `threads` is the limit that the caller set."""
    return min(max_threads(threads), 1 + image.size // PIXELS_PER_THREAD)
