"""The peers of cclabel_peers.py that run on a GPU."""
import importlib.metadata
import os
import shutil
import subprocess
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """The peer is not installed, or it needs a GPU and none is usable."""


def version_of(*packages):
    """The version of the first of these packages that is installed."""
    for package in packages:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return "of unknown version"


class DevicePeer:
    """A function from a picture on the GPU to labels on the GPU, timed by events around the call."""

    criteria = ("binary",)
    connectivities = (4, 8)
    tasks = ("labels",)
    backend = "cuda"
    thread_counts = (0,)

    def __init__(self):
        import cupy
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise Missing("there is no GPU")
        self.cupy = cupy
        self.stream = cupy.cuda.Stream.null  # of the calls and of the events

    def set_threads(self, count):
        pass

    def on_device(self, image):
        return self.cupy.asarray(image)

    def label_with_table(self, image, connectivity):
        """The labels, for the task `table`. Only peers with statistics have this task."""
        raise NotImplementedError

    def time(self, image, connectivity, task, runs, seconds):
        """Labels and the times of the calls in microseconds."""
        cupy, work = self.cupy, self.label if task == "labels" else self.label_with_table
        with self.stream:
            on_device = self.on_device(image)
            labels = cupy.asnumpy(work(on_device, connectivity))
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            samples = []
            for run in range(runs + 1):
                start.record()
                work(on_device, connectivity)
                stop.record()
                stop.synchronize()
                if run > 0:
                    samples.append(cupy.cuda.get_elapsed_time(start, stop) * 1e3)
        return labels.reshape(image.shape), samples


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
    """Block-based union-find (BKE). Its labels are numbered, but not in raster order."""

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


class CvCuda(DevicePeer):
    """CV-CUDA's label, which has 4 neighbours. Its labels are positions, not numbered 1..n."""

    connectivities = (4,)
    tasks = ("labels", "table")

    def __init__(self):
        super().__init__()
        import cvcuda
        self.cvcuda = cvcuda
        self.name = "CV-CUDA " + version_of("cvcuda-cu13", "cvcuda-cu12")
        self.stream = self.cupy.cuda.Stream(non_blocking=True)
        self.theirs = cvcuda.as_stream(self.stream)
        self.background = cvcuda.as_tensor(self.cupy.zeros(1, self.cupy.uint8), "N")
        self.capacity = 1  # of the statistics

    def on_device(self, image):
        image = self.cvcuda.as_tensor(self.cupy.asarray(image), "HW")
        self.capacity = max(1, int(self.cupy.asarray(self.found(image, count=True)[1].cuda())[0]))
        return image

    def found(self, image, **more):
        return self.cvcuda.label(image, self.cvcuda.ConnectivityType.CONNECTIVITY_4_2D, bg_label=self.background,
                                 stream=self.theirs, **more)

    def label(self, image, connectivity):
        return self.cupy.asarray(self.found(image)[0].cuda())

    def label_with_table(self, image, connectivity):
        return self.cupy.asarray(self.found(image, count=True, stats=True, max_labels=self.capacity)[0].cuda())


class KorniaCuda(DevicePeer):
    """kornia-rs on device images. Labels are in raster order, as on the CPU."""

    def __init__(self):
        super().__init__()  # first: without a driver, kornia_rs.cuda panics
        import kornia_rs
        if not kornia_rs.cuda.is_available():
            raise Missing("kornia-rs finds no GPU")
        self.kornia = kornia_rs
        self.name = f"kornia-rs CUDA {kornia_rs.__version__}"

    def on_device(self, image):
        return self.kornia.image.Image.frombuffer(numpy.ascontiguousarray(image[..., None])).to_cuda()

    def label(self, image, connectivity):
        return self.cupy.asarray(self.kornia.imgproc.connected_components(image, connectivity)[1])


class ColorCc(DevicePeer):
    """Takes RGB as PyTorch's arrays and gives labels in raster order."""

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


def npp_libraries(nvcc):
    """Arguments of nvcc for NPP: from the package nvidia-npp if it is installed, else from the toolkit."""
    try:
        files = importlib.metadata.files("nvidia-npp") or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()
    found = [str(file.locate()) for file in files if file.name.startswith(("libnppif.so", "libnppc.so"))]
    if found:
        folder = os.path.dirname(found[0])
        libraries = [word for path in found for word in ("-Xlinker", path)]  # nvcc itself refuses "….so.13"
        return ["-I" + os.path.join(os.path.dirname(folder), "include"), *libraries, "-Xlinker", "-rpath=" + folder]
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "lib64")
    return ["-lnppif", "-lnppc", "-Xlinker", "-rpath=" + folder]


class Npp:
    """NVIDIA's NPP, through a program that is built here."""

    criteria = ("binary",)
    connectivities = (4, 8)
    tasks = ("labels",)
    backend = "cuda"
    thread_counts = (0,)
    checks_itself = True

    def __init__(self):
        nvcc = shutil.which("nvcc")
        if not nvcc:
            raise Missing("nvcc, which builds npp.cpp, is not installed")
        self.folder = tempfile.TemporaryDirectory()
        program = os.path.join(self.folder.name, "npp")
        build = subprocess.run([nvcc, "-O2", "-o", program, os.path.join(HERE, "npp.cpp"), *npp_libraries(nvcc)],
                               capture_output=True, text=True)
        if build.returncode:
            raise Missing("npp.cpp does not build: " + build.stderr.strip()[-300:])
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        version = self.process.stdout.readline().decode().strip()
        if not version:
            raise Missing("the program does not start; its message is above")
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
            raise Missing("the program stopped; its message is above")
        return float(line[0]), float(line[1]), line[2] == b"1"
