#!/usr/bin/env python3
"""Labels, regions of a minimum size, floods, holes and tables, against scikit-image, SciPy and cc3d."""

import unittest
import warnings

import gst_regions
import numpy
from hypothesis import given
from hypothesis import strategies as st
from references import view_of, reference, pictures


def as_whole_numbers(image):
    """Replaces distinct values by distinct integers and keeps 0, because scikit-image rejects floating point."""
    if image.dtype == bool:
        return image
    values, numbers = numpy.unique(image, return_inverse=True)
    numbers = numbers.reshape(image.shape) + 1
    numbers[image == 0] = 0
    return numbers


def in_raster_order(labels):
    """Renumbers labels, because scikit-image uses another order if an axis has one element."""
    if 1 not in labels.shape:
        return labels
    _, first, numbers = numpy.unique(labels, return_index=True, return_inverse=True)
    first[labels.ravel()[first] == 0] = -1
    rank = numpy.argsort(numpy.argsort(first)) + (0 if (first == -1).any() else 1)
    return rank[numbers].reshape(labels.shape)


class EqualValues(unittest.TestCase):
    @given(st.data())
    def test_label_of_equal_values_equals_scikit_image(self, data):
        measure = reference("skimage.measure")
        image = data.draw(pictures())
        connectivity = data.draw(st.sampled_from([None, *range(1, image.ndim + 1)]))
        want, count = measure.label(as_whole_numbers(image), connectivity=connectivity, return_num=True)
        labels, num = gst_regions.label(view_of(data.draw, image), connectivity=connectivity, return_num=True,
                                        threads=data.draw(st.sampled_from([0, 1, 2])))
        self.assertEqual((labels.dtype, num), (numpy.int32, count))
        numpy.testing.assert_array_equal(labels, in_raster_order(want))

    @given(st.data())
    def test_label_with_a_background_value_equals_scikit_image(self, data):
        measure = reference("skimage.measure")
        image = data.draw(pictures(kinds=("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")))
        background = data.draw(st.sampled_from([int(image.flat[0]), -1, 0, 300, 2**40]))
        want = measure.label(image.astype(numpy.int64), background=background)
        numpy.testing.assert_array_equal(gst_regions.label(image, background=background), in_raster_order(want))

    @given(st.data())
    def test_label_of_a_random_array_equals_cc3d_up_to_numbering(self, data):
        cc3d = reference("cc3d")
        # cc3d 4.1.1 errs with bool and 8 neighbours (SciPy does not), with fractions and with values beyond int64.
        image = data.draw(pictures(kinds=("uint8", "uint16", "int32")))
        connectivity = data.draw(st.integers(1, image.ndim))
        named = {2: (4, 8), 3: (6, 18, 26)}[image.ndim][connectivity - 1]
        want, count = cc3d.connected_components(numpy.ascontiguousarray(image), connectivity=named, return_N=True)
        labels, num = gst_regions.label(image, connectivity=connectivity, return_num=True)
        self.assertEqual(num, count)
        pairs = numpy.unique(numpy.stack([labels.ravel(), want.ravel().astype(numpy.int64)]), axis=1)
        self.assertEqual(pairs.shape[1], len(numpy.unique(labels)), "only the numbers may differ")
        self.assertEqual(pairs.shape[1], len(numpy.unique(want)))
        numpy.testing.assert_array_equal(labels == 0, want == 0)

    def test_label_of_a_large_image_with_no_or_one_object_finds_exactly_that(self):
        for kind in ("bool", "uint16", "float64"):
            image = numpy.zeros((300, 401), kind)
            labels, num, table = gst_regions.label(image, return_num=True, return_table=True)
            self.assertEqual((labels.dtype, labels.shape, labels.any(), num, len(table)),
                             (numpy.int32, image.shape, False, 0, 0))
            self.assertTrue((gst_regions.label(image, background=1) == 1).all())
            image[-1, -1] = 1
            labels, num = gst_regions.label(image, return_num=True)
            self.assertEqual((num, labels.sum(), labels[-1, -1]), (1, 1, 1))
            with self.assertRaisesRegex(ValueError, "threads is -1"):
                gst_regions.label(numpy.zeros((300, 400), kind), threads=-1)

    def test_label_of_an_image_with_more_than_65536_values_keeps_them_separate(self):
        image = numpy.arange(300 * 301, dtype=numpy.float32).reshape(300, 301) + 1
        image[7, 8] = image[7, 7]
        image.flat[65538] = image.flat[0]  # after value number 2**16
        labels, num = gst_regions.label(image, return_num=True)
        self.assertEqual(num, image.size - 1)
        numpy.testing.assert_array_equal(labels.ravel()[:10], numpy.arange(1, 11))
        self.assertEqual(labels[7, 8], labels[7, 7])
        self.assertEqual(labels[-1, -1], num)

    def test_label_treats_negative_zero_as_zero(self):
        image = numpy.array([[0.0, -0.0, 2.5], [2.5, -0.0, 2.5]], numpy.float32)
        numpy.testing.assert_array_equal(gst_regions.label(image, connectivity=1), [[0, 0, 1], [2, 0, 1]])
        numpy.testing.assert_array_equal(gst_regions.label(image, background=2.5), [[1, 1, 0], [0, 1, 0]])


    @given(st.data())
    def test_label_any_number_of_axes_equals_scipy(self, data):
        ndimage = reference("scipy.ndimage")
        axes = data.draw(st.sampled_from([1, 4, 5]))
        shape = data.draw(st.lists(st.integers(1, 5), min_size=axes, max_size=axes))
        kind = data.draw(st.sampled_from(["bool", "uint8", "int64", "float64"]))
        image = numpy.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 2, shape).astype(kind)
        connectivity = data.draw(st.integers(1, axes))
        want, count = ndimage.label(image, ndimage.generate_binary_structure(axes, connectivity))
        labels, num = gst_regions.label(view_of(data.draw, image), connectivity=connectivity, return_num=True)
        self.assertEqual((labels.dtype, num), (numpy.int32, count))
        numpy.testing.assert_array_equal(labels, want)
        labels = gst_regions.label(image, connectivity=connectivity, threshold=1)
        numpy.testing.assert_array_equal(labels, want)

    @given(st.data())
    def test_label_fortran_order_equals_c_order(self, data):
        image = data.draw(pictures(values=4))
        connectivity = data.draw(st.integers(1, image.ndim))
        how = data.draw(st.sampled_from([{}, {"background": -1}, {"threshold": 1}]))
        want = gst_regions.label(image, connectivity=connectivity, return_num=True, return_table=True, **how)
        got = gst_regions.label(numpy.asfortranarray(image), connectivity=connectivity, return_num=True,
                                return_table=True, **how)
        for one, other in zip(got, want):
            numpy.testing.assert_array_equal(one, other)

    @given(st.data())
    def test_label_delta_equals_regions_of_similar_neighbours(self, data):
        ndimage = reference("scipy.ndimage")
        kind = data.draw(st.sampled_from(["int8", "uint8", "int64", "uint64", "float32"]))
        image = numpy.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 9, (7, 9)).astype(kind)
        delta = data.draw(st.sampled_from([0, 1, 2.5, 100]))
        # Enlarged to twice its size, the picture has an element for each pixel and for each pair of neighbours.
        links = numpy.zeros((13, 17), bool)
        links[::2, ::2] = image != 0
        wide = image.astype(float)
        for axis, target in ((0, links[1::2, ::2]), (1, links[::2, 1::2])):
            both = numpy.minimum(*(numpy.take(wide, range(k, image.shape[axis] - 1 + k), axis) for k in (0, 1))) != 0
            target[...] = (abs(numpy.diff(wide, axis=axis)) <= delta) & both
        want = ndimage.label(links)[0][::2, ::2]
        numpy.testing.assert_array_equal(gst_regions.label(image, connectivity=1, delta=delta), want)

    def test_label_delta_of_extreme_integers_is_exact(self):
        image = numpy.array([[-2**63, 2**63 - 1, 2**63 - 2, 0]])
        self.assertEqual(gst_regions.label(image, delta=1).tolist(), [[1, 2, 2, 0]])
        self.assertEqual(gst_regions.label(image, delta=2**64, background=5).tolist(), [[1] * 4])
        self.assertEqual(gst_regions.label(image, delta=2**64 - 2, background=5).tolist(), [[1, 2, 2, 2]])

    @given(st.data())
    def test_label_any_symmetric_structure_equals_scipy(self, data):
        ndimage = reference("scipy.ndimage")
        image = data.draw(pictures(kinds=("bool", "uint8", "int64", "float32", "float64"), least=1, most=4, values=4))
        choose = numpy.random.default_rng(data.draw(st.integers(0, 2**32)))
        if data.draw(st.booleans()):
            structure = ndimage.generate_binary_structure(image.ndim, data.draw(st.integers(1, image.ndim)))
        else:
            structure = choose.random((3,) * image.ndim) < data.draw(st.floats(0, 1))
            structure = numpy.logical_or(structure, numpy.flip(structure))
        given_structure = data.draw(st.sampled_from([structure, structure.astype(int), structure.tolist()]))
        want, count = ndimage.label(image != 0, structure)
        labels, num = gst_regions.label(view_of(data.draw, image != 0), structure=given_structure, return_num=True)
        self.assertEqual((labels.dtype, num), (numpy.int32, count))
        numpy.testing.assert_array_equal(labels, in_raster_order(want))
        # Equal values: each value is labelled by itself.
        found = gst_regions.label(view_of(data.draw, image), structure=given_structure)
        numpy.testing.assert_array_equal(found != 0, image != 0)
        for value in numpy.unique(image[image != 0]):
            part = numpy.unique(found[image == value], return_inverse=True)[1] + 1
            numpy.testing.assert_array_equal(part, in_raster_order(ndimage.label(image == value, structure)[0])[image == value])
        batch, layers = numpy.stack([image, image[::-1]]), [1, 2]
        for item, labels in zip(batch, gst_regions.label(batch, structure=given_structure, batch=True)):
            numpy.testing.assert_array_equal(labels, gst_regions.label(item, structure=given_structure))
        for level, labels in zip(layers, gst_regions.label(image, structure=given_structure, threshold=layers)):
            numpy.testing.assert_array_equal(labels, in_raster_order(ndimage.label(image >= level, structure)[0]))

    def test_label_unsuitable_structure_error_names_it(self):
        image = numpy.ones((4, 5), int)
        line = [[0, 0, 0], [1, 1, 1], [0, 0, 0]]
        for words, how in ((r"shape \(3, 3, 3\), must have \(3, 3\)", {"structure": numpy.ones((3, 3, 3))}),
                           (r"shape \(5, 5\)", {"structure": numpy.ones((5, 5))}),
                           ("not symmetric", {"structure": [[1, 0, 0], [0, 1, 0], [0, 0, 0]]}),
                           ("connectivity and structure cannot be combined", {"structure": line, "connectivity": 1}),
                           ("structure and delta can be combined only", {"structure": line, "delta": 1}),
                           ("structure and periodic can be combined only", {"structure": line, "periodic": True})):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                gst_regions.label(image, **how)
        with self.assertRaisesRegex(ValueError, "NaN"):
            gst_regions.label(numpy.full((2, 2), numpy.nan), structure=line)
        numpy.testing.assert_array_equal(gst_regions.label(image, structure=numpy.ones((3, 3)), delta=1), image)
        self.assertEqual(gst_regions.label(image, structure=line).max(), 4)
        self.assertEqual(gst_regions.label(image, structure=numpy.zeros((3, 3))).max(), 20)

    @given(st.data())
    def test_label_periodic_equals_labels_of_a_tiled_picture(self, data):
        shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
        image = numpy.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 3, shape).astype("int32")
        connectivity = data.draw(st.integers(1, image.ndim))
        labels, num = gst_regions.label(image, connectivity=connectivity, periodic=True, return_num=True)
        # Regions of the picture are equal if copies of it, side by side, connect them.
        tiled = gst_regions.label(numpy.tile(image, [3] * image.ndim), connectivity=connectivity)
        root = {}

        def find(label):
            while root.setdefault(label, label) != label:
                label = root[label]
            return label

        for copy in numpy.ndindex(*[3] * image.ndim):
            part = tiled[tuple(slice(k * side, (k + 1) * side) for k, side in zip(copy, image.shape))]
            for one, other in zip(part.ravel().tolist(), tiled[tuple(map(slice, image.shape))].ravel().tolist()):
                root[find(one)] = find(other)
        want = numpy.array([find(label) for label in tiled[tuple(map(slice, image.shape))].ravel().tolist()])
        want[image.ravel() == 0] = 0
        self.assertEqual(len(numpy.unique(want[want != 0])), num)
        order = dict.fromkeys(want[want != 0].tolist())
        numbers = {0: 0, **{label: k + 1 for k, label in enumerate(order)}}
        self.assertEqual(labels.ravel().tolist(), [numbers[label] for label in want.tolist()])

    def test_label_array_without_elements_has_no_regions(self):
        for shape in ((0,), (0, 4), (3, 0, 5)):
            labels, num = gst_regions.label(numpy.zeros(shape, int), return_num=True)
            self.assertEqual((labels.shape, labels.dtype, num), (shape, numpy.int32, 0))
        labels, num = gst_regions.label(numpy.zeros((0, 4), bool), threshold=[1, 2], return_num=True)
        self.assertEqual((labels.shape, num.tolist()), ((2, 0, 4), [0, 0]))
        labels, num = gst_regions.label(numpy.zeros((0, 4, 5), bool), batch=True, return_num=True)
        self.assertEqual((labels.shape, num.shape), ((0, 4, 5), (0,)))

    def test_label_axis_of_more_than_65535_elements_is_labelled(self):
        for shape in ((1, 70000), (70000, 1), (70000,), (2, 70000, 1)):
            image = numpy.zeros(shape, bool)
            image.reshape(-1)[[0, 1, 3, 69999]] = True
            labels, num = gst_regions.label(image, return_num=True)
            want = reference("scipy.ndimage").label(image, numpy.ones([3] * image.ndim))
            numpy.testing.assert_array_equal(labels, want[0])
            self.assertEqual(num, want[1])
            numpy.testing.assert_array_equal(gst_regions.label(image, threshold=1), labels)

    def test_label_many_distinct_values_of_each_type_are_separate(self):
        for kind in ("int32", "uint64", "float32", "float64"):
            image = numpy.arange(90 * 1000).reshape(90, 1000).astype(kind) + 1
            image[50:60, 100:200] = 7  # also at the beginning of the picture
            labels, num = gst_regions.label(image, return_num=True)
            self.assertEqual(num, 90 * 1000 - 999)
            self.assertEqual(len(numpy.unique(labels[50:60, 100:200])), 1)

    @given(st.data())
    def test_label_long_runs_of_several_values_equal_cc3d(self, data):
        cc3d = reference("cc3d")
        axes = data.draw(st.sampled_from([2, 3]))
        shape = data.draw(st.lists(st.integers(1, 5), min_size=axes, max_size=axes))
        kind = data.draw(st.sampled_from(["uint8", "uint16", "int32", "int64"]))
        blocks = numpy.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 4, shape).astype(kind)
        image = numpy.kron(blocks, numpy.ones((3,) * (axes - 1) + (40,), kind))
        connectivity = data.draw(st.integers(1, axes))
        named = {2: (4, 8), 3: (6, 18, 26)}[axes][connectivity - 1]
        want, count = cc3d.connected_components(image, connectivity=named, return_N=True)
        labels, num = gst_regions.label(image, connectivity=connectivity, return_num=True, threads=1)
        self.assertEqual(num, count)
        pairs = numpy.unique(numpy.stack([labels.ravel(), want.ravel().astype(numpy.int64)]), axis=1)
        self.assertEqual(pairs.shape[1], len(numpy.unique(labels)))
        numpy.testing.assert_array_equal(labels == 0, want == 0)
        numpy.testing.assert_array_equal(gst_regions.label(image, connectivity=connectivity, threads=2), labels)
        first = numpy.unique(labels, return_index=True)[1]  # labels are in raster order
        self.assertEqual(sorted(first[1:] if not labels.all() else first), (first[1:] if not labels.all() else first).tolist())

    def test_label_smooth_values_of_several_axes_equal_scipy_for_each_value(self):
        ndimage = reference("scipy.ndimage")
        for seed in range(60):
            choose = numpy.random.default_rng(seed)
            axes = 3 + seed % 2
            shape = (*choose.integers(1, 14 - 2 * axes, axes - 1), choose.integers(1, 90))
            smooth = ndimage.gaussian_filter(choose.normal(size=shape), (*choose.uniform(0, 2, axes - 1), 4))
            image = numpy.digitize(smooth, numpy.quantile(smooth, [0.25, 0.5, 0.75])).astype("float32" if seed % 3 else "uint8")
            with self.subTest(seed=seed):
                labels, count = gst_regions.label(image, connectivity=axes, return_num=True)
                numpy.testing.assert_array_equal(labels == 0, image == 0)
                for value in (1, 2, 3):
                    want, found = ndimage.label(image == value, numpy.ones((3,) * axes))
                    count -= found
                    pairs = numpy.unique(numpy.stack([labels[want > 0], want[want > 0]]), axis=1)
                    self.assertEqual([len(numpy.unique(side)) for side in pairs], [found, found])
                    self.assertEqual(pairs.shape[1], found)
                self.assertEqual(count, 0)

    def test_label_of_small_masks_equals_the_labels_of_other_types(self):
        choose = numpy.random.default_rng(31)
        sides = (1, 2, 7, 8, 9, 16, 31, 33, 47, 48, 49, 63, 64, 65)
        for height in sides:
            for width in sides:
                mask = choose.random((height, width)) < choose.choice([0.0, 0.2, 0.5, 0.8, 1.0])
                value = int(choose.choice([1, 2, 127, 128, 255]))
                for connectivity in (1, 2):
                    want, count = gst_regions.label(mask * 1000, connectivity=connectivity, return_num=True)
                    for image in (mask, mask.astype(numpy.uint8) * numpy.uint8(value), mask.view(numpy.int8)):
                        for array in (image, numpy.asfortranarray(image), image[::-1].copy()[::-1]):
                            labels, num = gst_regions.label(array, connectivity=connectivity, return_num=True)
                            self.assertEqual((labels.dtype, num), (numpy.int32, count))
                            numpy.testing.assert_array_equal(labels, want)
                two_values = mask.astype(numpy.uint8) * choose.integers(1, 3, mask.shape, numpy.uint8)
                for array in (two_values, numpy.asfortranarray(two_values)):
                    numpy.testing.assert_array_equal(gst_regions.label(array), gst_regions.label(two_values.astype(int)))

    def test_table_of_a_small_mask_equals_the_table_of_a_larger_mask(self):
        """A mask of up to 64x64 elements is measured together with its labels."""
        random = numpy.random.default_rng(64)
        for shape in [(1, 1), (64, 64), (64, 1), (5, 64), *random.integers(1, 65, (60, 2)).tolist()]:
            for kind, value in (("bool", True), ("uint8", 200), ("int8", -3)):
                mask = numpy.where(random.random(shape) < random.random(), value, 0).astype(kind)
                larger = numpy.zeros((shape[0], 70), kind)
                larger[:, :shape[1]] = mask
                for connectivity in (1, 2):
                    want = gst_regions.label(larger, connectivity=connectivity, return_table=True)[1]
                    for view in (mask, numpy.asfortranarray(mask)):
                        num, table = gst_regions.label(view, connectivity=connectivity, return_num=True, return_table=True)[1:]
                        self.assertEqual((num, table.dtype, table.tobytes()), (len(want), want.dtype, want.tobytes()))
                        self.assertTrue(table.flags.writeable)
        image = numpy.arange(64 * 64, dtype=numpy.float32).reshape(64, 64)
        labels, table = gst_regions.label(numpy.eye(64, dtype=bool), return_table=True, intensity_image=image)
        self.assertEqual(table["intensity_mean"].tolist(), [image[labels == 1].mean()])

    def test_label_of_large_arrays_in_fortran_order_equals_c_order(self):
        choose = numpy.random.default_rng(37)
        for shape in ((300, 400), (1, 70000), (65, 130, 70), (3, 4, 5, 600)):
            noise = choose.random(shape) < 0.3
            blocks = numpy.zeros(shape, bool)
            blocks[..., 20:200] = choose.random((*shape[:-1], 1)) < 0.5
            for image in (noise, blocks, noise.astype("f4"), blocks * choose.integers(1, 4, (*shape[:-1], 1))):
                numpy.testing.assert_array_equal(gst_regions.label(numpy.asfortranarray(image)), gst_regions.label(image))

    def test_label_values_of_any_range_equal_scikit_image(self):
        measure = reference("skimage.measure")
        choose = numpy.random.default_rng(41)
        for kind in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
            for values in ([0, 1, 2], [0, 255], [0, 256], [1, 128, 255], [5, 260], [6, 262], [-1, 255], [-128, 127],
                           [-129, 0], [-3, -2], [0, 2**31 - 1], [0.5, 1], [0.0, -0.0, 1]):
                if (min(values) < 0 and kind[0] == "u") or (0.5 in values and kind[0] != "f"):
                    continue
                image = numpy.array(values, kind)[choose.integers(0, len(values), (40, 50))]
                for background in (None, 0, 5, -1, 1, 128):
                    whole = numpy.unique(image, return_inverse=True)[1].reshape(image.shape) + 1
                    whole[image == (background or 0)] = 0
                    for array in (image, image[None]):
                        labels = gst_regions.label(array, background=background, connectivity=2)
                        numpy.testing.assert_array_equal(labels.reshape(image.shape), measure.label(whole, connectivity=2))

    def test_label_largest_regions_are_kept_in_raster_order(self):
        image = numpy.array([[1, 0, 2, 2, 0, 3], [0, 0, 0, 0, 0, 3], [4, 4, 4, 0, 0, 0]])
        labels, num, table = gst_regions.label(image, largest_k=2, return_num=True, return_table=True)
        self.assertEqual((num, table["area"].tolist()), (2, [2, 3]))
        self.assertEqual(labels.tolist(), [[0, 0, 1, 1, 0, 0], [0] * 6, [2, 2, 2, 0, 0, 0]])
        numpy.testing.assert_array_equal(gst_regions.label(image, largest_k=9), gst_regions.label(image))

    def test_label_areas_are_the_sizes_of_the_regions(self):
        image = numpy.random.default_rng(4).random((3, 40, 50)) < 0.5
        labels, areas = gst_regions.label(image, batch=True, return_areas=True)
        self.assertEqual((areas.shape, areas.dtype), (image.shape, numpy.int32))
        for item, area in zip(labels, areas):
            want = numpy.bincount(item.ravel())
            want[0] = 0
            numpy.testing.assert_array_equal(area, want[item])
        masks = image[:, None]  # like the masks of SAM 2, of shape (N, 1, H, W)
        labels, areas = gst_regions.label(masks, batch=True, return_areas=True)
        self.assertEqual(areas.shape, masks.shape)


