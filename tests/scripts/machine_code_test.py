#!/usr/bin/env python3
"""Tests scripts/gpu/machine_code.py, and with it the machine code of libencode_cuda.so.

usage: machine_code_test.py LIBRARY NVCC
"""
import difflib
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".deps/cuobjdump/nvidia/cu13/bin"
PAGE = ROOT / "docs/cuda-machine-code.md"
LIBRARY, NVCC = sys.argv[1:3]
# The alignment of a structure of bytes is 1, so the compiler copies it byte by byte.
BYTES = """
struct Bytes { char values[16]; };
__global__ void copy_bytes(const Bytes* from, Bytes* to) { to[threadIdx.x] = from[threadIdx.x]; }
"""
# The array does not fit in the registers, because the loop's index is not known to the compiler.
SPILLS = """
__global__ void spill(const float4* from, float4* to, int count) {
  float4 kept[64];
  for (int i = 0; i < count; ++i) kept[from[i].x > 0 ? i : 63 - i] = from[i];
  for (int i = 0; i < count; ++i) to[i] = kept[i ^ count];
}
"""


def machine_code(library, page):
    """Writes the page, and returns its lines and what the program found."""
    result = subprocess.run([sys.executable, "-B", ROOT / "scripts/gpu/machine_code.py", "--tools", TOOLS, library, page],
                            capture_output=True, text=True, check=False)
    return page.read_text().splitlines(), result.stderr.strip(), result.returncode


class MachineCode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compiled(self, source):
        (self.folder / "kernel.cu").write_text(source)
        subprocess.run([NVCC, "-cubin", "-arch=sm_90a", "-o", self.folder / "kernel.cubin", self.folder / "kernel.cu"], check=True)
        return machine_code(self.folder / "kernel.cubin", self.folder / "page.md")

    def test_the_library_has_the_figures_of_the_page(self):
        lines, faults, code = machine_code(LIBRARY, self.folder / "page.md")
        self.assertEqual((faults, code), ("", 0))
        stored = PAGE.read_text().splitlines()
        versions = [[line for line in page if line.startswith("nvcc ")] for page in (stored, lines)]
        if versions[0] != versions[1]:
            self.skipTest(f"only the rules were checked, because the page has the figures of another compiler: {versions}")
        self.assertEqual("\n".join(difflib.unified_diff(stored, lines, PAGE.name, "the library", lineterm="", n=0)), "")

    def test_a_kernel_that_copies_bytes_is_refused(self):
        _, faults, code = self.compiled(BYTES)
        self.assertEqual(code, 1)
        self.assertIn("copy_bytes (as compiled): 16 loads and 16 stores of one byte", faults)

    def test_spills_are_counted(self):
        lines, _, _ = self.compiled(SPILLS)
        row = next(line for line in lines if line.startswith("| `spill`"))
        self.assertGreater(int(row.split("|")[7]), 0, row)


if __name__ == "__main__":
    if not (TOOLS / "cuobjdump").exists():
        print(f"skipped: there is no {TOOLS}/cuobjdump; scripts/setup.sh installs it")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
