"""The part of the GPU suite that is about the Python package: its tests on arrays of the device, and figures beside
peers. Of the host it takes Python, NumPy and what there is of CuPy, PyTorch and JAX."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUTCOMES = [re.compile(rf"\b{name}=(\d+)") for name in ("failures", "errors", "skipped")]
NO_LIBRARY = "no library of arrays"  # as the tests say that they skip without one


def outcomes(text):
    """(passed, failed, skipped) of what unittest wrote last."""
    ran = re.findall(r"^Ran (\d+) tests?", text, re.M)
    failures, errors, skipped = (int((pattern.findall(text) or ["0"])[-1]) for pattern in OUTCOMES)
    failed = failures + errors
    return max(int(ran[-1]) - failed - skipped if ran else 0, 0), failed, skipped


class PythonPart:
    """Of a Suite: needs its runner, counts, call(), fail() and program()."""

    def python(self):
        folder = os.path.join(HERE, "python")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        paths = [os.path.join(folder, name) for name in ("site", "site-" + version)] + [os.environ.get("PYTHONPATH", "")]
        env = dict(os.environ, PYTHONPATH=":".join(filter(None, paths)))
        command = [sys.executable, "-m", "unittest", "discover", "-v", "-s", os.path.join(folder, "tests")]
        status, text = self.call([*command, "-p", "device_*_test.py"], "tests of the Python package", 300, env)
        passed, failed, skipped = outcomes(text)
        for name, count in (("passed", passed), ("failed", failed), ("skipped", skipped)):
            self.counts[name] += count
        if status != 0 or not passed or NO_LIBRARY in text:
            self.fail(f"the Python package's tests on arrays of the device: {passed} passed, {failed} failed, "
                      f"{skipped} skipped, status {status}" + ", no CuPy and no PyTorch" * (NO_LIBRARY in text))
        self.runner.run([sys.executable, os.path.join(HERE, "bench", "peers", "python_device_peers.py"), "--json",
                         "--picture", self.program("picture")], "label of Python beside peers", timeout=600, env=env)