class Thresholds(unittest.TestCase):
    @given(st.data())
    def test_label_with_any_threshold_equals_scipy(self, data):
        ndimage = reference("scipy.ndimage")
        image = data.draw(pictures())
        threshold = data.draw(st.sampled_from([float(image.flat[0]), 0.0, 0.5, 1.5, -1e300, 2.0**64]))
        level = image.dtype.type(threshold) if image.dtype.kind == "f" else threshold
        # As Python compares: NumPy rounds 2**63 - 1 to 2**63 first.
        foreground = numpy.array([value >= level for value in image.ravel().tolist()]).reshape(image.shape)
        want, count = ndimage.label(foreground, ndimage.generate_binary_structure(image.ndim, image.ndim))
        labels, num = gst_regions.label(view_of(data.draw, image), threshold=threshold, return_num=True)
        self.assertEqual(num, count)
        numpy.testing.assert_array_equal(labels, want)

    @given(st.data())
    def test_label_with_several_thresholds_equals_calls_with_one_threshold(self, data):
        image = data.draw(pictures(kinds=("uint8", "int16", "float32", "float64"), values=6))
        thresholds = data.draw(st.lists(st.sampled_from([*map(float, numpy.unique(image)), 0.5]), min_size=1,
                                        max_size=5))
        labels, nums = gst_regions.label(image, threshold=thresholds, return_num=True)
        self.assertEqual(labels.shape, (len(thresholds), *image.shape))
        for layer, threshold, num in zip(labels, thresholds, nums):
            want, count = gst_regions.label(image, threshold=threshold, return_num=True)
            self.assertEqual(num, count)
            numpy.testing.assert_array_equal(layer, want)

    def test_threshold_of_large_integers_is_exact(self):
        image = numpy.array([[2**53, 0, 2**53 + 1, 0, 2**63 - 2, 0, 2**63 - 1]])
        for threshold, want in ((2**53 + 1, [0, 0, 1, 0, 2, 0, 3]), (2**63 - 1, [0, 0, 0, 0, 0, 0, 1]),
                                (numpy.int64(2**63 - 2), [0, 0, 0, 0, 1, 0, 2]), (2**63, [0] * 7),
                                (10**400, [0] * 7), (-10**400, [1] * 7)):
            self.assertEqual(gst_regions.label(image, threshold=threshold).tolist(), [want], threshold)
            for kind in (list, numpy.array):
                self.assertEqual(gst_regions.label(image, threshold=kind([threshold])).tolist(), [[want]], threshold)

    def test_threshold_array_without_axes_is_a_number(self):
        image = numpy.array([[1, 5, 9]])
        for threshold in (numpy.array(5), numpy.float32(5), numpy.array(5.0)):
            labels, num = gst_regions.label(image, threshold=threshold, return_num=True)
            self.assertEqual((labels.tolist(), num), ([[0, 1, 1]], 1))

    def test_threshold_nan_pixels_are_background(self):
        image = numpy.array([[numpy.nan, 1, numpy.nan, 2]], numpy.float32)
        numpy.testing.assert_array_equal(gst_regions.label(image, threshold=-numpy.inf), [[0, 1, 0, 2]])


