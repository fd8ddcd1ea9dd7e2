#!/usr/bin/env python3
"""Arrays as inputs and outputs: memory, views, DLPack, and a fake library of arrays on devices."""

import contextlib
import sys
import types
import unittest
from unittest import mock

import gst_regions
import numpy
from gst_regions import _arrays, _device_arrays
from references import reference

IMAGE = numpy.array([[0, 3, 3, 0], [3, 0, 0, 0], [0, 0, 7, 7]], numpy.uint8)
LABELS = [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 2, 2]]


class Foreign:
    """An array of another library that supports DLPack."""

    def __init__(self, array, device=(1, 0)):
        self.array = array
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)


LIBRARY = types.ModuleType("foreign_library")
LIBRARY.from_dlpack = lambda array: Foreign(numpy.from_dlpack(array))
sys.modules["foreign_library"] = LIBRARY
Foreign.__module__ = "foreign_library.tensors"


class Out(unittest.TestCase):
    def test_out_argument_of_every_function_is_written_and_returned(self):
        for function, arguments, dtype in (
                (gst_regions.label, (IMAGE,), numpy.int32), (gst_regions.slic, (IMAGE, 2), numpy.int32),
                (gst_regions.remove_small_objects, (IMAGE > 0, 2), bool),
                (gst_regions.remove_small_holes, (IMAGE > 0, 2), bool)):
            want = function(*arguments)
            out = numpy.full(want.shape, 77).astype(dtype)
            self.assertIs(function(*arguments, out=out), out)
            numpy.testing.assert_array_equal(out.view(f"u{out.itemsize}"), want.view(f"u{out.itemsize}"))
        terminal = IMAGE.astype(int) - 2
        out = numpy.ones(IMAGE.shape, bool)
        foreground, _ = gst_regions.mincut(terminal, 1, 1, out=out)
        self.assertIs(foreground, out)
        numpy.testing.assert_array_equal(out, gst_regions.mincut(terminal, 1, 1)[0])

    def test_out_argument_with_batch_and_thresholds_is_written_and_returned(self):
        out = numpy.empty((2, 3, 3, 4), numpy.int32)
        pair = numpy.stack([IMAGE, IMAGE.max() - IMAGE])
        self.assertIs(gst_regions.label(pair, threshold=[1, 4, 7], batch=True, out=out), out)
        numpy.testing.assert_array_equal(out, gst_regions.label(pair, threshold=[1, 4, 7], batch=True))

    def test_label_memory_is_reused_only_after_all_its_views_are_freed(self):
        """Memory of an array is not reused while the array or a view of it exists."""
        image = numpy.random.default_rng(8).random((300, 310)) < 0.5
        want, other = gst_regions.label(image).copy(), gst_regions.label(~image).copy()
        views = [gst_regions.label(image)[5:, ::2] for _ in range(6)]
        for _ in range(6):
            numpy.testing.assert_array_equal(gst_regions.label(~image), other)
        for view in views:
            numpy.testing.assert_array_equal(view, want[5:, ::2])
        begins = {gst_regions.label(image).ctypes.data for _ in range(6)}
        self.assertEqual(len(begins), 1)

    def test_out_argument_that_is_part_of_an_array_leaves_the_rest_unchanged(self):
        holder = numpy.full((5, 3, 4), -5, numpy.int32)
        gst_regions.label(IMAGE, out=holder[2])
        numpy.testing.assert_array_equal(holder[2], LABELS)
        self.assertTrue((numpy.delete(holder, 2, 0) == -5).all())


