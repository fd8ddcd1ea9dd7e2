"""The rules of tests/lint for English: idioms that readers stumble over, in texts that users read, and subjects of commits.

Each idiom has a plain replacement. The list is short on purpose: every entry is wrong wherever it appears in these texts."""

import re

# Texts that users read: pages, and the comments, docstrings and messages of these folders.
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
FOLDERS = ("bench/", "core/", "cpu/", "docs/", "gpu/", "library/", "pipelines/", "plugin/", "python/")
LEFT_OUT = re.compile(r"requirements\.txt$|\.(jpg|svg|json|in)$")
IDIOMS = {pattern: (re.compile(pattern), plain) for pattern, plain in {
    r"\bin place of\b": "instead of",
    r"\bbut for\b": "except",
    r"\b(?:anew|afresh)\b": "again",
    r"\bon end\b": "consecutive",
    r"\bby turns\b": "alternating",
    r"\b(?:is|are|was|were) told\b": "is reported, is stored, is passed",
    r"\btells? (?:of|it|them)\b": "reports, describes",
    r"\b(?:stands?|stood|lies|lay) (?:in|on|beside|behind|where)\b": "is in, is on",
    r"\bso (?:many|much) (?:successive )?(?:frames|pixels|seconds|bytes|threads|columns)\b": "N frames",
    r"\bof (?:its|their) own\b": "its own X",
    r", as (?:it|they) (?:has|have|is|are) (?:no|none)\b": "because",
    r"\bthe (?:one|frame|element|file) (?:before|behind) (?:it|them)\b": "the previous X",
    r"\bit is said\b": "a note, an error or a log line names it",
    r"\bwhat (?:comes|lies|stands|was|is) (?:before|behind|beside|in|on|of) (?:it|them)\b": "use a noun",
    r"\b\d[\d.,]* (?:us|ms|µs|MB|s|%) for \d": "131 µs (was 212 µs)",
    r"\bwhere it is said\b": "if a note names it",
}.items()}
MAX_SUBJECT = 72
SINCE = "8a59ed5"  # earlier subjects stay as they are


def texts_of(name, text):
    """The prose of a file, as (line number, text): all of a page except code and quotations, otherwise comments, docstrings and strings."""
    lines = text.splitlines()
    if name.endswith(".md"):
        fenced = False
        for at, line in enumerate(lines, 1):
            fenced ^= line.lstrip().startswith("```")
            if not fenced and not line.startswith(">"):  # a quotation of a record
                yield at, re.sub(r"`[^`]*`", "X", line)
        return
    is_c = name.endswith((".h", ".c", ".hpp", ".cpp", ".cu"))
    docstring = False
    for at, line in enumerate(lines, 1):
        quotes = 0 if is_c else line.count('"""')
        comment = re.search(r"//+ ?(.*)|^\s*/?\*+ (.*)" if is_c else r"(?:^|\s)#(?!!) ?(.*)", line)
        if docstring or quotes:
            yield at, line
        elif comment:
            yield at, next(filter(None, comment.groups()), "")
        else:
            yield from ((at, found) for found in re.findall(r'"((?:[^"\\]|\\.){20,})"', line))
        docstring ^= quotes == 1


def check_prose(names, text_of):
    problems = []
    for name in names:
        if LEFT_OUT.search(name) or not (name in PAGES or name.startswith(FOLDERS)):
            continue
        for at, prose in texts_of(name, text_of(name) or ""):
            problems += [f"{name}:{at}: '{found[0]}': write: {plain}" for pattern, plain in IDIOMS.values()
                         if (found := pattern.search(prose))]
    return problems


def check_subjects(subjects):
    """`subjects`: lines of a commit's short name and its subject."""
    problems = []
    for line in subjects:
        commit, _, subject = line.partition(" ")
        if len(subject) > MAX_SUBJECT:
            problems.append(f"{commit}: the subject has {len(subject)} characters, more than {MAX_SUBJECT}: {subject}")
        if ";" in subject:
            problems.append(f"{commit}: a subject names one change, without ';': {subject}")
    return problems