class Batches(unittest.TestCase):
    @given(st.data())
    def test_label_of_a_batch_equals_calls_with_single_images(self, data):
        image = data.draw(pictures(least=3, most=4))
        if image.ndim == 2:
            image = image[:, None]
        threshold = data.draw(st.sampled_from([None, 1, [1, 2]]))
        labels, nums = gst_regions.label(image, threshold=threshold, batch=True, return_num=True)
        for one, found, num in zip(image, labels, nums):
            want, count = gst_regions.label(one, threshold=threshold, return_num=True)
            numpy.testing.assert_array_equal(found, want)
            numpy.testing.assert_array_equal(num, count)


class Small(unittest.TestCase):
    @given(st.data())
    def test_remove_small_objects_and_holes_equal_scikit_image(self, data):
        morphology = reference("skimage.morphology")
        image = data.draw(pictures(kinds=("bool",)))
        connectivity = data.draw(st.integers(1, image.ndim))
        size = data.draw(st.integers(0, 20))
        for ours, theirs in ((gst_regions.remove_small_objects, morphology.remove_small_objects),
                             (gst_regions.remove_small_holes, morphology.remove_small_holes)):
            want = theirs(image, max_size=size, connectivity=connectivity)
            found = ours(view_of(data.draw, image), size, connectivity)
            self.assertEqual(found.dtype, bool)
            numpy.testing.assert_array_equal(found.view(numpy.uint8), want.view(numpy.uint8))


    @given(st.data())
    def test_remove_small_labels_equals_scikit_image(self, data):
        morphology = reference("skimage.morphology")
        kind = data.draw(st.sampled_from(["uint8", "int16", "uint32", "int64", "uint64"]))
        shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
        image = numpy.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 5, shape).astype(kind)
        size = data.draw(st.integers(0, 9))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = morphology.remove_small_objects(image.astype("int64"), max_size=size)
            found = gst_regions.remove_small_objects(view_of(data.draw, image), size)
            holes = morphology.remove_small_holes(image.astype("int64"), max_size=size)
            self.assertEqual((found.dtype, holes.dtype), (image.dtype, bool))
            numpy.testing.assert_array_equal(found, want)
            numpy.testing.assert_array_equal(gst_regions.remove_small_holes(image, size), holes)
            image[image == 4] = numpy.iinfo(kind).max
            large = gst_regions.remove_small_objects(image, size)
        self.assertEqual(set(large[large != image].tolist()) - {0}, set())

    @given(st.data())
    def test_masks_functions_write_into_their_input(self, data):
        image = data.draw(pictures(kinds=("bool",), least=1, most=4))
        for function in (gst_regions.remove_small_objects, gst_regions.remove_small_holes):
            want = function(image, 3)
            same = image.copy()
            self.assertIs(function(same, 3, out=same), same)
            numpy.testing.assert_array_equal(same, want)
        want = gst_regions.fill_holes(image)
        same = image.copy()
        self.assertIs(gst_regions.fill_holes(same, out=same), same)
        numpy.testing.assert_array_equal(same, want)

    def test_remove_small_objects_invalid_labels_are_refused(self):
        with self.assertRaisesRegex(ValueError, "the negative label -3"):
            gst_regions.remove_small_objects(numpy.array([[1, -3]]))
        with self.assertWarnsRegex(UserWarning, "use a boolean array"):
            gst_regions.remove_small_objects(numpy.array([[1, 0]]))
        for name, function in (("min_size", gst_regions.remove_small_objects),
                               ("area_threshold", gst_regions.remove_small_holes)):
            with self.assertWarnsRegex(FutureWarning, f"`{name}` is deprecated"):
                numpy.testing.assert_array_equal(function(MASK, **{name: 4}), function(MASK, 3))
            with self.assertWarns(FutureWarning), self.assertRaisesRegex(ValueError, "avoid conflicting values"):
                function(MASK, 3, **{name: 4})

    @given(st.data())
    def test_dust_equals_cc3d(self, data):
        cc3d = reference("cc3d")
        image = data.draw(pictures(kinds=("uint8", "uint16"), least=3))
        threshold = data.draw(st.sampled_from([1, 3, 8, (2, 6), [0, 3]]))
        invert = data.draw(st.booleans())
        connectivity = data.draw(st.sampled_from([1, 3]))
        if image.ndim == 2:
            image = image[None]
        want = cc3d.dust(numpy.ascontiguousarray(image), threshold, connectivity={1: 6, 3: 26}[connectivity],
                         invert=invert)
        numpy.testing.assert_array_equal(gst_regions.dust(image, threshold, connectivity, invert=invert), want)
        same = image.copy()
        self.assertIs(gst_regions.dust(same, threshold, connectivity, invert=invert, in_place=True), same)
        numpy.testing.assert_array_equal(same, want)

    def test_dust_invalid_argument_error_names_it(self):
        with self.assertRaisesRegex(ValueError, "threshold has 3 numbers"):
            gst_regions.dust(MASK, (1, 2, 3))
        with self.assertRaisesRegex(ValueError, "img is read-only"):
            gst_regions.dust(MASK.tolist(), 3, in_place=True)


