#!/usr/bin/python3
"""The rules of tests/lint_files.py find every fault in small trees and report nothing in correct ones."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lint_files as files  # noqa: E402  (after the path)

LONG = "//\n" * (files.SHORT + 1)


class Files(unittest.TestCase):
    def setUp(self):
        # Two subjects for each folder, two includers for the header.
        self.tree = {"core/cclabel/cclabel.cpp": '#include "core/cclabel/cclabel.hpp"\n' + LONG,
                     "core/cclabel/cclabel.hpp": LONG, "core/cclabel/window.cpp": LONG,
                     "gpu/cclabel/cclabel.cpp": '#include "core/cclabel/cclabel.hpp"\n' + LONG,
                     "gpu/cclabel/measure.cu": '#include "core/cclabel/cclabel.hpp"\n' + LONG}

    def problems(self):
        return files.check_shape(sorted(self.tree), self.tree.get)

    def found(self, words):
        problems = self.problems()
        self.assertEqual([words in problem for problem in problems], [True], problems)

    def test_tree_without_faults_passes(self):
        self.assertEqual(self.problems(), [])

    def test_too_many_files_are_found(self):
        for i in range(files.MAX_FILES):
            self.tree[f"cpu/cclabel/file{i}.cpp"] = LONG
        self.found("the product has")

    def test_too_many_short_files_are_found(self):
        for i in range(files.MAX_SHORT_FILES + 1):
            self.tree[f"cpu/cclabel/file{i}.cpp"] = "//\n" * files.SHORT
        self.found("lines or fewer")

    def test_too_many_headers_with_one_includer_are_found(self):
        for i in range(files.MAX_SINGLE_HEADERS + 1):
            self.tree[f"cpu/cclabel/file{i}.hpp"] = LONG
            self.tree["core/cclabel/window.cpp"] += f'#include "cpu/cclabel/file{i}.hpp"\n'
            self.tree[f"cpu/cclabel/file{i}.cpp"] = f'#include "cpu/cclabel/file{i}.hpp"\n' + LONG
            self.tree[f"tests/cclabel/file{i}_test.cpp"] = f'#include "cpu/cclabel/file{i}.hpp"\n'
        self.found("have a single includer")

    def test_folder_of_one_header_and_its_source_is_found(self):
        self.tree |= {"cpu/tracking/tracking.cpp": LONG, "cpu/tracking/tracking.hpp": LONG}
        self.found("more than one subject")

    def test_root_of_a_layer_may_hold_one_file(self):
        self.tree["plugin/plugin.cpp"] = LONG
        self.assertEqual(self.problems(), [])

    def test_one_name_for_different_jobs_is_found(self):
        self.tree |= {"gpu/maxflow/measure.cu": LONG, "gpu/maxflow/push.cu": LONG}
        self.found("have the same name measure")

    def test_one_name_for_one_job_on_two_backends_passes(self):
        self.tree |= {"cpu/cclabel/measure.cpp": LONG, "cpu/cclabel/merge.cpp": LONG}
        self.assertEqual(self.problems(), [])

    def test_one_name_passes_where_a_file_includes_the_header_of_the_other(self):
        self.tree |= {"core/resampling.hpp": LONG, "gpu/runtime/queue.cpp": LONG,
                      "gpu/runtime/resampling.cu": '#include "core/resampling.hpp"\n' + LONG}
        self.assertEqual(self.problems(), [])

    def test_namespace_of_another_folder_is_found(self):
        self.tree["gpu/cclabel/measure.cu"] += "namespace regions::graphcut {\n"
        self.found("namespace regions::graphcut differs from the folder, cclabel")


if __name__ == "__main__":
    unittest.main()
