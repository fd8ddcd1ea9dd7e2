#!/usr/bin/env python3
"""Prints docs/python-reference.md: what the docstrings of gst_regions say."""

import inspect
import re

import gst_regions

print("""# Functions of gst_regions

Made by `docs/python_reference.py` from the docstrings. [What it is for, and where it differs from others](python.md).
""")


def describe(name, function, level="##"):
    text = inspect.getdoc(function)
    # A section's items are a line with a name, and indented lines that say more.
    text = re.sub(r"^(\w+)\n-+$", r"**\1**\n", text, flags=re.M)
    text = re.sub(r"^(\w[\w, ]*) : (.*)$", r"- `\1`: \2.", text, flags=re.M)
    text = re.sub(r"^(TypeError|ValueError)$", r"- `\1`:", text, flags=re.M)
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
