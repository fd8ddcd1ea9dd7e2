#!/usr/bin/env python3
"""The tests and examples of other libraries, run with this package's functions.

SciPy's package contains its tests. scikit-image's package contains examples in its docstrings; its tests run if its source
is in out/scikit-image. Each refusal by design is listed here with its reason.
"""

import contextlib
import doctest
import importlib
import inspect
import pathlib
import unittest
import warnings
from unittest import mock

import gst_regions
import numpy
from references import reference


def scipy_label(input, structure=None, output=None):
    """scipy.ndimage.label(), by gst_regions.label()."""
    values = numpy.asarray(input)
    connectivity = 1 if structure is None and values.ndim else None
    labels, count = gst_regions.label(values != 0, connectivity=connectivity, structure=structure, return_num=True)
    if output is None:
        return labels, count
    if isinstance(output, numpy.ndarray):
        if output.shape != labels.shape:
            raise ValueError("output has another shape than input")
        output[...] = labels
        return count
    return labels.astype(output), count


def scipy_fill_holes(input, structure=None, output=None, origin=0):
    """scipy.ndimage.binary_fill_holes(), by gst_regions.fill_holes()."""
    if numpy.any(origin):
        raise NotImplementedError("origin")
    values = numpy.asarray(input)
    return gst_regions.fill_holes(values, connectivity_of(structure, values.ndim) or 1, out=output)


def connectivity_of(structure, axes):
    """The connectivity of a structure. Raises NotImplementedError if the structure has none."""
    ndimage = reference("scipy.ndimage")
    if structure is None:
        return 1 if axes else None
    for connectivity in range(1, axes + 1):
        if numpy.array_equal(numpy.asarray(structure) != 0, ndimage.generate_binary_structure(axes, connectivity)):
            return connectivity
    raise NotImplementedError("structure")


# Names of SciPy's tests that are refused by design, with the reason.
SCIPY_REFUSED = {}
# Names of scikit-image's tests that differ by design, with the reason. docs/python.md lists them, too.
SCIKIT_IMAGE_REFUSED = {
    "test_gray2d_default_channel_axis": "a picture with two axes does not require channel_axis=None",
    "test_slic_consistency_across_image_magnitude": "uint8 pictures are processed by a faster algorithm",
    "test_remove_small_objects_deprecated_min_size": "the second argument is max_size, not the deprecated min_size",
    "test_remove_small_holes_deprecated_area_threshold":
        "the second argument is max_size, not the deprecated area_threshold",
    "test_nd": "label accepts more than three axes",
    "test_regionprops_table": "without properties, the result is a structured array",
    "test_regionprops_table_equal_to_original": "floating-point measurements differ by rounding",
}
# Examples of docstrings whose output differs by design: (function, text of the example) and the reason.
EXAMPLES_REFUSED = {
    ("binary_fill_holes", "structure=np.ones((5,5))"): "a structure of more than 3 elements per axis",
}
# Parameters of scikit-image's functions that are refused by design.
PARAMETERS_REFUSED = {("label", "label_image"): "the first argument is called `image`"}


class SciPy(unittest.TestCase):
    def run_tests(self, module, is_wanted):
        """Runs SciPy's test functions. Returns the names of passed tests and of refused tests."""
        ndimage = reference("scipy.ndimage")
        reference("pytest")
        try:
            tests = importlib.import_module(f"scipy.ndimage.tests.{module}")
        except ImportError as missing:
            self.skipTest(f"SciPy is installed without its tests: {missing}")
        found = dict(inspect.getmembers(tests, inspect.isfunction))
        for _, owner in inspect.getmembers(tests, inspect.isclass):
            found |= {name: function.__get__(owner()) for name, function in inspect.getmembers(owner, inspect.isfunction)}
        passed, refused = [], []
        with mock.patch.object(ndimage, "label", scipy_label), \
                mock.patch.object(ndimage, "binary_fill_holes", scipy_fill_holes), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, function in sorted(found.items()):
                if not is_wanted(name):
                    continue
                with self.subTest(name):
                    try:
                        function(xp=numpy)
                        passed.append(name)
                    except NotImplementedError as error:
                        self.assertIn(name, SCIPY_REFUSED, error)
                        refused.append(name)
        return passed, refused

    def test_scipy_tests_of_label_pass_except_for_the_listed_ones(self):
        passed, refused = self.run_tests("test_measurements", lambda name: name.startswith(("test_label", "test_ticket_742")))
        self.assertGreaterEqual(len(passed), 20)
        self.assertEqual(refused, list(SCIPY_REFUSED))

    def test_scipy_tests_of_binary_fill_holes_pass(self):
        passed, refused = self.run_tests("test_morphology", lambda name: name.startswith("test_binary_fill_holes"))
        self.assertGreaterEqual(len(passed), 3)
        self.assertEqual(refused, [])