class Reading(unittest.TestCase):
    def test_read_only_input_is_accepted_and_unchanged(self):
        image = IMAGE.copy()
        image.flags.writeable = False
        numpy.testing.assert_array_equal(gst_regions.label(image), LABELS)
        gst_regions.slic(image, 2)
        gst_regions.regionprops_table(image, image)
        mask = numpy.frombuffer((IMAGE > 0).tobytes(), bool).reshape(IMAGE.shape)
        gst_regions.remove_small_objects(mask, 2)
        gst_regions.remove_small_holes(mask, 2)
        numpy.testing.assert_array_equal(image, IMAGE)
        numpy.testing.assert_array_equal(mask, IMAGE > 0)

    def test_list_as_input_gives_the_labels_of_the_array(self):
        numpy.testing.assert_array_equal(gst_regions.label(IMAGE.tolist()), LABELS)

    def test_unaligned_input_array_gives_the_same_labels(self):
        memory = numpy.zeros(IMAGE.size * 8 + 1, numpy.uint8)
        image = memory[1:].view(numpy.float64).reshape(IMAGE.shape)
        image[...] = IMAGE
        self.assertFalse(image.flags.aligned)
        numpy.testing.assert_array_equal(gst_regions.label(image), LABELS)
        numpy.testing.assert_array_equal(gst_regions.label(image, threshold=3), LABELS)

    def test_input_with_any_stride_of_an_axis_of_length_one_gives_the_same_results(self):
        row = numpy.array([1, 0, 1, 1], numpy.uint8)
        for shape in ((4, 1, 1), (1, 4, 1), (1, 1, 4), (4, 1), (1, 4)):
            strides = tuple(1 if side == 4 else 977 for side in shape)
            image = numpy.lib.stride_tricks.as_strided(row, shape, strides)
            self.assertEqual(gst_regions.label(image).ravel().tolist(), [1, 0, 2, 2])
            self.assertEqual(gst_regions.label(image, threshold=1).ravel().tolist(), [1, 0, 2, 2])
            self.assertEqual(gst_regions.remove_small_objects(image > 0, 1).ravel().tolist(), [0, 0, 1, 1])
            self.assertEqual(gst_regions.regionprops_table(image)["area"].tolist(), [3])

    def test_input_with_overlapping_rows_gives_the_labels_of_its_copy(self):
        image = numpy.lib.stride_tricks.as_strided(IMAGE, (6, 4), (2, 1))  # rows that overlap
        numpy.testing.assert_array_equal(gst_regions.label(image[:5]), gst_regions.label(image[:5].copy()))
        numpy.testing.assert_array_equal(gst_regions.label(numpy.broadcast_to(IMAGE[0], (3, 4)), connectivity=1),
                                         [[0, 1, 1, 0]] * 3)


