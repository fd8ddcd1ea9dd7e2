#!/usr/bin/python3
"""Counts the cases in a meson testlog.json and prints, as the last line,
`N passed, N failed, N skipped`, after the reasons of what was skipped and the names of what failed.

A GoogleTest program counts by its cases, every other test as one. Exit status 1 if anything failed
or nothing ran.
"""

import collections
import json
import re
import sys

CASE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)? \(\d+ ms\)$")


class Summary:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = collections.defaultdict(list)  # reason -> names

    def add_test(self, test):
        """One line of testlog.json."""
        name, result, text = test["name"], test["result"], test.get("stdout") or ""
        cases = self.add_cases(name, text)
        if result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"):
            # A case that crashed or hung has no line of its own.
            if not any(failed.startswith(name + " ") for failed in self.failed):
                self.failed.append(f"{name} ({result.lower()})")
        elif result == "SKIP" and not cases:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            self.skipped[lines[-1] if lines else "no reason given"].append(name)
        elif not cases:
            self.passed += 1

    def add_cases(self, name, text):
        """The cases of a GoogleTest program, from what it printed; returns how many there were."""
        count = 0
        before = []
        for line in text.splitlines():
            case = CASE.match(line)
            if not case:
                before.append(line)
                continue
            count += 1
            if case[1] == "OK":
                self.passed += 1
            elif case[1] == "FAILED":
                self.failed.append(f"{name} {case[2]}")
            else:
                self.skipped[reason_in(before)].append(f"{name} {case[2]}")
            before = []
        return count

    def text(self):
        lines = []
        for reason, names in sorted(self.skipped.items()):
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            lines.append(f"skipped: {shown}: {reason}")
        lines += [f"failed: {name}" for name in self.failed]
        skipped = sum(map(len, self.skipped.values()))
        lines.append(f"{self.passed} passed, {len(self.failed)} failed, {skipped} skipped")
        return "\n".join(lines)


def reason_in(lines):
    """GoogleTest prints `FILE:LINE: Skipped` and the reason on the lines below it."""
    for at, line in enumerate(lines):
        if line.endswith(": Skipped"):
            reason = " ".join(part.strip() for part in lines[at + 1:] if part.strip())
            return reason or "no reason given"
    return "no reason given"


def main(path):
    summary = Summary()
    try:
        with open(path, encoding="utf-8") as log:
            for line in log:
                summary.add_test(json.loads(line))
    except FileNotFoundError:
        summary.failed.append("no test ran")
    print(summary.text())
    return 1 if summary.failed or not summary.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
