"""The peers of cclabel_peers.py that work on a GPU."""
import importlib.metadata
import os
import shutil
import subprocess
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """This peer is not installed here."""


def version_of(*packages):
    """Of the first of them that is here."""
    for package in packages:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return "of unknown version"


class DevicePeer:
    """A function from a picture on the GPU to labels there, timed by events around the call."""

    criteria = ("binary",)
    connectivities = (4, 8)
    tasks = ("labels",)
    backend = "cuda"
    thread_counts = (0,)

    def __init__(self):
        import cupy
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise Missing("no GPU")
        self.cupy = cupy

    def set_threads(self, count):
        pass

    def on_device(self, image):
        return self.cupy.asarray(image)

    def time(self, image, connectivity, task, runs, seconds):
        cupy = self.cupy
        on_device = self.on_device(image)
        labels = cupy.asnumpy(self.label(on_device, connectivity))
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        samples = []
        for run in range(runs + 1):
            start.record()
            self.label(on_device, connectivity)
            stop.record()
            stop.synchronize()
            if run > 0:
                samples.append(cupy.cuda.get_elapsed_time(start, stop) * 1e3)
        return labels, samples


class CuPy(DevicePeer):
    def __init__(self):
        super().__init__()
        from cupyx.scipy import ndimage
        self.ndimage = ndimage
        self.name = "CuPy " + self.cupy.__version__
        straight = self.cupy.ones((3, 3), bool)
        straight[::2, ::2] = False
        self.structures = {4: straight, 8: self.cupy.ones((3, 3), bool)}

    def label(self, image, connectivity):
        return self.ndimage.label(image, self.structures[connectivity])[0]


class Bkeccl(DevicePeer):
    """Blocks of 2x2 pixels (BKE); its labels are numbered, in no order of the picture's."""

    connectivities = (8,)

    def __init__(self):
        super().__init__()
        import bkeccl
        self.ccl = bkeccl.ccl
        self.name = "bkeccl " + importlib.metadata.version("bkeccl")

    def label(self, image, connectivity):
        found = self.ccl(image)
        return found[0] if isinstance(found, tuple) else found


class CuCim(DevicePeer):
    criteria = ("binary", "equal")

    def __init__(self):
        super().__init__()
        from cucim.skimage import measure
        self.measure = measure
        self.name = "cuCIM " + version_of("cucim-cu13", "cucim-cu12", "cucim")

    def label(self, image, connectivity):
        return self.measure.label(image, connectivity=2 if connectivity == 8 else 1)


class ColorCc(DevicePeer):
    """RGB of PyTorch's, labels in raster order."""

    criteria = ("equal",)

    def __init__(self):
        super().__init__()
        import colorcc
        import torch
        self.torch = torch
        self.colorcc = colorcc
        self.name = "colorcc " + importlib.metadata.version("colorcc")

    def on_device(self, image):
        channels = numpy.stack([image >> shift & 255 for shift in (16, 8, 0)], axis=-1)
        return self.torch.from_numpy(channels.astype(numpy.uint8)).cuda()

    def label(self, image, connectivity):
        stream = self.torch.cuda.ExternalStream(self.cupy.cuda.get_current_stream().ptr)
        with self.torch.cuda.stream(stream):
            return self.cupy.from_dlpack(self.colorcc.label(image, conn=connectivity)[0])


class Npp:
    """The toolkit's library, through a program built here."""

    criteria = ("binary",)
    connectivities = (4, 8)
    tasks = ("labels",)
    backend = "cuda"
    thread_counts = (0,)
    checks_itself = True

    def __init__(self):
        nvcc = shutil.which("nvcc")
        if not nvcc:
            raise Missing("no nvcc to build it with")
        self.folder = tempfile.TemporaryDirectory()
        program = os.path.join(self.folder.name, "npp")
        libraries = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "lib64")
        build = subprocess.run([nvcc, "-O2", "-o", program, os.path.join(HERE, "npp.cpp"),
                                "-lnppif", "-lnppc", "-Xlinker", "-rpath=" + libraries],
                               capture_output=True, text=True)
        if build.returncode:
            raise Missing("npp.cpp does not build: " + build.stderr.strip()[-300:])
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        version = self.process.stdout.readline().decode().strip()
        if not version:
            raise Missing("it does not start; see above")
        self.name = "NPP " + version

    def set_threads(self, count):
        pass

    def time_checked(self, image, truth, connectivity, runs):
        pipe = self.process.stdin
        height, width = image.shape
        pipe.write(f"{width} {height} {connectivity} {runs}\n".encode())
        pipe.write(image.tobytes())
        pipe.write(truth.tobytes())
        pipe.flush()
        line = self.process.stdout.readline().split()
        if len(line) != 3:
            raise Missing("it stopped; see above")
        return float(line[0]), float(line[1]), line[2] == b"1"