# (module, function, function of this package)
FUNCTIONS = (("skimage.measure", "label", gst_regions.label),
             ("skimage.measure", "regionprops_table", gst_regions.regionprops_table),
             ("skimage.morphology", "flood", gst_regions.flood),
             ("skimage.morphology", "flood_fill", gst_regions.flood_fill),
             ("skimage.morphology", "remove_small_objects", gst_regions.remove_small_objects),
             ("skimage.morphology", "remove_small_holes", gst_regions.remove_small_holes),
             ("skimage.segmentation", "slic", gst_regions.slic))


class Examples(unittest.TestCase):
    def run_examples(self, module_name, name, function):
        """Runs the examples in a docstring. Returns the number of examples that call the function."""
        module = reference(module_name)
        examples = doctest.DocTestParser().get_examples(inspect.unwrap(getattr(module, name)).__doc__)
        calls = [example for example in examples if f"{name}(" in example.source]
        variables = {"np": numpy, name: function}
        runner = doctest.DocTestRunner(verbose=False,
                                       optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        allowed = [example for example in examples
                   if not any(name == refused and text in example.source for refused, text in EXAMPLES_REFUSED)]
        test = doctest.DocTest(allowed, variables, name, None, 0, None)
        printed = []
        with mock.patch.object(module, name, function), contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runner.run(test, out=printed.append)
        self.assertEqual(runner.failures, 0, "".join(printed))
        return len(calls)

    def test_examples_of_scikit_image_give_the_documented_output(self):
        calls = 0
        for module, name, function in FUNCTIONS:
            if name == "regionprops_table":  # its example is a call of a private function
                continue
            with self.subTest(name):
                calls += self.run_examples(module, name, function)
        self.assertGreaterEqual(calls, 12)

    def test_examples_of_scipy_give_the_documented_output(self):
        for name, function in (("label", scipy_label), ("binary_fill_holes", scipy_fill_holes)):
            with self.subTest(name):
                self.assertGreaterEqual(self.run_examples("scipy.ndimage", name, function), 2)


class Outcomes:
    """A plugin of pytest that collects the names of passed and failed tests."""

    def __init__(self):
        self.passed, self.failed = [], []

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("::")[2].partition("[")[0]
        if report.failed:
            self.failed.append(name)
        elif report.when == "call" and report.passed:
            self.passed.append(name)


class ScikitImage(unittest.TestCase):
    FOLDER = pathlib.Path(__file__).resolve().parents[2] / "out/scikit-image/tests/skimage"
    # (test file, beginning of the names of tests, passed tests at least)
    FILES = (("segmentation/test_slic.py", "test_", 30), ("morphology/test_flood_fill.py", "test_", 18),
             ("morphology/test_misc.py", "test_", 30), ("measure/test_ccomp.py", "test_", 14),
             ("measure/test_label.py", "test_", 6), ("measure/test_regionprops.py", "test_regionprops_table", 3))
    MODULES = ("skimage.measure", "skimage.measure._label", "skimage.measure._regionprops", "skimage.morphology",
               "skimage.segmentation")

    def test_scikit_image_tests_pass_except_for_the_listed_ones(self):
        pytest = reference("pytest")
        modules = [reference(name) for name in self.MODULES]
        if not self.FOLDER.exists():
            self.skipTest("scikit-image's tests are not in out/scikit-image: git clone --depth 1 --branch "
                          f"v{reference('skimage').__version__} https://github.com/scikit-image/scikit-image "
                          "out/scikit-image")
        failed = []
        with contextlib.ExitStack() as stack:
            for module in modules:
                for name in gst_regions.__all__:
                    if inspect.isfunction(getattr(module, name, None)):
                        stack.enter_context(mock.patch.object(module, name, getattr(gst_regions, name)))
            for file, names, least in self.FILES:
                outcomes = Outcomes()
                pytest.main(["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--no-header", "--tb=no", "-k", names,
                             str(self.FOLDER / file)], plugins=[outcomes])
                self.assertGreaterEqual(len(outcomes.passed), least, file)
                failed += outcomes.failed
        self.assertEqual(sorted(failed), sorted(SCIKIT_IMAGE_REFUSED))


class Signatures(unittest.TestCase):
    def test_parameters_of_scikit_image_are_accepted_in_order(self):
        for module, name, function in FUNCTIONS:
            theirs = inspect.signature(inspect.unwrap(getattr(reference(module), name))).parameters
            ours = inspect.signature(function).parameters
            missing = {parameter for parameter in theirs if parameter not in ours
                       and (name, parameter) not in PARAMETERS_REFUSED}
            self.assertEqual(missing, set(), name)
            # The deprecated second parameter of remove_small_objects() and remove_small_holes() is a keyword here.
            if not name.startswith("remove_small"):
                first = [parameter for parameter, value in theirs.items() if value.kind is value.POSITIONAL_OR_KEYWORD]
                self.assertEqual(list(ours)[1:len(first)], first[1:], name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
