#!/usr/bin/python3
"""Runs the guides of docs/guides in an empty folder and compares every expected output with the real one.

The guide for arrays is run by tests/python, where the Python package is.
"""

import os
import pathlib
import sys
import tempfile
import unittest

import media

sys.path.insert(0, str(media.ROOT / "tests"))
from documents import PREPARATION, blocks_of, matches, run_page  # noqa: E402

GUIDES = media.ROOT / "docs" / "guides"
# The build whose plugin the tests use.
BUILD = pathlib.Path(os.environ["GST_PLUGIN_PATH_1_0"].split(":")[0]).parent
# The commands of "Before you start", and what runs them.
PREPARATIONS = {"pipelines/setup": "tests/run", "packaging/wheel": "the test 'wheel'",
                "python3 -m venv out/venv": "the test 'wheel'",
                "out/venv/bin/pip install out/gst_regions-*.whl": "the test 'wheel'"}


def text_of(name):
    return (GUIDES / f"{name}.md").read_text(encoding="utf-8")


class Guides(unittest.TestCase):
    def run_guide(self, name):
        """Runs a guide in a folder that looks like the project's."""
        with tempfile.TemporaryDirectory() as folder:
            for part in ("pipelines", "library"):
                os.symlink(media.ROOT / part, pathlib.Path(folder) / part)
            os.symlink(BUILD, pathlib.Path(folder) / "build")
            ran, compared = run_page(text_of(name), folder, os.environ)
        self.assertGreaterEqual(ran, 3)
        self.assertGreaterEqual(compared, 3)

    def test_commands_of_the_guide_first_pipeline_print_the_shown_output(self):
        self.run_guide("first-pipeline")

    def test_commands_of_the_guide_first_application_print_the_shown_output(self):
        self.run_guide("first-application")

    def test_commands_of_the_guide_tune_print_the_shown_output(self):
        self.run_guide("tune")

    def test_commands_of_the_guide_archive_print_the_shown_output(self):
        self.run_guide("archive")

    def test_commands_of_the_guide_events_print_the_shown_output(self):
        self.run_guide("events")

    def test_commands_of_the_guide_anonymize_print_the_shown_output(self):
        self.run_guide("anonymize")

    def test_setup_commands_of_guides_are_in_the_list_of_commands_that_other_tests_run(self):
        for page in GUIDES.glob("*.md"):
            for block in blocks_of(page.read_text(encoding="utf-8")):
                if block.section == PREPARATION:
                    for line in block.text.splitlines():
                        self.assertIn(line, PREPARATIONS, page.name)


class ExpectedOutput(unittest.TestCase):
    def test_comparison_with_the_shown_output_accepts_equal_text(self):
        self.assertTrue(matches("3 regions\n", "3 regions\n"))

    def test_comparison_with_the_shown_output_refuses_another_number(self):
        self.assertFalse(matches("3 regions\n", "4 regions\n"))
        self.assertFalse(matches("3 regions\n", "13 regions\n"))

    def test_comparison_with_the_shown_output_refuses_a_missing_or_additional_line(self):
        self.assertFalse(matches("one\ntwo\n", "one\n"))
        self.assertFalse(matches("one\n", "one\ntwo\n"))
        self.assertFalse(matches("one\n", ""))

    def test_comparison_with_an_ellipsis_in_a_shown_line_accepts_any_text_there(self):
        self.assertTrue(matches("at … frames/s\n", "at 41.5 frames/s\n"))
        self.assertFalse(matches("at … frames/s\n", "at 41.5\nframes/s\n"))

    def test_comparison_with_a_shown_line_of_only_an_ellipsis_accepts_any_lines(self):
        for printed in ("first\nlast\n", "first\na\nb\nlast\n"):
            self.assertTrue(matches("first\n…\nlast\n", printed), printed)
        self.assertFalse(matches("first\n…\nlast\n", "first\na\n"))

    def test_guide_page_with_wrong_output_raises_an_error(self):
        page = "Text.\n\n```sh\necho 3\n```\n\n```text\n4\n```\n"
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(AssertionError, "the page expects\n4"):
            run_page(page, folder, os.environ)

    def test_guide_page_with_failing_command_raises_an_error(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(AssertionError, "exit status 1"):
            run_page("```sh\nfalse\n```\n", folder, os.environ)

    def test_guide_page_passes_files_and_variables_to_later_blocks(self):
        page = ("Save this as `out/a.txt`:\n\n```c\nhello\n```\n\n```sh\nexport NAME=out/a.txt\n```\n\n"
                "```sh\ncat $NAME\n```\n\n```text\nhello\n```\n")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run_page(page, folder, os.environ), (2, 1))


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
