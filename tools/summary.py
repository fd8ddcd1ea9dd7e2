#!/usr/bin/python3
"""Summarises a meson testlog.json: reasons of skipped cases, names of failed cases, the time of each group of tests, and
as the last line `N passed, N failed, N skipped`.

Each case of a GoogleTest or unittest program counts, and every other test counts as one case. Exits with 1 if a case
failed or no test ran.
"""

import collections
import json
import re
import sys

GTEST = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)? \(\d+ ms\)$")
UNITTEST = re.compile(r"^(test\w*) \(")  # the verdict follows there or on a later line
VERDICT = re.compile(r"(?:^| \.\.\. )(ok|FAIL|ERROR|skipped '(.*)')$")


class Summary:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = collections.defaultdict(list)  # reason -> names
        self.seconds = collections.Counter()  # by the first word of the test's name

    def add_test(self, test):
        """One line of testlog.json."""
        name = re.split(r" / |:", test["name"])[-1]
        self.seconds[name.split("-")[0]] += test.get("duration", 0)
        result = test["result"]
        text = (test.get("stdout") or "") + (test.get("stderr") or "")
        cases = self.add_cases(name, text)
        if result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"):
            # A case that crashed or hung has no line in the output.
            if not any(failed.startswith(name + " ") for failed in self.failed):
                self.failed.append(f"{name} ({result.lower()})")
        elif result == "SKIP" and not cases:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            self.skipped[lines[-1] if lines else "no reason given"].append(name)
        elif not cases:
            self.passed += 1

    def add_cases(self, name, text):
        """Adds the cases that a test program printed, and returns their number."""
        cases = list(gtest_cases(text)) + list(unittest_cases(text))
        for case, verdict, reason in cases:
            if verdict == "passed":
                self.passed += 1
            elif verdict == "failed":
                self.failed.append(f"{name} {case}")
            else:
                self.skipped[reason].append(f"{name} {case}")
        return len(cases)

    def text(self):
        lines = []
        for reason, names in sorted(self.skipped.items()):
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            lines.append(f"skipped: {shown}: {reason}")
        lines += [f"failed: {name}" for name in self.failed]
        lines.append("took " + ", ".join(f"{group} {seconds:.0f} s" for group, seconds in self.seconds.most_common()
                                         if seconds >= 1))
        skipped = sum(map(len, self.skipped.values()))
        lines.append(f"{self.passed} passed, {len(self.failed)} failed, {skipped} skipped")
        return "\n".join(lines)


def gtest_cases(text):
    """(name, verdict, reason) of each case of a GoogleTest program."""
    verdicts = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    before = []
    for line in text.splitlines():
        case = GTEST.match(line)
        if case:
            yield case[2], verdicts[case[1]], reason_in(before)
            before = []
        else:
            before.append(line)


def unittest_cases(text):
    """(name, verdict, reason) of each case of a program with unittest.main(verbosity=2)."""
    name = None
    for line in text.splitlines():
        if case := UNITTEST.match(line):
            name = case[1]
        verdict = VERDICT.search(line)
        if name and verdict:
            word = {"ok": "passed", "FAIL": "failed", "ERROR": "failed"}.get(verdict[1], "skipped")
            yield name, word, verdict[2]
            name = None


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
