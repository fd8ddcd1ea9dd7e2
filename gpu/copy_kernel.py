"""copy_kernel.py SOURCE COPY DEPFILE ROOT: copies a kernel, and tells ninja which of the project's
headers it includes, at any depth. Meson's rule for nvcc tells nothing of headers (seen with 1.0)."""
import os
import re
import shutil
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def headers_of(path, root, found):
    """Adds to `found`; what is not in the project is another target's or the system's."""
    with open(path) as file:
        for name in INCLUDE.findall(file.read()):
            header = os.path.join(root, name)
            if header not in found and os.path.exists(header):
                found.add(header)
                headers_of(header, root, found)
    return found


def main():
    source, copy, depfile, root = sys.argv[1:]
    headers = sorted(headers_of(source, root, set()))
    shutil.copyfile(source, copy)  # a new time: it is compiled again
    with open(depfile, "w") as file:
        file.write(f"{copy}: " + " ".join(h.replace(" ", r"\ ") for h in headers) + "\n")


if __name__ == "__main__":
    main()
