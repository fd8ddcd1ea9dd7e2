#!/usr/bin/env python3
"""The sources of a GPU record, their hashes, and the stamp that every binary contains.

    sources.py --stamp FILE ROOT   writes C++ code with the hash of ROOT's sources, if it changed
    sources.py --of BINARY...      prints the hash that each binary contains
"""
import hashlib
import os
import re
import sys

# Folders that can change the result of tools/gpu/suite, in addition to the build files.
FOLDERS = ("core", "gpu", "plugin", "tools/gpu", "bench")
BUILD_FILES = ("meson.build", "meson_options.txt")
# Records and reports, and programs that the suite does not run.
REPORT_ONLY = ("bench/results/", "bench/report/", "bench/run", "bench/peers/", "bench/archives.py", "bench/devices.py",
               "bench/view.py")
PEERS = ("bench/peers/cclabel_device_peers.py", "bench/peers/cclabel_peers.py",  # the suite runs these
         "bench/peers/npp.cpp", "bench/peers/python_device_peers.py", "bench/peers/python_peers.py")
MARK = b"gst-regions-sources:"


def recorded(root):
    """{path: SHA-256} of the recorded sources under root."""
    paths = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = [name for name in subfolders
                         if not name.startswith((".", "build", "__pycache__"))]
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), root)
            inside = path.startswith(tuple(f + "/" for f in FOLDERS))
            described = path.startswith(REPORT_ONLY) and path not in PEERS
            if (inside or path in BUILD_FILES) and not described:
                paths.append(path)
    hashes = {}
    for path in sorted(paths):
        with open(os.path.join(root, path), "rb") as file:
            hashes[path] = hashlib.sha256(file.read()).hexdigest()
    return hashes


def hash_of(hashes):
    """One hash for all of them."""
    lines = "".join(f"{path} {digest}\n" for path, digest in sorted(hashes.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def stamp_of(binary):
    """The hash that a binary contains, or None."""
    with open(binary, "rb") as file:
        found = set(re.findall(MARK + rb"([0-9a-f]{64})", file.read()))
    return found.pop().decode() if len(found) == 1 else None


def write_stamp(path, root):
    text = ("// The hash of the sources this was built from (tools/gpu/sources.py).\n"
            "extern const char regions_sources_stamp[];\n"
            "__attribute__((used)) const char regions_sources_stamp[] =\n"
            f"    \"{MARK.decode()}{hash_of(recorded(root))}\";\n")
    if os.path.exists(path):
        with open(path) as file:
            if file.read() == text:
                return
    with open(path, "w") as file:
        file.write(text)


def main(words):
    if len(words) == 3 and words[0] == "--stamp":
        write_stamp(words[1], words[2])
    elif len(words) >= 2 and words[0] == "--of":
        for binary in words[1:]:
            print(stamp_of(binary) or "-", binary)
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    main(sys.argv[1:])
