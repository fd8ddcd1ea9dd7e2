#!/usr/bin/python3
"""Each rule of tools/lint finds its fault in a small tree and reports nothing in a correct tree."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

loader = importlib.machinery.SourceFileLoader("lint", str(pathlib.Path(__file__).with_name("lint")))
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
loader.exec_module(lint)

LONG = "//\n" * (lint.SHORT + 1)
IDIOM = "one in " + "place of two"
GOOD = {
    "meson.build": "algorithms = {'cclabel': 'cclabel'}\n", "README.md": "| `cclabel` | [more](docs/page.md#part)\n",
    "docs/algorithms.md": "## cclabel\n", "docs/elements.md": "## cclabel\n", "docs/environment.md": "`REGIONS_A`, `HOME`\n",
    "docs/page.md": f"`core/cclabel/`, `video/x-raw`, `core/NAME/NAME.hpp`, `tests/list.hpp`\n```sh\n{IDIOM} `core/no.hpp`\n```\n",
    "tests/list.hpp.in": "", "core/cclabel/cclabel.hpp": "//\n#pragma once\nnamespace regions::cclabel {\n" + LONG,
    "core/cclabel/window.cpp": '// 1\n#include "core/cclabel/cclabel.hpp"\ngetenv("REGIONS_A")' + LONG,
    "gpu/cclabel/cclabel.cpp": '// 2\n#include "core/cclabel/cclabel.hpp"\n' + LONG, "gpu/cclabel/measure.cu": LONG,
    "tests/tsan/suppressions": "race:_other\nmutex:other\nrace:regions::cclabel\n",
    "requirements/a.txt": "a==1 \\\n    --hash=sha256:0\n", "plugin/plugin.cpp": LONG}

# check, file, text that is appended to it, part of the message
FAULTS = [
    ("rules", "cpu/a.cpp", "//\n#include <gst/gst.h>", "only plugin includes GStreamer"),
    ("rules", "core/a.cpp", "//\n#include <cuda.h>", "only gpu includes CUDA"),
    ("rules", "plugin/a.cpp", "//\n#include <gst/cuda/a.h>", "without CUDA's headers"),
    ("rules", "gpu/a.cu", "//\nkernel<<<1, 2>>>();", "launch through"),
    ("rules", "gpu/a.cu", "//\ncudaMallocAsync(a);", "only gpu/runtime allocates"),
    ("rules", "plugin/a.cpp", "//\n#ifdef REGIONS_CUDA", "fake_gpu/meson.build"),
    ("rules", "gpu/a.cu", "//\n__activemask();", "compute a mask"),
    ("rules", "core/a.cpp", '//\nprintf("a");', "libraries throw"),
    ("rules", "tests/a.cpp", "// TODO more", "a TODO names its issue"),
    ("rules", "tests/a.cpp", "// nobody waits", "a comment names its subject"),
    ("rules", "tests/a.cpp", "int a;", "the first line says"),
    ("rules", "tests/a.hpp", "//\n#pragma once\nnamespace {", "no anonymous namespace"),
    ("rules", "tests/a.hpp", "//\n", "#pragma once"),
    ("rules", "core/image_utils.hpp", "//\n#pragma once", "a name describes the content"),
    ("rules", "bench/my-program.cpp", "//\n", "have underscores"),
    ("rules", "docs/a", "cat /ho" "me/me/a", "path of one machine"),
    ("rules", "docs/a", "pip inst" "all a", "--require-hashes"),
    ("rules", "requirements/a.txt", "b==2\n", "a version and hashes"),
    ("rules", "docs/page.md", "[gone](gone.md)\n", "gone.md does not exist"),
    ("rules", "docs/page.md", "`core/gone.hpp`\n", "docs/page.md:5: `core/gone.hpp`"),
    ("rules", "docs/page.md", "`gone.cu`\n", "docs/page.md:5: `gone.cu`"),
    ("rules", "tests/a", '"$REGIONS_B"', "reads REGIONS_B"),
    ("rules", "python/a.py", "os.environ['OTHER']", "reads OTHER"),
    ("rules", "tests/tsan/suppressions", "race:regions::gone", "gone does not exist"),
    ("rules", "docs/environment.md", "`REGIONS_B=1`", "lists REGIONS_B, which nothing reads"),
    ("layout", "core/a.cpp", '//\n#include "cpu/a.hpp"\n' + LONG, "core includes only core"),
    ("layout", "core/cclabel/window.cpp", '\n#include "gpu/cclabel/a.cuh"\n', "core/cclabel and gpu/cclabel include each other"),
    ("layout", "cpu/tracking/tracking.cpp", LONG, "more than one subject"),
    ("layout", "plugin/measure.cpp", LONG, "have the same name measure"),
    ("layout", "gpu/cclabel/measure.cu", "namespace regions::maxflow {\n", "regions::maxflow differs from the folder, cclabel"),
    ("prose", "README.md", f"{IDIOM}\n", "README.md:2: "),
    ("prose", "gpu/a.cu", f"//\nint a;  // {IDIOM}\n", "gpu/a.cu:2: "),
    ("prose", "library/a.h", f"/* {IDIOM} */\n", "library/a.h:1: "),
    ("prose", "pipelines/a.py", f'"""One.\n{IDIOM}\n"""\n', "pipelines/a.py:2: "),
    ("prose", "pipelines/a.py", f'raise ValueError("{IDIOM} values")\n', "pipelines/a.py:1: "),
]


def problems(check, more):
    return "\n".join(lint.CHECKS[check](lint.Tree(GOOD | more)))


class Lint(unittest.TestCase):
    def test_lint_of_a_correct_tree_reports_nothing(self):
        for check in ("rules", "layout", "prose"):
            self.assertEqual(problems(check, {"tests/prose.cpp": f"// {IDIOM}\n"}), "")

    def test_lint_reports_each_fault(self):
        for check, name, text, message in FAULTS:
            with self.subTest(name=name, text=text):
                self.assertIn(message, problems(check, {name: GOOD.get(name, "") + text}))

    def test_documents_without_an_element_are_reported(self):
        found = problems("rules", {"meson.build": "algorithms = {'other': 'other'}\n"})
        self.assertEqual(found.count("other is missing"), 3)

    def test_layout_with_too_many_files_is_reported(self):
        short = {f"cpu/cclabel/file{i}.cpp": "//\n" for i in range(lint.MAX_FILES)}
        headers = {f"cpu/cclabel/file{i}.hpp": LONG for i in range(lint.MAX_SINGLE_HEADERS + 1)}
        user = "".join(f'#include "{name}"\n' for name in headers)
        found = problems("layout", short | headers | {"cpu/cclabel/user.cpp": user, "tests/user.cpp": user})
        for message in ("the product has", "lines or fewer", "have a single includer"):
            self.assertIn(message, found)

    def test_commit_subject_that_is_too_long_or_has_two_changes_is_reported(self):
        self.assertEqual(list(lint.check_subjects(["abc cclabel: merge seams", "abc " + "x" * 72])), [])
        self.assertEqual(len(list(lint.check_subjects(["abc " + "x" * 73, "abc one; two"]))), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
