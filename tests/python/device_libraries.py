"""CuPy, PyTorch and JAX, if they are installed and have a CUDA device, and pictures for tests."""

import numpy

DELAY = 3 * 10**8  # cycles, a few tenths of a second


class CuPy:
    def __init__(self):
        import cupy
        self.module = cupy
        self.spin = cupy.RawKernel('extern "C" __global__ void spin(long long n) { long long from = clock64();'
                                   " while (clock64() - from < n); }", "spin")
        cupy.arange(3).sum()

    def to(self, array):
        return self.module.asarray(array)

    def host(self, array):
        return array.get()

    def pointer(self, array):
        return array.data.ptr

    def delay(self):
        self.spin((1,), (1,), (DELAY,))

    def new_stream(self):
        return self.module.cuda.Stream(non_blocking=True)

    def use(self, stream):
        return stream

    def is_idle(self):
        return self.module.cuda.get_current_stream().done

    def copy(self, source, target):
        target[...] = source


class Torch(CuPy):
    def __init__(self):
        import torch
        self.module = torch
        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no device")

    def to(self, array):
        return self.module.from_numpy(numpy.ascontiguousarray(array)).cuda()

    def host(self, array):
        return array.cpu().numpy()

    def pointer(self, array):
        return array.data_ptr()

    def delay(self):
        self.module.cuda._sleep(DELAY)

    def new_stream(self):
        return self.module.cuda.Stream()

    def use(self, stream):
        return self.module.cuda.stream(stream)

    def is_idle(self):
        return self.module.cuda.current_stream().query()

    def copy(self, source, target):
        target.copy_(source)


class Jax:
    def __init__(self):
        import jax
        self.module = jax
        if jax.devices()[0].platform != "gpu":
            raise ImportError("JAX sees no device")

    def to(self, array):
        return self.module.device_put(array)

    def host(self, array):
        return numpy.asarray(array)


LIBRARIES = {}
for kind in (CuPy, Torch, Jax):
    try:
        LIBRARIES[kind.__name__] = kind()
    except Exception as error:  # the exceptions differ if no device exists
        print(f"{kind.__name__} is not tested: {error}")
STREAMED = {name: library for name, library in LIBRARIES.items() if name != "Jax"}


def noise(shape, density=0.5, seed=1):
    return numpy.random.default_rng(seed).random(shape) < density


def levels(shape, most, dtype=numpy.uint8, seed=2):
    return numpy.random.default_rng(seed).integers(0, most, shape).astype(dtype)
