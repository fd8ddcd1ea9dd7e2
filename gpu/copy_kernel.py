"""copy_kernel.py SOURCE COPY DEPFILE ROOT: copies a file with kernels, lets it be found by what
loads them, and tells ninja which of the project's headers it includes, at any depth. Meson's rule
for nvcc tells nothing of headers (seen with 1.0)."""
import os
import re
import sys

END = """
#include "gpu/runtime/kernel_file.hpp"
namespace {
__global__ void any_kernel() {}
const regions::KernelFile kFile(reinterpret_cast<const void*>(any_kernel));
}  // namespace
"""
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def text_of(path):
    with open(path) as file:
        return file.read()


def headers_of(text, root, found):
    """Adds to `found`; what is not in the project is another target's or the system's."""
    for name in INCLUDE.findall(text):
        header = os.path.join(root, name)
        if header not in found and os.path.exists(header):
            found.add(header)
            headers_of(text_of(header), root, found)
    return found


def main():
    source, copy, depfile, root = sys.argv[1:]
    text = text_of(source) + END
    headers = sorted(headers_of(text, root, set()))
    with open(copy, "w") as file:  # a new time: it is compiled again
        file.write(text)
    with open(depfile, "w") as file:
        file.write(f"{copy}: " + " ".join(h.replace(" ", r"\ ") for h in headers) + "\n")


if __name__ == "__main__":
    main()
