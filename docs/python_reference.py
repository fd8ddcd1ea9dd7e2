#!/usr/bin/env python3
"""Prints docs/python-reference.md, made from the docstrings of gst_regions."""

import inspect
import re

import gst_regions

print("""# Functions of gst_regions

`docs/python_reference.py` makes this page from the docstrings. For an introduction, see [gst_regions for Python](python.md).
""")


def describe(name, function, level="##"):
    text = inspect.getdoc(function)
    # An item of a section is a line with a name, followed by indented lines.
    text = re.sub(r"^(\w+)\n-+$", r"**\1**\n", text, flags=re.M)
    text = re.sub(r"^(\w[\w, ]*) : (.*)$", r"- `\1`: \2.", text, flags=re.M)
    text = re.sub(r"^(ImportError|OSError|RuntimeError|TypeError|ValueError)$", r"- `\1`:", text, flags=re.M)
    text = re.sub(r"^ {4}", "  ", text, flags=re.M)
    known = [parameter.replace(annotation=parameter.empty) for parameter in inspect.signature(function).parameters.values()
             if parameter.name != "self"]
    alone = [at for at, parameter in enumerate(known) if parameter.kind is parameter.KEYWORD_ONLY]
    words = list(map(str, known))
    if alone:
        words.insert(alone[0], "*")
    print(f"{level} {name}\n\n```python\n{name.rpartition('.')[2]}({', '.join(words)})\n```\n\n{text}\n")


for name in gst_regions.__all__:
    found = getattr(gst_regions, name)
    if not callable(found):
        continue
    describe(name, found)
    if inspect.isclass(found):
        for method, function in inspect.getmembers(found, inspect.isfunction):
            if not method.startswith("_"):
                describe(f"{name}.{method}", function, "###")
