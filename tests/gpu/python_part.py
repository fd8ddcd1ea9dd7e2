"""The part of the GPU suite that is about the Python package: its tests on arrays of the device, and figures beside
peers. Of the host it takes Python, NumPy and what there is of CuPy, PyTorch and JAX."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUTCOMES = {name: re.compile(rf"\b{name}=(\d+)") for name in ("failures", "errors", "skipped")}


def outcomes(text):
    """(passed, failed, skipped) of what unittest wrote last."""
    ran = re.findall(r"^Ran (\d+) tests?", text, re.M)
    found = {name: int((pattern.findall(text) or ["0"])[-1]) for name, pattern in OUTCOMES.items()}
    failed = found["failures"] + found["errors"]
    return max(int(ran[-1]) if ran else 0, failed + found["skipped"]) - failed - found["skipped"], failed, found["skipped"]


class PythonPart:
    """Of a Suite: needs its runner, counts, call(), fail() and program()."""

    def python(self):
        folder = os.path.join(HERE, "python")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        paths = [os.path.join(folder, name) for name in ("site", "site-" + version)] + [os.environ.get("PYTHONPATH", "")]
        env = dict(os.environ, PYTHONPATH=":".join(filter(None, paths)))
        status, text = self.call([sys.executable, "-m", "unittest", "discover", "-v", "-s", os.path.join(folder, "tests"),
                                  "-p", "device_*_test.py"], "tests of the Python package", 300, env)
        passed, failed, skipped = outcomes(text)
        for name, count in (("passed", passed), ("failed", failed), ("skipped", skipped)):
            self.counts[name] += count
        if status != 0 or not passed:
            self.fail(f"the Python package's tests on arrays of the device: {passed} passed, {failed} failed, "
                      f"{skipped} skipped, status {status}")
        self.runner.run([sys.executable, os.path.join(HERE, "bench", "peers", "python_device_peers.py"), "--json",
                         "--picture", self.program("picture")], "label of Python beside peers", timeout=600, env=env)
