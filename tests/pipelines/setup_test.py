#!/usr/bin/python3
"""pipelines/setup with fake programs: it finds the architectures of the GPUs, and waits for the locks of apt."""

import os
import subprocess
import tempfile
import unittest

import media

KNOWN = "sm_80\nsm_89\nsm_90\nsm_120\n"


class Architectures(unittest.TestCase):
    def found(self, gpus):
        """The architectures for this output of nvidia-smi, and whether other GPUs need portable code. None: nvidia-smi
        fails, as without a driver."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("nvcc", KNOWN), ("nvidia-smi", gpus)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\n" + ("echo failed; exit 9\n" if text is None else f"cat <<END\n{text}END\n"))
                os.chmod(path, 0o755)
            script = (f"set -euo pipefail; source <(sed -n '/^find_local_archs()/,/^}}/p' {media.script('setup')});"
                      " find_local_archs; echo \"$archs portable=$portable\"")
            return subprocess.run(["bash", "-c", script], check=True, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]}).stdout.strip()

    def test_gpu_architectures_with_several_gpus_are_those_that_nvcc_supports(self):
        self.assertEqual(self.found("8.9\n"), "89 portable=0")
        self.assertEqual(self.found("12.0\n9.0\n9.0\n"), "90,120 portable=0")
        self.assertEqual(self.found("6.1\n8.0\n"), "80 portable=1")

    def test_gpu_architectures_without_supported_gpu_are_empty(self):
        self.assertEqual(self.found("6.1\n"), "portable=1")
        self.assertEqual(self.found("[N/A]\n"), "portable=1")

    def test_gpu_architectures_without_a_driver_are_unknown(self):
        self.assertEqual(self.found(None), "portable=none")


class Configuration(unittest.TestCase):
    def stamps(self, *calls):
        """The options of the build after each call of configure(), for these values of `tests`, without a driver."""
        with tempfile.TemporaryDirectory() as folder:
            made = f"mkdir -p {folder}/b/meson-private; touch {folder}/b/build.ninja {folder}/b/meson-private/coredata.dat"
            for name, body in (("nvcc", "exit 0"), ("nvidia-smi", "exit 9"), ("meson", made)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{body}\n")
                os.chmod(path, 0o755)
            script = ("set -euo pipefail; say() { :; }; fail() { exit 3; }; cuda=auto werror=false host_compiler=g++; "
                      f"source <(sed -n '/^find_local_archs()/,/^}}/p; /^configure()/,/^}}/p' {media.script('setup')}); "
                      f"build={folder}/b; for tests in {' '.join(calls)}; do options=(); configure;"
                      " cat $build/setup-options; done")
            return subprocess.run(["bash", "-c", script], check=True, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]}).stdout.splitlines()

    def test_portable_code_without_a_driver_is_left_out_of_new_builds_with_tests(self):
        for calls, left_out in ((("1",), [True]), (("1", "0"), [True, True]), (("0",), [False]), (("0", "1"), [False, False])):
            stamps = self.stamps(*calls)
            self.assertEqual(["-Dcuda-ptx=" in stamp for stamp in stamps], left_out, calls)
            self.assertEqual("-Dtests=enabled" in stamps[-1], "1" in calls)


class Packages(unittest.TestCase):
    def after_failures(self, error, count):
        """The end of `apt update` if apt-get fails so often with this error: (exit status, messages, calls)."""
        with tempfile.TemporaryDirectory() as folder:
            programs = {"sudo": 'exec "$@"\n', "sleep": "",
                        "apt-get": f"""echo "$@" >> {folder}/calls
[ $(wc -l < {folder}/calls) -gt {count} ] || {{ echo '{error}' >&2; exit 100; }}
"""}
            for name, text in programs.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\n" + text)
                os.chmod(path, 0o755)
            script = ("set -euo pipefail; say() { echo \"setup: $*\" >&2; }; "
                      f"source <(sed -n '/^as_root()/,/^}}/p; /^apt()/,/^}}/p' {media.script('setup')}); apt update -qq")
            done = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True,
                                  env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})
            with open(os.path.join(folder, "calls"), encoding="utf-8") as file:
                return done.returncode, done.stderr, file.read().splitlines()

    def test_apt_lock_held_by_another_program_is_waited_for(self):
        lock = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 123 (apt-get)"
        status, said, calls = self.after_failures(lock, 2)
        self.assertEqual((status, len(calls)), (0, 3), said)
        self.assertEqual(said.count("setup: waiting for another program that installs packages: " + lock), 2)
        self.assertIn("DPkg::Lock::Timeout=600", calls[0])

    def test_apt_other_error_fails_at_once_with_the_message(self):
        status, said, calls = self.after_failures("E: Unable to locate package nothing", 9)
        self.assertEqual((status, said, len(calls)), (100, "E: Unable to locate package nothing\n", 1))


if __name__ == "__main__":
    unittest.main()
