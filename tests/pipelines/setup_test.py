#!/usr/bin/python3
"""pipelines/setup finds the architectures of the GPUs, with fake programs nvcc and nvidia-smi."""

import os
import subprocess
import tempfile
import unittest

import media

KNOWN = "sm_80\nsm_89\nsm_90\nsm_120\n"


class Architectures(unittest.TestCase):
    def found(self, gpus):
        """The architectures for this output of nvidia-smi. None: nvidia-smi fails, as without a driver."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("nvcc", KNOWN), ("nvidia-smi", gpus)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\n" + ("echo failed; exit 9\n" if text is None else f"cat <<END\n{text}END\n"))
                os.chmod(path, 0o755)
            script = f"set -euo pipefail; source <(sed -n '/^local_archs()/,/^}}/p' {media.script('setup')}); local_archs"
            return subprocess.run(["bash", "-c", script], check=True, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]}).stdout.strip()

    def test_gpu_architectures_with_several_gpus_are_those_that_nvcc_supports(self):
        self.assertEqual(self.found("8.9\n"), "89")
        self.assertEqual(self.found("12.0\n9.0\n9.0\n"), "90,120")
        self.assertEqual(self.found("6.1\n8.0\n"), "80")

    def test_gpu_architectures_without_supported_gpu_are_empty(self):
        self.assertEqual(self.found("6.1\n"), "")
        self.assertEqual(self.found("[N/A]\n"), "")
        self.assertEqual(self.found(None), "")


if __name__ == "__main__":
    unittest.main()
