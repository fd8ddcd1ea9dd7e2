#!/usr/bin/env python3
"""Prints docs/python-reference.md: what the docstrings of gst_regions say."""

import inspect
import re

import gst_regions

print("""# Functions of gst_regions

Made by `docs/python_reference.py` from the docstrings. [What it is for, and where it differs from others](python.md).
""")
for name in gst_regions.__all__:
    function = getattr(gst_regions, name)
    if not callable(function):
        continue
    text = inspect.getdoc(function)
    # A section's items are a line with a name, and indented lines that say more.
    text = re.sub(r"^(\w+)\n-+$", r"**\1**\n", text, flags=re.M)
    text = re.sub(r"^(\w[\w, ]*) : (.*)$", r"- `\1`: \2.", text, flags=re.M)
    text = re.sub(r"^(TypeError|ValueError)$", r"- `\1`:", text, flags=re.M)
    text = re.sub(r"^ {4}", "  ", text, flags=re.M)
    parameters = ", ".join(str(parameter.replace(annotation=parameter.empty)) if parameter.kind is not
                           parameter.KEYWORD_ONLY else "* " + str(parameter.replace(annotation=parameter.empty))
                           for parameter in inspect.signature(function).parameters.values())
    parameters = parameters.replace("* ", "*, ", 1).replace(", * ", ", ")
    print(f"## {name}\n\n```python\n{name}({parameters})\n```\n\n{text}\n")
