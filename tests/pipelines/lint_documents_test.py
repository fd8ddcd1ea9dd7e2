#!/usr/bin/python3
"""The rules of tests/lint_documents.py find mistakes, and nothing else, in small trees that have them."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lint_documents as documents  # noqa: E402  (after the path)

OWN = documents.OWN_VARIABLE


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.names = []
        self.write("core/image.hpp", "// A view.\n")
        self.write("docs/pictures/make", "#!/bin/sh\n")
        self.write("tests/list.hpp.in", "// From a template.\n")
        self.write("bench/program.cpp", "// A program.\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.names.append(name)

    def text_of(self, name):
        return (self.root / name).read_text(encoding="utf-8")

    def paths_missing_in(self, text):
        self.write("docs/page.md", text)
        return [problem.split("`")[1] for problem in
                documents.broken_paths(self.root, self.names, ["docs/page.md"], self.text_of)]

    def test_paths_existing_are_accepted(self):
        text = ("`core/image.hpp` and `core/`, from here `pictures/make`, `pictures/make --check`, a template's "
                "`tests/list.hpp`, a program `bench/program`")
        self.assertEqual(self.paths_missing_in(text), [])

    def test_paths_missing_are_found(self):
        text = ("`core/gone.hpp`, `image.hpp`, `pictures/none`, `docs/none.md FILE`\n\n- `gone/core.hpp`: not a folder "
                "of the tree\n\n`kernel.cu`")
        self.assertEqual(self.paths_missing_in(text),
                         ["core/gone.hpp", "image.hpp", "pictures/none", "docs/none.md", "kernel.cu"])

    def test_words_that_are_no_paths_are_ignored(self):
        text = ("`video/x-raw`, `core/NAME/NAME.hpp`, `core/*/none.hpp`, `bench/<device>.json`, `a.py`, "
                "`threshold=0.5`, `build/docs/none`, `out/none.mp4`\n\n```sh\ncat core/none.hpp `core/none.hpp`\n```\n")
        (self.root / "docs" / "out").mkdir()  # not tracked
        self.assertEqual(self.paths_missing_in(text), [])

    def test_paths_that_the_reader_makes_are_ignored(self):
        page, = documents.MADE_BY_READERS
        text = "`core/dim/dim.hpp`, `core/dimmer.hpp`"
        self.write(page, text)
        problems = documents.broken_paths(self.root, self.names, [page], self.text_of)
        self.assertEqual([problem.split("`")[1] for problem in problems], ["core/dimmer.hpp"])

    def test_line_of_a_problem_counts_fenced_blocks(self):
        self.write("docs/page.md", "# Title\n\n```sh\none\ntwo\n```\n\n`core/gone.hpp`\n")
        problem, = documents.broken_paths(self.root, self.names, ["docs/page.md"], self.text_of)
        self.assertTrue(problem.startswith("docs/page.md:8: `core/gone.hpp`"), problem)

    def test_links_to_missing_files_are_found(self):
        self.write("docs/page.md",
                   "[here](page.md#part), [there](none.md), [out](https://example.org/none), [up](#part)")
        self.assertEqual(documents.broken_links(self.root, ["docs/page.md"], self.text_of),
                         ["docs/page.md:1: none.md does not exist"])

    def variables_missing_with(self, page):
        self.write("docs/environment.md", page)
        return [problem.split()[2].rstrip(",") if "reads" in problem.split()[1] else "unread"
                for problem in documents.variables_left_out(self.names, self.text_of)]

    def test_variables_read_in_any_language_are_found(self):
        self.write("core/one.cpp", f'std::getenv("{OWN}ONE")')
        self.write("tests/two.cpp", f'g_getenv("{OWN}TWO"), getenv("OF_A_TEST")')
        self.write("python/three.py", f"os.environ['{OWN}THREE'], os.environ.get(\"OF_USERS\")")
        self.write("python/four.py", f'"{OWN}FOUR" not in os.environ')
        self.write("tests/five", f'${{{OWN}FIVE:-}} "${OWN}SIX" ${{words:-}}')
        found = ["OF_USERS", *(OWN + name for name in ("FIVE", "FOUR", "ONE", "SIX", "THREE", "TWO"))]
        self.assertEqual(self.variables_missing_with("none"), found)
        self.assertEqual(self.variables_missing_with(" ".join(f"`{name}`" for name in found)), [])

    def test_variable_that_nothing_reads_is_found(self):
        self.write("core/macro.hpp", f"#define {OWN}MACRO")
        self.assertEqual(self.variables_missing_with(f"`{OWN}MACRO`, `GST_DEBUG=regions:5`"), ["unread"])


if __name__ == "__main__":
    unittest.main()