MASK = numpy.random.default_rng(6).random((20, 30)) < 0.5
WHOLE = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
PICTURE = numpy.array([[1, 2, 9], [3, 9, 2], [9, 9, 9]], numpy.uint8)


def seeds(draw, image):
    return tuple(draw(st.integers(-side, side - 1)) for side in image.shape)


class Floods(unittest.TestCase):
    @given(st.data())
    def test_flood_from_any_seed_equals_scikit_image(self, data):
        morphology = reference("skimage.morphology")
        image = data.draw(pictures(kinds=(*WHOLE, "float32", "float64"), values=5))
        if image.dtype.kind == "f":
            image = numpy.nan_to_num(image, posinf=7, neginf=-7)
        seed = seeds(data.draw, image)
        connectivity = data.draw(st.sampled_from([None, *range(1, image.ndim + 1)]))
        tolerance = data.draw(st.sampled_from([None, 0, 1, 2, -1, 10**6]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = morphology.flood(image, seed, connectivity=connectivity, tolerance=tolerance)
        found = gst_regions.flood(view_of(data.draw, image), seed, connectivity=connectivity, tolerance=tolerance)
        self.assertEqual(found.dtype, bool)
        numpy.testing.assert_array_equal(found, want)

    @given(st.data())
    def test_flood_fill_from_any_seed_equals_scikit_image(self, data):
        morphology = reference("skimage.morphology")
        image = data.draw(pictures(kinds=("uint8", "int32", "float32")))
        seed = seeds(data.draw, image)
        tolerance = data.draw(st.sampled_from([None, 1]))
        want = morphology.flood_fill(image, seed, 77, tolerance=tolerance)
        seen = view_of(data.draw, image)
        numpy.testing.assert_array_equal(gst_regions.flood_fill(seen, seed, 77, tolerance=tolerance), want)
        numpy.testing.assert_array_equal(seen, image)
        self.assertIs(gst_regions.flood_fill(seen, seed, 77, tolerance=tolerance, in_place=True), seen)
        numpy.testing.assert_array_equal(seen, want)

    def test_flood_with_a_tolerance_on_large_integers_is_exact(self):
        great = numpy.array([[2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1]], numpy.int64)
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=1).tolist(), [[True, True, False, False]])
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=1.9).tolist(), [[True, True, False, False]])
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=float("inf")).tolist(), [[True] * 4])
        self.assertEqual(gst_regions.flood(PICTURE, (0, 0), tolerance=2).tolist(),
                         [[True, True, False], [True, False, True], [False] * 3])

    def test_flood_from_an_infinite_value_equals_scikit_image(self):
        morphology = reference("skimage.morphology")
        infinite = numpy.inf
        image = numpy.array([[infinite, infinite, 1], [-infinite, 3, infinite]], numpy.float32)
        for kind in ("float32", "float64"):
            for seed in ((0, 0), (1, 0), (0, 2)):
                for tolerance in (None, 0, 1, 1e30):
                    want = morphology.flood(image.astype(kind), seed, tolerance=tolerance)
                    found = gst_regions.flood(image.astype(kind), seed, tolerance=tolerance)
                    numpy.testing.assert_array_equal(found, want, f"{kind} {seed} {tolerance}")

    def test_flood_huge_tolerance_warns_of_nothing(self):
        for kind in ("float32", "float64", "int8", "uint64", "bool"):
            image = numpy.ones((3, 4), kind)
            for tolerance in (1e39, 1e308, float("inf"), 2**80):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    self.assertTrue(gst_regions.flood(image, (1, 1), tolerance=tolerance).all())
                    gst_regions.flood_fill(image, (1, 1), 1, tolerance=tolerance)

    @given(st.data())
    def test_flood_any_number_of_axes_and_footprint_equals_scikit_image(self, data):
        morphology = reference("skimage.morphology")
        axes = data.draw(st.integers(1, 4))
        shape = data.draw(st.lists(st.integers(1, 5), min_size=axes, max_size=axes))
        image = numpy.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 2, shape)
        image = numpy.asarray(image, order=data.draw(st.sampled_from("CF")))
        seed = seeds(data.draw, image)
        how = {"connectivity": data.draw(st.integers(1, axes))}
        if data.draw(st.booleans()):
            size = data.draw(st.sampled_from([3, 5]))
            how = {"footprint": numpy.random.default_rng(data.draw(st.integers(0, 9))).random([size] * axes) < 0.5}
            how["footprint"].flat[0] = True
        want = morphology.flood(image, seed, **how)
        numpy.testing.assert_array_equal(gst_regions.flood(view_of(data.draw, image), seed, **how), want)

    def test_flood_of_one_axis_accepts_an_int(self):
        line = numpy.arange(11)
        self.assertEqual(numpy.flatnonzero(gst_regions.flood(line, 5, tolerance=3)).tolist(), [*range(2, 9)])
        self.assertEqual(gst_regions.flood(numpy.empty((0, 3)), ()).shape, (0, 3))

    def test_flood_fill_in_place_of_a_list_returns_the_filled_array(self):
        filled = gst_regions.flood_fill([[1, 1, 2]], (0, 0), 7, in_place=True)
        self.assertEqual(filled.tolist(), [[7, 7, 2]])

    def test_flood_fill_value_beyond_the_type_is_refused(self):
        image = numpy.zeros((2, 2), numpy.float32)
        for value in (1e300, -1e39, 10**400, numpy.float64(1e39)):
            with self.assertRaisesRegex(ValueError, "must fit in elements of type float32"):
                gst_regions.flood_fill(image, (0, 0), value)
        for value in (float("inf"), 3e38, numpy.float32(-numpy.inf)):
            self.assertTrue((gst_regions.flood_fill(image, (0, 0), value) == numpy.float32(value)).all())
        self.assertTrue((gst_regions.flood_fill(PICTURE, (0, 0), 4.0)[0, 0] == 4).all())

    def test_flood_invalid_argument_error_names_it(self):
        for error, words, arguments, named in (
                (ValueError, r"seed_point is \(3, 0\)", (PICTURE, (3, 0)), {}),
                (ValueError, "must be a point inside the image of shape", (PICTURE, (0, 0, 0)), {}),
                (ValueError, "must be a point inside", (PICTURE, (0, -4)), {}),
                (TypeError, "seed_point is 0.5, must be an int", (PICTURE, (0.5, 0)), {}),
                (TypeError, "seed_point is 3, must be a sequence of 2 ints", (PICTURE, 3), {}),
                (ValueError, "tolerance is NaN", (PICTURE, (0, 0)), {"tolerance": float("nan")}),
                (ValueError, r"image is NaN at seed_point \(0, 0\)", (PICTURE * numpy.nan, (0, 0)), {}),
                (ValueError, "connectivity is 3", (PICTURE, (0, 0)), {"connectivity": 3}),
                (ValueError, "footprint has 1 axes, must have 2", (PICTURE, (0, 0)), {"footprint": [1, 1]}),
                (ValueError, "image has 0 axes", (PICTURE[0, 0], ()), {}),
                (TypeError, "float16", (PICTURE.astype(numpy.float16), (0, 0)), {})):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                gst_regions.flood(*arguments, **named)
        with self.assertRaisesRegex(ValueError, "new_value is 256, must be 0 to 255 for elements of type uint8"):
            gst_regions.flood_fill(PICTURE, (0, 0), 256)
        with self.assertRaisesRegex(TypeError, "float"):
            gst_regions.flood_fill(PICTURE, (0, 0), 0.5)
        fixed = PICTURE.copy()
        fixed.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read-only"):
            gst_regions.flood_fill(fixed, (0, 0), 5, in_place=True)


