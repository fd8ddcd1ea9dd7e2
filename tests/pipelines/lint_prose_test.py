#!/usr/bin/python3
"""The rules of tests/lint_prose.py find idioms in texts that users read, and bad subjects of commits."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lint_prose  # noqa: E402  (after the path)

IDIOM = " ".join(("one", "in", "place", "of", "two"))


class Prose(unittest.TestCase):
    def places(self, name, text):
        return [int(problem.split(":")[1]) for problem in lint_prose.check_prose([name], lambda _: text)]

    def test_pages_idiom_is_found_outside_of_code(self):
        self.assertEqual(self.places("README.md", f"fine\n{IDIOM}\n```sh\n{IDIOM}\n```\n`{IDIOM}`\n"), [2])

    def test_python_comment_docstring_and_message_are_read(self):
        text = f'"""Fine.\n{IDIOM}\n"""\nvalue = 1  # {IDIOM}\nraise ValueError("{IDIOM} values")\nin_place_of = 1\n'
        self.assertEqual(self.places("pipelines/x.py", text), [2, 4, 5])

    def test_header_comment_is_read(self):
        self.assertEqual(self.places("library/x.h", f"/* {IDIOM} */\nint in;\n// {IDIOM}\n"), [1, 3])

    def test_kernels_are_read(self):
        self.assertEqual(self.places("gpu/x.cu", f"int i;  // {IDIOM}\n"), [1])

    def test_tests_are_not_read(self):
        self.assertEqual(self.places("tests/x.hpp", f"// {IDIOM}\n"), [])


class Subjects(unittest.TestCase):
    def test_subject_limits(self):
        good = "abc cclabel: merge seams along diagonals"
        self.assertEqual(lint_prose.check_subjects([good, "abc " + "x" * 72]), [])
        self.assertEqual(len(lint_prose.check_subjects(["abc " + "x" * 73, "abc one thing; another"])), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
