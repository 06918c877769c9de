"""Tests what scripts/setup.sh says about LibTorch."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The functions of setup.sh, with a download and a wheel that are not real.
SCRIPT = """
. <(sed '$ d' "$0")
DEPS=$1
fetch_wheels() { echo a.whl; }
extract_torch() { mkdir -p "$2/torch"; echo "__version__ = '2.11.0+cu130'" >"$2/torch/version.py"; }
for variant in $2; do install_torch "$variant"; done
"""


def said(variants):
    """Returns the lines of install_torch for each of these variants in one folder."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["bash", "-c", SCRIPT, ROOT / "scripts/setup.sh", folder, variants], check=True, text=True,
                              capture_output=True)
    return done.stdout.splitlines()


class Torch(unittest.TestCase):
    def test_without_a_gpu_the_libraries_of_cuda_are_explained(self):
        fetching, _, installed, there = said("cpu cpu")
        self.assertRegex(fetching, "wheel of PyPI, which is a build for CUDA; only what a CPU needs is kept, .*CUPTI")
        self.assertIn("2.11.0+cu130, without its parts for GPUs, ", installed)
        self.assertIn("2.11.0+cu130, without its parts for GPUs, is already in .deps", there)

    def test_a_libtorch_with_cuda_is_enough_for_a_cpu(self):
        fetching, _, installed, there = said("cuda cpu")
        self.assertIn("and the NVIDIA libraries that it needs", fetching)
        self.assertIn("with its parts for GPUs, ", installed)
        self.assertIn("with its parts for GPUs, is already in .deps", there)


if __name__ == "__main__":
    unittest.main()