class Holes(unittest.TestCase):
    @given(st.data())
    def test_fill_holes_of_a_random_mask_equals_scipy(self, data):
        ndimage = reference("scipy.ndimage")
        image = data.draw(pictures(kinds=("bool",)))
        if data.draw(st.booleans()):  # with equal shares, few background pixels are enclosed
            image |= numpy.random.default_rng(data.draw(st.integers(0, 99))).random(image.shape) < 0.6
        connectivity = data.draw(st.integers(1, image.ndim))
        want = ndimage.binary_fill_holes(image, ndimage.generate_binary_structure(image.ndim, connectivity))
        found = gst_regions.fill_holes(view_of(data.draw, image), connectivity,
                                       threads=data.draw(st.sampled_from([0, 1, 2])))
        self.assertEqual(found.dtype, bool)
        numpy.testing.assert_array_equal(found.view(numpy.uint8), want.view(numpy.uint8))

    @given(st.data())
    def test_fill_holes_any_type_and_number_of_axes_equals_scipy(self, data):
        ndimage = reference("scipy.ndimage")
        axes = data.draw(st.integers(1, 4))
        shape = data.draw(st.lists(st.integers(0, 5), min_size=axes, max_size=axes))
        image = numpy.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 4, shape)
        image = image.astype(data.draw(st.sampled_from(["uint8", "int64", "float32", "bool"])))
        connectivity = data.draw(st.integers(1, axes))
        want = ndimage.binary_fill_holes(image, ndimage.generate_binary_structure(axes, connectivity))
        numpy.testing.assert_array_equal(gst_regions.fill_holes(image, connectivity), want)

    def test_fill_holes_hollow_volume_is_filled(self):
        hollow = numpy.ones((5, 6, 7), bool)
        hollow[1:-1, 1:-1, 1:-1] = False
        self.assertTrue(gst_regions.fill_holes(hollow).all())
        hollow[0, 2, 3] = False
        numpy.testing.assert_array_equal(gst_regions.fill_holes(hollow), hollow)

    def test_fill_holes_invalid_argument_error_names_it(self):
        with self.assertRaisesRegex(TypeError, "ar has elements of type complex128"):
            gst_regions.fill_holes(PICTURE * 1j)
        mask = PICTURE > 2
        with self.assertRaisesRegex(ValueError, "connectivity is 3"):
            gst_regions.fill_holes(mask, 3)
        out = numpy.zeros_like(mask)
        self.assertIs(gst_regions.fill_holes(mask, out=out), out)
        numpy.testing.assert_array_equal(out, gst_regions.fill_holes(mask))


