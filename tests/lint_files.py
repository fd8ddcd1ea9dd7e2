"""The rules of tests/lint for the shape of the tree: how many files there are, how small they are, and how they are named."""

import os
import re
from collections import defaultdict

PRODUCT = ("core", "cpu", "gpu", "plugin", "library", "python")
ROOTS = (*PRODUCT, "python/gst_regions")  # folders of several subjects
CODE = (".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".py")
HEADERS = (".hpp", ".h", ".cuh")
INCLUDE = re.compile(r'#\s*include\s+"([^"]+)"')
MAX_FILES = 330
MAX_SINGLE_HEADERS = 15
MAX_SHORT_FILES = 30
SHORT = 40  # lines
MARKS_A_FOLDER = ("__init__", "__main__")  # Python's own names for parts of a package


def stem_of(name):
    return os.path.splitext(os.path.basename(name))[0]


def check_shape(names, text_of):
    product = [name for name in names if name.split("/")[0] in PRODUCT and name.endswith(CODE)]
    code = [name for name in names if name.endswith(CODE) and not name.startswith("tests/")]
    texts = {name: text_of(name) or "" for name in code}
    included = {name: set(INCLUDE.findall(text)) for name, text in texts.items()}
    return [*too_many(product, texts), *single_headers(code, included), *folders_of_one(product),
            *shared_stems(product, included), *odd_namespaces(product, texts)]


def too_many(product, texts):
    if len(product) > MAX_FILES:
        yield f"{PRODUCT[0]}:1: the product has {len(product)} files, more than {MAX_FILES}: merge files of one subject"
    short = [name for name in product if texts[name].count("\n") <= SHORT]
    if len(short) > MAX_SHORT_FILES:
        yield (f"{short[0]}:1: {len(short)} files have {SHORT} lines or fewer, more than {MAX_SHORT_FILES}: "
               f"{', '.join(short)}")


def single_headers(code, included):
    """Headers with a single includer, not counting the header's own source file and tests."""
    users = defaultdict(set)
    for name, headers in included.items():
        for header in headers:
            if os.path.splitext(name)[0] != os.path.splitext(header)[0]:
                users[header].add(name)
    single = [name for name in code if name.endswith(HEADERS) and len(users[name]) == 1]
    if len(single) > MAX_SINGLE_HEADERS:
        yield (f"{single[0]}:1: {len(single)} headers have a single includer, more than {MAX_SINGLE_HEADERS}: "
               f"{', '.join(single)}")


def folders_of_one(product):
    """Folders that hold one file, or one header and its source."""
    stems = defaultdict(set)
    for name in product:
        stems[os.path.dirname(name)].add(stem_of(name))
    return [f"{folder}:1: a folder holds more than one subject; move {found.pop()} one folder up"
            for folder, found in stems.items() if len(found) == 1 and folder not in ROOTS]


def shared_stems(product, included):
    """Files of one stem do one job on different backends: their folders have one name, or one includes the other's header."""
    groups = defaultdict(list)
    for name in product:
        if stem_of(name) not in MARKS_A_FOLDER:
            groups[stem_of(name)].append(name)
    for stem, files in groups.items():
        jobs = []  # sets of files that do the same job
        for name in files:
            same = [job for job in jobs if any(same_job(name, other, included) for other in job)]
            jobs = [job for job in jobs if job not in same] + [{name}.union(*same)]
        if len(jobs) > 1:
            yield f"{files[0]}:1: files of different jobs have the same name {stem}: {', '.join(files)}"


def same_job(one, other, included):
    return subject_of(one) == subject_of(other) or one in included[other] or other in included[one]


def subject_of(name):
    """The folder's name, or at a root the file's own."""
    folder = os.path.dirname(name)
    return stem_of(name) if folder in ROOTS else os.path.basename(folder)


def odd_namespaces(product, texts):
    """A file's namespace is regions or regions::<its folder>."""
    for name in product:
        folder = os.path.basename(os.path.dirname(name))
        for space in re.findall(r"^namespace regions::([a-z_0-9]+)\b", texts[name], re.M):
            if space != folder:
                yield f"{name}:1: the namespace regions::{space} differs from the folder, {folder}"