class Dlpack(unittest.TestCase):
    def test_result_for_a_dlpack_input_is_an_array_of_its_library(self):
        labels, num, table = gst_regions.label(Foreign(IMAGE), return_num=True, return_table=True)
        self.assertIsInstance(labels, Foreign)
        self.assertIsInstance(table, numpy.ndarray)
        numpy.testing.assert_array_equal(labels.array, LABELS)
        self.assertEqual(num, 2)
        self.assertIsInstance(gst_regions.mincut(Foreign(IMAGE.astype(numpy.int32)), 1, 1)[0], Foreign)
        self.assertIsInstance(gst_regions.slic(Foreign(IMAGE), 2), Foreign)

    def test_dlpack_out_argument_is_written_in_place(self):
        out = Foreign(numpy.zeros(IMAGE.shape, numpy.int32))
        self.assertIs(gst_regions.label(Foreign(IMAGE), out=out), out)
        numpy.testing.assert_array_equal(out.array, LABELS)

    def test_dlpack_input_on_an_unreadable_device_is_refused(self):
        with self.assertRaisesRegex(ValueError, r"image is on a device .*\(DLPack device type 2\)"):
            gst_regions.label(Foreign(IMAGE, (2, 0)))

    def test_torch_tensor_as_input_gives_a_torch_tensor_with_the_labels(self):
        torch = reference("torch")
        image = torch.tensor(IMAGE.tolist(), dtype=torch.uint8)
        labels = gst_regions.label(image)
        self.assertEqual((type(labels), labels.dtype), (torch.Tensor, torch.int32))
        self.assertEqual(labels.tolist(), LABELS)
        # The 3s touch at corners, and are one object of 3 elements.
        kept = gst_regions.remove_small_objects(image > 0, 2, connectivity=2)
        self.assertEqual((kept.dtype, kept.tolist()), (torch.bool, (image == 3).tolist()))
        self.assertIs(gst_regions.flood_fill(kept, (0, 0), True, in_place=True), kept)
        self.assertTrue(kept.all())
        with self.assertRaisesRegex(TypeError, "image cannot be read by DLPack.*require gradient"):
            gst_regions.label(torch.ones((2, 3), requires_grad=True))
        floats = torch.tensor([[1.5, 0, 2.5], [1.5, 0, 0]])
        self.assertEqual(gst_regions.label(floats).tolist(), [[1, 0, 2], [1, 0, 0]])
        shared = torch.zeros((2, 3), dtype=torch.int32)  # the labels are written to its memory
        gst_regions.label(floats, out=shared[:])
        self.assertEqual(shared.tolist(), [[1, 0, 2], [1, 0, 0]])
        out = torch.zeros((3, 4), dtype=torch.int32)
        where = out.data_ptr()
        self.assertIs(gst_regions.label(image.T.contiguous().T, out=out), out)
        self.assertEqual((out.tolist(), out.data_ptr()), (LABELS, where))

    def test_dlpack_subclass_of_a_library_gives_arrays_of_the_library(self):
        torch = reference("torch")

        class Mask(torch.Tensor):
            """Like the masks of torchvision and MONAI."""

        image = torch.tensor(IMAGE.tolist(), dtype=torch.uint8).as_subclass(Mask)
        labels = gst_regions.label(image)
        self.assertIsInstance(labels, torch.Tensor)
        self.assertEqual(labels.tolist(), LABELS)
        self.assertIsInstance(gst_regions.flood_fill(image, (0, 1), 9), torch.Tensor)

    def test_dlpack_class_without_library_gives_numpy_arrays(self):
        class Own(Foreign):
            pass

        Own.__module__ = "__main__"
        Own.__mro__[1].__module__, module = "__main__", Foreign.__module__
        self.addCleanup(setattr, Foreign, "__module__", module)
        _arrays.library_of_class.cache_clear()
        self.addCleanup(_arrays.library_of_class.cache_clear)
        for labels in (gst_regions.label(Own(IMAGE)), gst_regions.slic(Own(IMAGE), 2)):
            self.assertIsInstance(labels, numpy.ndarray)
        self.assertEqual(gst_regions.label(Own(IMAGE)).tolist(), LABELS)

    def test_dlpack_torch_tensor_is_filled_in_place(self):
        torch = reference("torch")
        image = torch.tensor(IMAGE.tolist(), dtype=torch.uint8)
        self.assertIs(gst_regions.flood_fill(image, (0, 1), 9, in_place=True), image)
        self.assertEqual(image.tolist(), numpy.where(IMAGE == 3, 9, IMAGE).tolist())

    def test_dlpack_bfloat16_tensor_error_names_the_type(self):
        torch = reference("torch")
        library = _device_arrays.Torch(torch)
        with self.assertRaisesRegex(TypeError, "elements of type bfloat16, must have"):
            _arrays.expect_type(library.dtype_of(torch.bfloat16), "image")

    def test_dlpack_jax_array_is_read_and_returned(self):
        jax = reference("jax")
        labels = gst_regions.label(jax.numpy.asarray(IMAGE))
        self.assertIsInstance(labels, jax.Array)
        self.assertEqual(labels.tolist(), LABELS)

    def test_dlpack_array_without_elements_in_jit_is_refused(self):
        jax = reference("jax")
        for function in (gst_regions.label, gst_regions.regionprops_table, gst_regions.slic, gst_regions.fill_holes):
            with self.assertRaisesRegex(TypeError, "Tracer without elements; inside jax.jit, call this function by"):
                jax.jit(function)(jax.numpy.asarray(IMAGE))

    def test_dlpack_label_in_jit_by_pure_callback_equals_a_direct_call(self):
        jax = reference("jax")

        @jax.jit
        def areas(image):
            shape = jax.ShapeDtypeStruct(image.shape, numpy.int32)
            labels = jax.pure_callback(lambda mask: gst_regions.label(numpy.asarray(mask)), shape, image > 0)
            return jax.numpy.bincount(labels.ravel(), length=5)
        labels = gst_regions.label(IMAGE > 0)
        self.assertEqual(areas(jax.numpy.asarray(IMAGE)).tolist(), numpy.bincount(labels.ravel(), minlength=5).tolist())

    def test_dlpack_tensor_without_elements_in_torch_compile_is_refused(self):
        placeholder = type("FakeTensor", (), {"__dlpack__": None, "__module__": "torch._subclasses.fake_tensor"})()
        for function in (gst_regions.label, gst_regions.fill_holes, gst_regions.slic):
            with self.assertRaisesRegex(TypeError, "inside torch.compile, wrap it with torch.compiler.disable"):
                function(placeholder)

    def test_dlpack_label_in_torch_compile_if_disabled_equals_a_direct_call(self):
        torch = reference("torch")
        if not hasattr(torch, "compiler"):
            self.skipTest(f"PyTorch {torch.__version__} has no torch.compiler, must be 2.1 or later")

        @torch.compiler.disable
        def label(mask):
            return gst_regions.label(mask)
        double = torch.compile(lambda image: 2 * label(image > 0), backend="eager")
        labels = gst_regions.label(IMAGE > 0)
        self.assertEqual(double(torch.tensor(IMAGE.tolist())).tolist(), (2 * labels).tolist())