PROPERTIES = ("label", "area", "bbox", "centroid", "intensity_mean")


def expect_equal(case, table, want):
    case.assertEqual(set(table.dtype.names), {name.replace("-", "_") for name in want})
    for name, column in want.items():
        if name.startswith("intensity"):
            scale = numpy.abs(column).max(initial=0)
            numpy.testing.assert_allclose(table[name], column, rtol=1e-12, atol=1e-12 * scale, err_msg=name)
        elif name.startswith("centroid"):
            numpy.testing.assert_allclose(table[name], column, rtol=1e-12, err_msg=name)
        else:
            numpy.testing.assert_array_equal(table[name], column, name)


class Tables(unittest.TestCase):
    @given(st.data())
    def test_regionprops_table_equals_scikit_image(self, data):
        measure = reference("skimage.measure")
        labels = data.draw(pictures(kinds=("uint8", "int32", "uint64"), values=5))
        labels = numpy.minimum(labels, 50).astype(labels.dtype) if data.draw(st.booleans()) else labels
        labels = numpy.clip(labels, 0, 2**31 - 1).astype(labels.dtype)
        kind = data.draw(st.sampled_from(["uint8", "int16", "float64"]))
        choose = numpy.random.default_rng(data.draw(st.integers(0, 99)))
        channels = data.draw(st.sampled_from([(), (3,)]))
        intensity = choose.integers(0, 100, labels.shape + channels).astype(kind)
        compacted = labels
        if labels.max(initial=0) > 10**6:  # scikit-image makes a list as long as the greatest label
            values, compacted = numpy.unique(labels, return_inverse=True)
            compacted = compacted.reshape(labels.shape) + int(values[0] != 0)
        want = measure.regionprops_table(compacted.astype(numpy.int64), intensity, PROPERTIES)
        want["label"] = numpy.unique(labels[labels != 0])
        expect_equal(self, gst_regions.regionprops_table(view_of(data.draw, labels), view_of(data.draw, intensity)), want)

    @given(st.data())
    def test_label_table_areas_boxes_and_means_equal_those_of_the_labels(self, data):
        image = data.draw(pictures(kinds=("bool", "uint8", "float32")))
        image = numpy.clip(image, -1e6, 1e6).astype(image.dtype)  # or sums of squares in the reference overflow
        threshold = data.draw(st.sampled_from([None, 1.0]))
        labels, num, table = gst_regions.label(image, threshold=threshold, return_num=True, return_table=True)
        numpy.testing.assert_array_equal(table["label"], numpy.arange(1, num + 1))
        for row in table:
            inside = labels == row["label"]
            places = numpy.nonzero(inside)
            self.assertEqual(row["area"], inside.sum())
            self.assertAlmostEqual(row["intensity_mean"], image[inside].astype(numpy.float64).mean(), delta=1e-6)
            for axis, place in enumerate(places):
                self.assertEqual(row[f"bbox-{axis}"], place.min())
                self.assertEqual(row[f"bbox-{axis + image.ndim}"], place.max() + 1)
                self.assertAlmostEqual(row[f"centroid-{axis}"], place.mean())

    def test_label_table_with_an_intensity_image_has_its_means(self):
        mask = numpy.array([[1, 1, 0, 1]], bool)
        _, table = gst_regions.label(mask, return_table=True, intensity_image=numpy.array([[2, 4, 9, 5]]))
        numpy.testing.assert_array_equal(table["intensity_mean"], [3, 5])

    def test_regionprops_table_of_large_labels_keeps_them(self):
        labels = numpy.array([[2**62, 7], [7, 2**40]])
        table = gst_regions.regionprops_table(labels, numpy.array([[1, 2], [4, 8]]))
        numpy.testing.assert_array_equal(table["label"], [7, 2**40, 2**62])
        numpy.testing.assert_array_equal(table["area"], [2, 1, 1])
        numpy.testing.assert_array_equal(table["intensity_mean"], [3, 8, 1])

    def test_regionprops_table_labels_beyond_int64_are_kept(self):
        labels = numpy.array([[2**63, 0, 2**64 - 1, 5]], numpy.uint64)
        self.assertEqual(gst_regions.regionprops_table(labels)["label"].tolist(), [5, 2**63, 2**64 - 1])
        self.assertEqual(gst_regions.regionprops_table(labels, properties=["label"])["label"].tolist(),
                         [5, 2**63, 2**64 - 1])
        self.assertEqual(gst_regions.regionprops_table(labels % 2**63)["label"].dtype, numpy.int64)

    def test_regionprops_table_columns_have_two_names(self):
        table = gst_regions.regionprops_table(numpy.array([[0, 3, 3]]), numpy.ones((1, 3, 2)))
        for name in ("bbox_3", "centroid_1", "intensity_mean_1"):
            self.assertTrue(name.isidentifier() and name in table.dtype.names)
            old = "-".join(name.rsplit("_", 1))
            numpy.testing.assert_array_equal(table[old], table[name])
            self.assertEqual(table[0][old], table[0][name])

    @given(st.data())
    def test_regionprops_table_each_property_equals_scikit_image(self, data):
        measure = reference("skimage.measure")
        ndimage = reference("scipy.ndimage")
        types = reference("skimage.measure._regionprops").COL_DTYPES
        choose = numpy.random.default_rng(data.draw(st.integers(0, 10**6)))
        shape = data.draw(st.sampled_from([(17, 23), (1, 9), (30, 8), (6, 9, 7)]))
        # In a volume, the hull of a flat region is undefined, so the regions are large.
        sigma = data.draw(st.sampled_from([0, 1, 2])) if len(shape) == 2 else 2
        field = ndimage.gaussian_filter(choose.random(shape), sigma)
        labels = gst_regions.label(field > numpy.median(field), connectivity=data.draw(st.integers(1, 2)))
        if data.draw(st.booleans()):
            labels[labels == 1] = labels.max() + 3  # a missing label
        channels = data.draw(st.sampled_from([(), (2,)]))
        intensity = choose.random(shape + channels)
        spacing = data.draw(st.sampled_from([None, (2,) * len(shape)]))
        for name, kind in types.items():
            how = {"properties": (name,), "spacing": spacing}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    want = measure.regionprops_table(labels, intensity, **how)
            except (NotImplementedError, AttributeError, ValueError):
                continue
            except Exception as error:  # the hull of a flat region
                self.assertEqual(type(error).__name__, "QhullError")
                continue
            found = gst_regions.regionprops_table(labels, intensity, **how)
            self.assertEqual(list(found), list(want), name)
            for column, values in want.items():
                self.assertEqual(found[column].dtype, values.dtype, column)
                if kind is object:
                    for one, other in zip(found[column], values):
                        numpy.testing.assert_array_equal(one, other, column)
                elif kind is int:
                    numpy.testing.assert_array_equal(found[column], values, column)
                elif name == "orientation":  # for regions as wide as high, rounding errors determine the angle
                    round_shapes = numpy.isclose(gst_regions.regionprops_table(
                        labels, properties=["eccentricity"])["eccentricity"], 0, atol=1e-5)
                    numpy.testing.assert_allclose(found[column][~round_shapes], values[~round_shapes], atol=1e-9)
                else:
                    scale = max(1, numpy.abs(numpy.nan_to_num(values)).max(initial=0))
                    limit = 2e-8 if name == "eccentricity" else 1e-9 * scale  # the root of a rounding error
                    numpy.testing.assert_allclose(found[column], values, rtol=1e-9, atol=limit, err_msg=column)

    def test_regionprops_table_old_names_separator_and_functions_are_accepted(self):
        measure = reference("skimage.measure")
        labels = gst_regions.label(numpy.random.default_rng(3).random((20, 30)) < 0.4)
        intensity = numpy.random.default_rng(4).random(labels.shape)

        def median(mask, values):
            return numpy.median(values[mask])

        def corner(mask):
            return numpy.array(mask.shape)

        def listed(mask):
            return [1] * int(mask.sum())

        how = {"properties": ("label", "bbox_area", "major_axis_length", "centroid"), "separator": "+",
               "extra_properties": (median, corner, listed)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = measure.regionprops_table(labels, intensity, **how)
        found = gst_regions.regionprops_table(labels, intensity, **how)
        self.assertEqual(list(found), list(want))
        for name, values in want.items():
            if name == "listed":
                self.assertEqual(found[name].tolist(), values.tolist())
            else:
                numpy.testing.assert_allclose(found[name], values, err_msg=name)

    def test_regionprops_table_without_regions_has_all_columns(self):
        found = gst_regions.regionprops_table(numpy.zeros((3, 4), int), properties=("label", "area", "bbox", "solidity"))
        self.assertEqual({name: len(values) for name, values in found.items()},
                         dict.fromkeys(("label", "area", "bbox-0", "bbox-1", "bbox-2", "bbox-3", "solidity"), 0))

    def test_regionprops_table_unknown_property_error_names_it(self):
        labels = numpy.eye(3, dtype=int)
        for words, how in (("property 'length' does not exist", {"properties": ["length"]}),
                           ("intensity_mean requires intensity_image", {"properties": ["intensity_mean"]}),
                           ("a weighted property requires intensity_image", {"properties": ["moments_weighted"]}),
                           ("property 'image_intensity' requires", {"properties": ["image_intensity"]}),
                           (r"perimeter requires spacing 1 along both axes, not \[1.0, 2.0\]",
                            {"properties": ["perimeter"], "spacing": (1, 2)})):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                gst_regions.regionprops_table(labels, **how)
        with self.assertRaisesRegex(ValueError, "orientation is defined for pictures"):
            gst_regions.regionprops_table(labels[None], properties=["orientation"])

    def test_regionprops_table_without_regions_is_empty(self):
        table = gst_regions.regionprops_table(numpy.zeros((3, 4), numpy.int32), numpy.ones((3, 4)))
        self.assertEqual((len(table), table.dtype.names[:2]), (0, ("label", "area")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
