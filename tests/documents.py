"""Runs the code blocks of a Markdown page in order and compares their output with the page.

How the blocks of a page are read:
  ```sh      Commands. Bash runs the whole block; variables that it exports are kept for later blocks.
  ```text    The expected output of the previous block: standard output and standard error. `…` stands for any text
             within a line; a line with nothing but `…` stands for any number of lines.
  ```LANG    After a paragraph that ends with "`FILE`:", the content of FILE. Other languages only illustrate.
The section "Before you start" is not run: it installs and builds.
"""

import os
import pathlib
import re
import subprocess

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"`([^`\n]+)`:\s*\Z")
PREPARATION = "Before you start"
PATIENCE = float(os.environ.get("REGIONS_PATIENCE", "1"))  # more under sanitizers


class Block:
    def __init__(self, language, text, before, section):
        self.language, self.text, self.section = language, text, section
        named = FILE.search(before)
        self.file = named[1] if named else None
        self.expected = None  # the block of text after it


def blocks_of(page):
    """The blocks of a Markdown text. An expected output belongs to the block that prints it."""
    found, end = [], 0
    for match in BLOCK.finditer(page):
        before = page[end:match.start()]
        headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", page[:match.start()]), re.M)
        if match[1] == "text" and found:
            if found[-1].expected is not None:
                raise ValueError(f"two blocks of expected output follow one block:\n{found[-1].text}")
            found[-1].expected = match[2]
        else:
            found.append(Block(match[1], match[2], before, headings[-1] if headings else ""))
        end = match.end()
    return found


def matches(expected, printed):
    """Whether a printed text is the expected one, see the top of this file."""
    pattern = ""
    for line in expected.splitlines():
        text = re.escape(line.rstrip()).replace("…", ".*?") + r"[ \t]*\n"
        pattern += r"(?:.*\n)*?" if line.strip() == "…" else text
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


def expect(block, printed):
    if block.expected is not None and not matches(block.expected, printed):
        raise AssertionError(f"the page expects\n{block.expected}\nbut this was printed:\n{printed}\nby\n{block.text}")


class Shell:
    """Runs blocks of commands in one folder. Exported variables are kept from block to block."""

    def __init__(self, folder, environment, timeout):
        self.folder, self.environment, self.timeout = pathlib.Path(folder), environment, timeout
        self.state = self.folder / ".exported"

    def run(self, text):
        state = f"[ ! -e {self.state} ] || . {self.state}; trap 'export -p > {self.state}' EXIT\n"
        done = subprocess.run(["bash", "-e", "-c", state + text], cwd=self.folder, text=True,
                              env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=self.timeout * PATIENCE, check=False)
        if done.returncode:
            raise AssertionError(f"exit status {done.returncode} and\n{done.stdout}\nof\n{text}")
        return done.stdout


def run_page(page, folder, environment, timeout=300):
    """Returns how many blocks ran and how many outputs were compared. `timeout` is for one block (seconds)."""
    shell, ran, compared = Shell(folder, environment, timeout), 0, 0
    for block in blocks_of(page):
        if block.section == PREPARATION:
            continue
        if block.file:
            path = shell.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            expect(block, shell.run(block.text))
            ran += 1
            compared += block.expected is not None
        elif block.expected is not None:
            raise AssertionError(f"nothing runs the block before this expected output:\n{block.expected}")
    return ran, compared