HOST = -1  # the number of the fake device


class Elsewhere:
    """An array on a fake device, whose elements the package cannot read."""

    def __init__(self, hidden):
        self.hidden = hidden
        self.shape, self.dtype = hidden.shape, hidden.dtype

    def __ge__(self, value):
        return Elsewhere(self.hidden >= value)

    def __eq__(self, other):
        return Elsewhere(self.hidden == other.hidden)

    def __ne__(self, other):
        return Elsewhere(self.hidden != getattr(other, "hidden", other))

    def __invert__(self):
        return Elsewhere(~self.hidden)

    def __add__(self, value):
        return Elsewhere(self.hidden + value)

    def __mul__(self, other):
        return Elsewhere(self.hidden * other.hidden)

    def __iter__(self):
        return map(Elsewhere, self.hidden)

    def __setitem__(self, index, other):
        self.hidden[index] = other.hidden

    def reshape(self, *shape):
        return Elsewhere(self.hidden.reshape(*shape))

    def __getitem__(self, indices):
        return Elsewhere(self.hidden[indices.hidden])

    def astype(self, dtype):
        return Elsewhere(self.hidden.astype(dtype))


class FakeLibrary(_device_arrays.Library):
    def __init__(self):
        super().__init__(types.SimpleNamespace(
            stack=lambda arrays, axis=0: Elsewhere(numpy.stack([array.hidden for array in arrays], axis)),
            unique=lambda array, return_inverse: map(Elsewhere, numpy.unique(array.hidden, return_inverse=True)),
            bincount=lambda array: Elsewhere(numpy.bincount(array.hidden))))
        self.made, self.copied, self.on_streams = [], 0, []

    def device_of(self, array):
        return HOST

    def is_packed(self, array):
        return array.hidden.flags.c_contiguous

    def strides(self, array):
        return tuple(stride // array.hidden.itemsize for stride in array.hidden.strides)

    def address(self, array):
        return array.hidden.ctypes.data

    def stream(self, device):
        return self.on_streams[-1] if self.on_streams else 0

    @contextlib.contextmanager
    def on(self, stream, device):
        self.on_streams.append(stream)
        yield

    def packed(self, array):
        self.copied += 1
        return Elsewhere(numpy.ascontiguousarray(array.hidden))

    def host(self, array):
        return array.hidden

    def from_host(self, array, like):
        return Elsewhere(array)

    def empty(self, shape, dtype, like):
        self.made.append(shape)
        return Elsewhere(numpy.full(shape, -7, dtype))


def noise(shape, seed=1):
    return numpy.random.default_rng(seed).random(shape) < 0.5


def levels(shape, most, dtype=numpy.uint8):
    return numpy.random.default_rng(2).integers(0, most, shape).astype(dtype)


class Calls(unittest.TestCase):
    def setUp(self):
        self.library = FakeLibrary()
        patch = mock.patch.object(_device_arrays, "_library_of", lambda kind: self.library if kind is Elsewhere else None)
        patch.start()
        self.addCleanup(patch.stop)

    def check(self, image, **how):
        """Calls twice, because the second call uses cached results of the first one."""
        want = gst_regions.label(image, return_num=True, **how)
        for _ in range(2):
            labels, count = gst_regions.label(Elsewhere(image), return_num=True, **how)
            numpy.testing.assert_array_equal(labels.hidden, want[0])
            numpy.testing.assert_array_equal(count, want[1])
            self.assertEqual(type(count), type(want[1]))
            labels = gst_regions.label(Elsewhere(image), **how)
            self.assertIsInstance(labels, Elsewhere)
            numpy.testing.assert_array_equal(labels.hidden, want[0])

    def test_labels_of_device_pictures_and_volumes_equal_the_cpu(self):
        for shape in ((30, 41), (5, 20, 33), (1, 9, 8), (7, 1)):
            for connectivity in range(1, len(shape) + 1):
                self.check(noise(shape), connectivity=connectivity)
        self.check(noise((30, 40)), background=True)
        self.check(noise((30, 40)), background=2)

    def test_labels_of_device_arrays_with_thresholds_and_batches_equal_the_cpu(self):
        for dtype in (numpy.uint8, numpy.uint16, numpy.int16, numpy.float32):
            image = levels((4, 20, 31), 120, dtype)
            for threshold in (40, 40.5, [20, 60, 100.5], [-1, 1e9], float("inf")):
                self.check(image[0], threshold=threshold)
                self.check(image, threshold=threshold)
                self.check(image, threshold=threshold, batch=True)
        self.check(noise((3, 4, 10, 12)), batch=True)

    def test_labels_of_device_arrays_after_changed_arguments_equal_the_cpu(self):
        image = levels((20, 31), 200)
        for how in ({"threshold": 1}, {"threshold": 2}, {"threshold": [2]}, {"threshold": 2, "connectivity": 1},
                    {"threshold": 1}):
            self.check(image, **how)
            self.check(image[:, 1:].copy(), **how)
            self.check(image.astype(numpy.uint16), **how)

    def test_device_equal_values_of_large_types_equal_cpu(self):
        for dtype in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
            for background in (None, 2, -1, 99):
                self.check(levels((20, 31), 5, dtype), background=background)
        self.check(levels((4, 20, 31), 5, numpy.int64), batch=True)

    def test_device_arrays_with_one_axis_equal_cpu(self):
        for how in ({}, {"connectivity": 1}, {"threshold": 1}, {"threshold": [0, 1]}):
            self.check(noise((70,)), **how)
            self.check(noise((3, 70)), batch=True, **how)
        out = Elsewhere(numpy.zeros(70, numpy.int32))
        self.assertIs(gst_regions.label(Elsewhere(noise((70,))), out=out), out)
        numpy.testing.assert_array_equal(out.hidden, gst_regions.label(noise((70,))))
        with self.assertRaisesRegex(ValueError, "connectivity is 2, must be 1 to 1"):
            gst_regions.label(Elsewhere(noise((70,))), connectivity=2)

    def test_device_areas_and_largest_regions_equal_cpu(self):
        for image, how in ((noise((20, 31)), {}), (noise((3, 20, 31)), {"batch": True}),
                           (levels((20, 31), 99), {"threshold": [20, 60]}), (noise((20, 31)), {"largest_k": 3})):
            want = gst_regions.label(image, return_num=True, return_areas=True, **how)
            got = gst_regions.label(Elsewhere(image), return_num=True, return_areas=True, **how)
            numpy.testing.assert_array_equal(got[0].hidden, want[0])
            numpy.testing.assert_array_equal(got[1], want[1])
            numpy.testing.assert_array_equal(got[2].hidden, want[2])

    def test_device_array_views_are_read_in_place(self):
        wide = noise((3, 40, 60))
        for view in (wide[0, 3:30, 5:41], wide[0, ::2], wide[1:]):
            self.check(view)
        self.check(wide[:, 3:30, 5:41], batch=True)
        self.assertEqual(self.library.copied, 0)
        self.check(wide[0].T)
        self.check(wide[:, 3:30, 5:41])  # slices with gaps
        self.assertEqual(self.library.copied, 8)

    def test_label_of_a_device_array_without_out_allocates_only_the_labels(self):
        gst_regions.label(Elsewhere(noise((20, 30))))
        self.assertEqual(self.library.made, [(20, 30)])
        gst_regions.label(Elsewhere(levels((2, 20, 30), 99)), threshold=[1, 2, 3], batch=True)
        self.assertEqual(self.library.made[1:], [(2, 3, 20, 30)])

    def test_device_out_array_that_overlaps_the_image_is_refused(self):
        memory = numpy.zeros(4 * 800, numpy.uint8)
        out = Elsewhere(memory[400:2000].view(numpy.int32).reshape(20, 20))
        image = numpy.random.default_rng(3).random((20, 20)) < 0.5
        want = gst_regions.label(image)
        for first, step, apart in ((0, 1, True), (1, 1, False), (1999, 1, False), (2000, 1, True), (399, -1, True),
                                   (400, -1, False), (2399, -1, True), (2398, -1, False)):
            flat = memory[first:first + 400] if step > 0 else memory[first::-1][:400]
            there = flat.reshape(20, 20).view(bool)
            there[...] = image
            with self.subTest(first=first, step=step):
                if apart:
                    self.assertIs(gst_regions.label(Elsewhere(there), out=out), out)
                    numpy.testing.assert_array_equal(out.hidden, want)
                else:
                    with self.assertRaisesRegex(ValueError, "out shares memory with image"):
                        gst_regions.label(Elsewhere(there), out=out)
        with self.assertRaisesRegex(ValueError, "is not C-contiguous"):
            gst_regions.label(Elsewhere(noise((20, 20))), out=Elsewhere(numpy.zeros((20, 40), numpy.int32)[:, ::2]))

    def test_device_stream_argument_is_passed_to_the_kernels(self):
        runs = []
        real = gst_regions._core.DeviceLabelling

        class Recorder(real):
            def run(self, images, strides, labels, stream):
                runs.append((stream, tuple(strides)))
                return real.run(self, images, strides, labels, stream)
        with mock.patch.object(gst_regions._core, "DeviceLabelling", Recorder):
            image = noise((21, 30))
            gst_regions.label(Elsewhere(image), stream=77)
            gst_regions.label(Elsewhere(image[:, 1:]), stream=mock.Mock(spec=["__cuda_stream__"],
                                                                        __cuda_stream__=lambda: (0, 78)))
        self.assertEqual(runs, [(77, ()), (78, (30, 1))])

    def test_label_of_a_device_array_with_invalid_argument_raises_an_error_that_names_it(self):
        for kind, words, image, how in (
                (ValueError, "axes", noise((2, 2, 2, 2)), {}), (ValueError, "no elements", noise((0, 4)), {}),
                (ValueError, "65536 elements", noise((1, 65536)), {}),
                # The memory is never accessed, and no labels are allocated.
                (ValueError, "must have at most 2147483647", numpy.zeros((50000, 43000), bool), {}),
                (ValueError, "threshold is NaN", levels((4, 4), 9), {"threshold": float("nan")}),
                (ValueError, "background and threshold", levels((4, 4), 9), {"threshold": 1, "background": 0}),
                (ValueError, "connectivity is 3", noise((4, 4)), {"connectivity": 3}),
                (ValueError, "return_table cannot be combined", noise((4, 4, 4)),
                 {"return_table": True, "batch": True}),
                (ValueError, "image contains NaN", levels((4, 4), 9, numpy.float32) * numpy.nan, {}),
                (ValueError, "90000 distinct values, must have at most 65536", numpy.arange(90000).reshape(300, 300), {}),
                (ValueError, "periodic is set for an array on a CUDA device", noise((4, 4)), {"periodic": True}),
                (ValueError, "delta is set for an array on a CUDA device", levels((4, 4), 9), {"delta": 1}),
                (TypeError, "type float16", levels((4, 4), 9, numpy.float16), {"threshold": 1}),
                (TypeError, "stream is 'x'", noise((4, 4)), {"stream": "x"})):
            for _ in range(2):
                with self.subTest(words), self.assertRaisesRegex(kind, words):
                    gst_regions.label(Elsewhere(image), **how)


if __name__ == "__main__":
    unittest.main(verbosity=2)
