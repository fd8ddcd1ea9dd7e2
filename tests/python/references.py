"""Libraries with which results are compared. If a library is not installed, its tests are skipped with a reason."""

import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    from hypothesis import HealthCheck, settings
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as arrays
except ImportError as missing:
    print(f"{missing.name} is not installed: see requirements/tests.in")
    sys.exit(77)

settings.register_profile("reproducible", deadline=None, derandomize=True, max_examples=150,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("reproducible")

KINDS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


def reference(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed: see requirements/tests.in") from None


def run_elements(chain, frames, *options):
    """Passes frames through elements of the plugin, with these options of gst-launch-1.0. Returns its output."""
    launch = shutil.which("gst-launch-1.0")
    if launch is None or not os.environ.get("REGIONS_PLUGIN"):
        raise unittest.SkipTest("needs gst-launch-1.0, and the plugin's folder in REGIONS_PLUGIN")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "in")
        source.write_bytes(b"".join(frame.tobytes() for frame in frames))
        kind = "rgb" if frames[0].ndim == 3 else "gray8"
        done = subprocess.run(
            [launch, *options, "filesrc", f"location={source}", "!", "rawvideoparse", f"format={kind}",
             f"width={frames[0].shape[1]}", f"height={frames[0].shape[0]}", "!", *chain],
            env=os.environ | {"GST_PLUGIN_PATH": os.environ["REGIONS_PLUGIN"], "GST_PLUGIN_PATH_1_0":
                              os.environ["REGIONS_PLUGIN"], "GST_REGISTRY_1_0": str(pathlib.Path(folder, "registry"))},
            capture_output=True, text=True, check=False)
    if "rawvideoparse" in done.stderr and "no element" in done.stderr:
        raise unittest.SkipTest("the element rawvideoparse of plugins-bad is not installed")
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


def shapes(least=2, most=3):
    """Shapes of pictures and volumes with sides around multiples of 32 and 64."""
    return arrays.array_shapes(min_dims=least, max_dims=most, min_side=1, max_side=9) | st.tuples(
        st.integers(1, 5), st.sampled_from([63, 64, 65, 130])) | st.tuples(
        st.sampled_from([31, 33, 70]), st.integers(1, 40))


@st.composite
def pictures(draw, kinds=tuple(KINDS), least=2, most=3, values=3):
    """Arrays with few distinct values, so that they have regions. The values include the extremes of the type."""
    dtype = numpy.dtype(draw(st.sampled_from(kinds)))
    shape = draw(shapes(least, most))
    if dtype.kind == "b":
        palette = [False, True]
    elif dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        palette = draw(st.lists(st.sampled_from([info.min, info.max, 1, 2, info.max // 2]), max_size=values - 1))
    else:
        palette = draw(st.lists(st.floats(width=dtype.itemsize * 8, allow_nan=False), max_size=values - 1))
    palette = numpy.array([0, *palette], dtype)
    choose = numpy.random.default_rng(draw(st.integers(0, 2**32)))
    return palette[choose.integers(0, len(palette), shape)]


def view_of(draw, image):
    """A view of the same elements with gaps, another order of the axes or other strides, or a copy."""
    way = draw(st.sampled_from(["copy", "gaps", "wide", "flipped", "transposed", "swapped"]))
    if way == "gaps":
        holder = numpy.ones([2 * n for n in image.shape], image.dtype)
        view = holder[tuple(slice(None, None, 2) for _ in image.shape)]
    elif way == "wide":
        holder = numpy.ones([n + 3 for n in image.shape], image.dtype)
        view = holder[tuple(slice(1, n + 1) for n in image.shape)]
    elif way == "flipped":
        view = numpy.empty_like(image)[::-1]
    elif way == "transposed":
        view = numpy.empty(image.shape[::-1], image.dtype).T
    elif way == "swapped":
        view = numpy.empty(image.shape, image.dtype.newbyteorder())
    else:
        view = numpy.empty_like(image)
    view[...] = image
    return view
