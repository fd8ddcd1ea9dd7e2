"""The rules of tests/lint for documents: they cover every element, and their links, paths and variables exist."""

import re

# Documents that speak of every element, and how.
OF_ELEMENTS = {"README.md": "| `{}` |", "docs/algorithms.md": "## {}", "docs/elements.md": "## {}"}
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")  # in a document, to a file
FENCED = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.M | re.S)
BACK_TICKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(r"[\w.+-]+(/[\w.+-]+)*/?")  # without a placeholder such as <device>, * or {a,b}
PLACEHOLDER = re.compile(r"(^|/)(NAME|FILE)([./]|$)")  # core/NAME/NAME.hpp
MADE_BY_READERS = {"docs/guides/add-an-algorithm.md": re.compile(r"\bdim\b")}  # page: paths of the example
SOURCE = (".hpp", ".cpp", ".cu", ".cuh")
MADE_FROM = ("", ".in", ".cpp")  # meson fills in a template, a program has the name of its source

ENVIRONMENT = "docs/environment.md"
OWN_VARIABLE = "REGIONS_"
# How C++, Python and a shell read a variable of the environment.
READS = [re.compile(pattern) for pattern in (
    r'getenv\("([A-Z]\w+)"', r"environ(?:\.get|\.setdefault|\.pop)?[(\[][\"']([A-Z]\w+)",
    r"[\"']([A-Z]\w+)[\"'] (?:not )?in os\.environ\b", r"\$\{([A-Z]\w+):?[-+=?]", r"\$(REGIONS_\w+)")]
# Folders whose variables are a user's business; of the others, the project's own variables.
OF_USERS = ("plugin/", "core/", "cpu/", "gpu/", "library/", "python/", "pipelines/", "bench/")


def check_documents(root, names, text_of):
    documents = [name for name in names if name.endswith(".md")]
    pages = [name for name in documents if name.startswith("docs/") or name in ("README.md", "CONTRIBUTING.md")]
    return [*elements_left_out(text_of), *broken_links(root, documents, text_of),
            *broken_paths(root, names, pages, text_of), *variables_left_out(names, text_of)]


def elements_left_out(text_of):
    listed = re.search(r"^algorithms = \{(.*?)\}", text_of("meson.build"), re.M | re.S)
    return [f"{name}:1: says nothing of {element}: no line begins with {how.format(element)}"
            for name, how in OF_ELEMENTS.items() for element in re.findall(r"'(\w+)':", listed[1])
            if not any(line.startswith(how.format(element)) for line in text_of(name).splitlines())]


def broken_links(root, documents, text_of):
    return [f"{name}:1: {path} does not exist" for name in documents
            for path in LINK.findall(FENCED.sub("", text_of(name))) if not (root / name).parent.joinpath(path).exists()]


def broken_paths(root, names, pages, text_of):
    """Back-ticked words that look like a path in the tree but do not exist there."""
    for page in pages:
        above = page.rpartition("/")[0]
        folders = {name.removeprefix(start).split("/")[0] for start in ("", above + "/") for name in names
                   if name.startswith(start) and "/" in name.removeprefix(start)}
        # Fenced blocks lose their text and keep their lines.
        text = FENCED.sub(lambda block: "\n" * block[0].count("\n"), text_of(page))
        for at, line in enumerate(text.splitlines(), 1):
            for words in BACK_TICKED.findall(line):
                path = words.split()[0] if words.strip() else ""
                made = MADE_BY_READERS.get(page)
                if not PATH.fullmatch(path) or PLACEHOLDER.search(path) or (made and made.search(path)):
                    continue
                folder = (root / page).parent
                first, slash, _ = path.partition("/")
                looks = first in folders if slash else path.endswith(SOURCE)
                if looks and not any((place / (path + suffix)).exists() for place in (root, folder)
                                     for suffix in MADE_FROM):
                    yield f"{page}:{at}: `{path}` does not exist in the tree, nor next to this page"


def variables_read(names, text_of):
    """{variable of the environment: the first file that reads it}"""
    read = {}
    for name in names:
        text = text_of(name)
        if text is None or name.endswith(".md"):
            continue
        for variable in (found for pattern in READS for found in pattern.findall(text)):
            if variable.startswith(OWN_VARIABLE) or name.startswith(OF_USERS):
                read.setdefault(variable, name)
    return read


def variables_left_out(names, text_of):
    """Variables that the tree reads and docs/environment.md does not list, and own ones on it that nothing reads."""
    read, page = variables_read(names, text_of), text_of(ENVIRONMENT)
    listed = set(re.findall(r"`(\w+)(?:=[^`]*)?`", page))
    return ([f"{name}:1: reads {variable}, which {ENVIRONMENT} does not list"
             for variable, name in sorted(read.items()) if variable not in listed] +
            [f"{ENVIRONMENT}:1: lists {variable}, which nothing reads"
             for variable in sorted(listed) if variable.startswith(OWN_VARIABLE) and variable not in read])
