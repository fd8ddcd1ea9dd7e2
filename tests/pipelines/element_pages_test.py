#!/usr/bin/python3
"""The example launch lines of docs/elements run, without a window."""

import os
import pathlib
import re
import tempfile
import unittest

import media

PAGES = sorted((media.ROOT / "docs" / "elements").glob("*.md"))


class LaunchLines(unittest.TestCase):
    def test_launch_lines_of_element_pages_run_without_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            media.make(pathlib.Path(folder, "video.mp4"), "testsrc2=size=160x120:rate=25:duration=0.4",
                       "-pix_fmt", "yuv420p")
            for page in PAGES:
                blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
                self.assertTrue(blocks or page.stem == "all-elements", f"{page.name} has no example")
                for block in blocks:
                    with self.subTest(page=page.name, line=block):
                        self.assertIn("gst-launch-1.0 ", block)
                        self.assertIn(page.stem, block)
                        self.assertEqual(block.count("autovideosink"), 1)
                        media.run("bash", "-ec", block.replace("autovideosink", "fakesink"), cwd=folder,
                                  env=os.environ | {"LD_PRELOAD": os.environ.get("REGIONS_PRELOAD", "")})


if __name__ == "__main__":
    media.expect_tools()
    unittest.main()
