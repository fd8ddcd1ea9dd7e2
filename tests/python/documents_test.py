#!/usr/bin/env python3
"""The documents of the Python package: examples run and print their expected output, the reference is up to date, and
the types are valid for mypy."""

import contextlib
import inspect
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import gst_regions
import numpy
from references import reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from documents import blocks_of, expect, run_page  # noqa: E402

PAGE = ROOT / "docs" / "guides" / "python-arrays.md"


class Guide(unittest.TestCase):
    def test_guide_python_arrays_code_prints_the_expected_output(self):
        reference("jax")
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder) / "out" / "venv" / "bin" / "python"  # the guide's environment
            python.parent.mkdir(parents=True)
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
            python.chmod(0o755)
            self.assertEqual(run_page(PAGE.read_text(encoding="utf-8"), folder, os.environ | {"JAX_PLATFORMS": "cpu"}), (5, 5))

    def test_python_code_of_readme_and_package_page_runs_without_errors(self):
        for name in ("README.md", "docs/python.md"):
            blocks = [block for block in blocks_of((ROOT / name).read_text(encoding="utf-8"))
                      if block.language == "python" and "cupy" not in block.text]
            self.assertGreaterEqual(len(blocks), 1, name)
            for block in blocks:
                with self.subTest(f"{name}:\n{block.text}"):
                    self.run_python(block)

    def run_python(self, block):
        """Provides the variables that these pages use."""
        random = numpy.random.default_rng(1)
        frame = random.integers(0, 256, (240, 320, 3)).astype(numpy.uint8)
        variables = {"image": frame[..., 0], "rgb": frame, "frame": frame, "video": [frame, frame],
                     "terminal": random.integers(-50, 50, (240, 320)).astype(numpy.int32)}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, "page", "exec"), variables)
        expect(block, printed.getvalue())


CHOOSE = numpy.random.default_rng(5)
MASK = CHOOSE.integers(0, 2, (30, 40)).astype(numpy.uint8) * 255


class Reference(unittest.TestCase):
    def test_api_reference_page_equals_the_generated_one(self):
        printed = subprocess.run([sys.executable, ROOT / "docs" / "python_reference.py"], capture_output=True, text=True,
                                 check=True).stdout
        written = (ROOT / "docs" / "python-reference.md").read_text(encoding="utf-8")
        self.assertEqual(written, printed, "run docs/python_reference.py > docs/python-reference.md")

    def test_code_of_the_gallery_page_runs_without_errors(self):
        for name in ("skimage", "PIL"):
            reference(name)
        done = subprocess.run([sys.executable, ROOT / "docs" / "python_gallery.py"], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_api_reference_describes_every_parameter(self):
        for name in gst_regions.__all__:
            function = getattr(gst_regions, name)
            if not callable(function) or name == "remove_small_holes":  # its documentation refers to another function
                continue
            described = re.findall(r"^(\w[\w, ]*) : ", function.__doc__.replace("    ", ""), re.M)
            words = {word for names in described for word in names.split(", ")} | {"down_right", "down_left"}
            arguments = set(inspect.signature(function).parameters)
            self.assertEqual(arguments - words, set(), name)


class Comparisons(unittest.TestCase):
    def test_label_tables_equal_the_statistics_of_cv2(self):
        cv2 = reference("cv2")
        for theirs, ours in ((4, 1), (8, 2)):
            count, want, stats, centroids = cv2.connectedComponentsWithStats(MASK, connectivity=theirs)
            labels, num, table = gst_regions.label(MASK, threshold=1, connectivity=ours, return_num=True,
                                                   return_table=True)
            self.assertEqual(num, count - 1)
            order = numpy.unique(want[want > 0], return_index=True)[1].argsort()
            numpy.testing.assert_array_equal(numpy.sort(table["area"]), numpy.sort(stats[1:, cv2.CC_STAT_AREA]))
            numpy.testing.assert_array_equal(table["area"], stats[1:, cv2.CC_STAT_AREA][order])
            numpy.testing.assert_array_equal(table["bbox-3"] - table["bbox-1"],
                                             stats[1:, cv2.CC_STAT_WIDTH][order])
            numpy.testing.assert_allclose(table["centroid-1"], centroids[1:, 0][order])

    def test_remove_small_objects_equals_dust_of_cc3d(self):
        cc3d = reference("cc3d")
        volume = CHOOSE.integers(0, 4, (9, 10, 11)) == 0
        numpy.testing.assert_array_equal(gst_regions.remove_small_objects(volume, 4, connectivity=3),
                                         cc3d.dust(volume, threshold=5, connectivity=26))


USE = """import gst_regions
import numpy as np
image = np.zeros((3, 4), np.uint8)
labels = gst_regions.label(image, connectivity=1, threads=1)
table = gst_regions.regionprops_table(labels)
flow: int = gst_regions.mincut(labels, 1, 1)[1]
foreground = gst_regions.mincut((labels, labels), links={(0, 0, 1): 1, (0, 1, 0): (labels, 2.5)})[0]
ids: list[int] = gst_regions.Tracker().events.born
picture: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = gst_regions.BackgroundCut().background
count: int = gst_regions.label(image, return_num=True)[1]
counts: np.ndarray[tuple[int], np.dtype[np.int64]] = gst_regions.label(image, return_num=True, threshold=[1.0, 2.0])[1]
pieces, areas, pairs = gst_regions.slic(image, return_table=True, return_adjacency=True)
mask = gst_regions.BackgroundCut(lambda_=3).apply(image)
events: list[dict[str, object]] = gst_regions.Zones([{"id": "a"}], shape=(3, 4)).update(table, time=0.5)
inside: int = gst_regions.Zones("rules.json").zones["a"]["count"]
"""
MISUSE = {"gst_regions.flood(image, seed=1)": "call-arg",
          "gst_regions.fill_holes(image > 1, '2')": "arg-type",
          "text: str = gst_regions.label(image, return_num=True)[1]": "assignment",
          "other, num = gst_regions.label(image)[0], gst_regions.slic(image, return_table=True).shape": "attr-defined",
          "gst_regions.BackgroundCut(learning_rat=1)": "call-arg",
          "gst_regions.Tracker(min_area='1')": "arg-type",
          "gst_regions.Zones(5)": "arg-type",
          "text: str = gst_regions.Zones('a').visits[0].track": "assignment",
          "flow = gst_regions.mincut(labels, 1, 1)[1] + 'x'": "operator"}


class Types(unittest.TestCase):
    def mypy(self, *arguments):
        reference("mypy")
        package = pathlib.Path(gst_regions.__file__).parent
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.folder, *arguments],
                              cwd=package.parent, capture_output=True, text=True, check=False)

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()  # one cache of mypy for all tests
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def test_type_hints_of_the_package_pass_mypy(self):
        run = self.mypy("gst_regions", "--exclude", "pipelines")  # separate scripts
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_wrong_calls_are_errors_of_mypy(self):
        run = self.mypy("-c", USE)
        self.assertEqual(run.returncode, 0, run.stdout)
        run = self.mypy("-c", USE + "\n".join(MISUSE))
        for line, kind in MISUSE.items():
            self.assertIn(f"[{kind}]", run.stdout, line)
        self.assertIn(f"Found {len(MISUSE)} errors", run.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
