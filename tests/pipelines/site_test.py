#!/usr/bin/python3
"""Builds the documentation site with docs/build and checks its pages, search, sources and llms.txt."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
LOADER = importlib.machinery.SourceFileLoader("site_builder", str(ROOT / "docs" / "build"))
SPEC = importlib.util.spec_from_loader(LOADER.name, LOADER)
builder = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(builder)


def build(folder):
    return subprocess.run([ROOT / "docs" / "build", "-o", folder], capture_output=True, text=True, check=False)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name) / "site"
        done = build(cls.folder)
        if done.returncode:
            raise AssertionError(f"docs/build: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        cls.pages = sorted(str(path.relative_to(cls.folder)) for path in cls.folder.rglob("*.md"))

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def test_documents_all_have_an_html_page_on_the_site(self):
        self.assertGreater(len(self.pages), 20)
        for page in self.pages:
            self.assertTrue((self.folder / page).with_suffix(".html").exists(), page)

    def test_links_of_the_site_lead_to_existing_files(self):
        """Links in the HTML, followed the way a browser follows them in a file system."""
        for page in self.pages:
            html = self.text(page.removesuffix(".md") + ".html")
            for address in re.findall(r'(?:href|src)="([^"#?]+)', html):
                if not re.match(r"[a-z]+:|//", address):
                    target = (self.folder / page).parent / address
                    self.assertTrue(target.exists(), f"{page}: {address}")

    def test_search_index_of_the_site_has_all_pages_and_their_words(self):
        index = self.text("searchindex.js")
        names = re.search(r'"?docnames"?:\s*\[(.*?)\]', index)[1]
        for page in self.pages:
            self.assertIn('"' + page.removesuffix(".md") + '"', names)
        terms = re.search(r'"?terms"?:\s*\{(.*)', index, re.S)[1]
        for word in ("superpixel", "threshold", "appsink"):  # word stems
            self.assertRegex(terms, rf'"?{word}"?:')

    def test_c_library_page_of_the_site_describes_all_functions(self):
        header = (ROOT / "library" / "regions.h").read_text(encoding="utf-8")
        functions = re.findall(r"^REGIONS_API [^;]*?\b(regions_\w+)\(", header, re.M)
        self.assertGreater(len(functions), 5)
        html = self.text("c-library.html")
        for name in functions:
            self.assertIn(f'id="c.{name}"', html)
        described = re.sub(r"<[^>]*>", "", html)
        self.assertIn("Processes one frame and returns when all", described)

    def test_llms_txt_of_the_site_lists_every_page(self):
        text = self.text("llms.txt")
        self.assertTrue(text.startswith("# gst-regions\n\n> "))
        self.assertEqual(sorted({"index.md", *re.findall(r"\]\(([^)#]+\.md)\)", text)}), self.pages)


class Links(unittest.TestCase):
    """How one page is changed, without Sphinx."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        root = pathlib.Path(scratch.name).resolve()
        for name in ("README.md", "core/a.hpp", "docs/b.md", "docs/c/d.md", "docs/e.jpg"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        self.root = root
        for name, value in {"ROOT": root, "DOCS": root / "docs"}.items():
            self.addCleanup(setattr, builder, name, getattr(builder, name))
            setattr(builder, name, value)

    def resolve(self, text, page="c/d.md"):
        source = self.root / "docs" / page
        source.write_text(text, encoding="utf-8")
        site = builder.Site({"b.md": self.root / "docs" / "b.md", "c/d.md": self.root / "docs" / "c" / "d.md"})
        return site.text(page), site

    def test_link_to_page_of_the_site_is_unchanged(self):
        text, site = self.resolve("[b](../b.md#part)")
        self.assertEqual(text, "[b](../b.md#part)")
        self.assertEqual(site.links["c/d.md"], ["b.md"])

    def test_link_to_source_file_points_to_its_copy_on_the_site(self):
        text, site = self.resolve("[`core/a.hpp`](../../core/a.hpp)")
        self.assertEqual(text, "[`core/a.hpp`](../sources/core/a.hpp.txt)")
        self.assertEqual(site.files, {"sources/core/a.hpp.txt": self.root / "core" / "a.hpp"})

    def test_picture_of_a_page_is_copied_to_the_site(self):
        text, site = self.resolve("![e](../e.jpg)")
        self.assertEqual((text, list(site.files)), ("![e](../e.jpg)", ["e.jpg"]))

    def test_link_to_folder_becomes_text_with_the_folder_name(self):
        self.assertEqual(self.resolve("see [the core](../../core)")[0], "see the core (`core`)")

    def test_link_in_code_is_unchanged(self):
        self.assertEqual(self.resolve("```sh\n[x](nothing)\n```\n")[0], "```sh\n[x](nothing)\n```\n")

    def test_link_without_target_raises_an_error(self):
        with self.assertRaisesRegex(builder.BadPage, "c/d.md: the link to '../nothing.md' has no target"):
            self.resolve("[x](../nothing.md)")

    def test_page_that_no_page_links_to_raises_an_error(self):
        _, site = self.resolve("nothing")
        with self.assertRaisesRegex(builder.BadPage, "no page links to c/d.md"):
            builder.children(site, "b.md")

    def test_navigation_page_is_below_the_page_that_links_most_to_its_folder(self):
        """Page a links to one page of the folder f, page b to two."""
        links = {"index.md": ["a.md", "b.md"], "a.md": ["b.md", "f/x.md"], "b.md": ["f/x.md", "f/y.md"],
                 "f/x.md": ["f/y.md", "index.md"], "f/y.md": ["f/x.md"]}
        site = builder.Site(dict.fromkeys(links, self.root / "README.md"))
        site.links = links
        self.assertEqual(builder.children(site), {"index.md": ["a.md", "b.md"], "a.md": [],
                                                  "b.md": ["f/x.md", "f/y.md"], "f/x.md": [], "f/y.md": []})

    def test_comment_with_a_site_directive_becomes_a_sphinx_directive(self):
        self.assertEqual(self.resolve("<!-- site: doxygenfile regions.h -->")[0], "```{doxygenfile} regions.h\n```")


class Program(unittest.TestCase):
    def test_docs_site_in_a_folder_with_other_files_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder) / "kept.txt"
            kept.write_text("mine", encoding="utf-8")
            done = build(folder)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(folder, done.stderr)
            self.assertEqual(kept.read_text(encoding="utf-8"), "mine")


if __name__ == "__main__":
    missing = builder.missing_tools()
    if missing:
        print("missing: " + ", ".join(missing))
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
