#!/usr/bin/env python3
"""Tests the machine code of libencode_cuda.so: docs/cuda-machine-code.md has its memory and tensor-core instructions, no kernel
reads or writes global memory one byte at a time, and each kernel waits for the earlier kernels before anything else.

usage: machine_code_test.py LIBRARY NVCC
       machine_code_test.py LIBRARY --write      writes the page
"""
import collections
import concurrent.futures
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".deps/cuobjdump/nvidia/cu13/bin"
PAGE = ROOT / "docs/cuda-machine-code.md"
LIBRARY, NVCC = pathlib.Path(sys.argv[1]), sys.argv[2]
ARCHITECTURES = ["80", "90a", "100", "120"]
NO_EARLY_START = ["80"]  # these devices start a kernel only when the one before it has ended
WIDTHS = [16, 8, 4, 2, 1]  # the bytes that one thread moves with one instruction
# Instructions of NVIDIA's assembly (SASS): LDG and STG move data between registers and global memory, LDL and STL between
# registers and local memory (registers that were spilled). The tensor cores run the others.
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?"  # the address and the predicate
                         r"(LDG|STG|LDL|STL|HMMA|IMMA|QMMA|HGMMA|QGMMA|UTCHMMA)((?:\.\w+)*)", re.M)
# Any instruction, with its name alone.
NAME = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\w+)", re.M)
# griddepcontrol.wait, with which a kernel waits for the earlier kernels of its stream.
WAIT = "ACQBULK"
# Instructions that may not come before WAIT: they use memory that other kernels write, or some threads never reach the WAIT.
AFTER_WAIT = re.compile(r"LDG|STG|LD|ST|LDGSTS|ATOM\w*|RED\w*|UBLK\w*|UTMA\w*|BRA|BRX|JMP|JMX|EXIT|CALL|RET|BREAK|WARPSYNC")
USAGE = re.compile(r"Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)")
HEAD = """# The machine code of the CUDA kernels

`tests/scripts/machine_code_test.py` makes this page from `libencode_cuda.so`, with NVIDIA's `cuobjdump`. The test
`scripts_test.machine_code` fails if the library has other figures. Whoever changes a figure writes the page anew and gives the
reason in the commit.

A column of loads or stores counts the instructions that move 16, 8, 4, 2 and 1 bytes between global memory and the registers of
one thread. A kernel whose data is aligned to 16 bytes needs the first kind. No kernel may use the last kind. "Spills" counts
the instructions that move registers to and from local memory. From 90a on, CUDA itself keeps 1,024 bytes of shared memory for each
block. "Architectures" are NVIDIA's names without `sm_`. A kernel has one
row for all architectures on which its figures are equal.
"""
COLUMNS = ["kernel", "architectures", "registers", "shared memory, bytes", "loads", "stores", "spills", "tensor-core products"]


def run(*arguments):
    """Returns what cuobjdump prints."""
    environment = dict(os.environ, PATH=f"{TOOLS}:{os.environ.get('PATH', '')}")
    return subprocess.run([str(TOOLS / "cuobjdump"), *map(str, arguments)], check=True, capture_output=True, text=True,
                          env=environment).stdout


def width(suffix):
    """Returns the bytes that a load or store with this suffix moves for one thread."""
    parts = suffix.split(".")
    if "U8" in parts or "S8" in parts:
        return 1
    if "U16" in parts or "S16" in parts:
        return 2
    bits = [int(part) for part in parts if part in ("64", "128", "256")]
    return bits[0] // 8 if bits else 4


def demangled(names):
    """Returns the kernels' names in C++, without namespaces and arguments."""
    text = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout
    result = {}
    for name, line in zip(names, text.splitlines()):
        line = re.sub(r"encode::cuda::(\(anonymous namespace\)::)?", "", line.removeprefix("void "))
        depth, end = 0, len(line)
        for at, char in enumerate(line):
            depth += {"<": 1, ">": -1}.get(char, 0)
            if char == "(" and depth == 0:
                end = at
                break
        result[name] = re.sub(r"\((?:EncodeCuda)?(\w+)\)(\d+)", r"\1 \2", line[:end])
    return result


def counts(code):
    """Returns the figures of one kernel's machine code: (loads, stores, spills, products)."""
    loads, stores, spills, products = collections.Counter(), collections.Counter(), 0, 0
    for name, suffix in INSTRUCTION.findall(code):
        if name == "LDG":
            loads[width(suffix)] += 1
        elif name == "STG":
            stores[width(suffix)] += 1
        elif name in ("LDL", "STL"):
            spills += 1
        else:
            products += 1
    return loads, stores, spills, products


def waits_first(code):
    """Returns whether all threads wait for the earlier kernels before the kernel uses global memory."""
    names = NAME.findall(code)
    return WAIT in names and not any(AFTER_WAIT.fullmatch(name) for name in names[:names.index(WAIT)])


def read(library, architecture):
    """Returns {kernel: figures} of one architecture."""
    options = ["-arch", f"sm_{architecture}", library] if library.suffix == ".so" else [library]
    usage = {name: (int(registers), int(shared))
             for name, registers, _, shared in USAGE.findall(run("-res-usage", *options))}
    sections = [part.split("\n", 1) for part in run("-sass", *options).split("Function : ")[1:]]
    if not sections:
        sys.exit(f"{library}: no kernel for architecture {architecture}")
    names = demangled([name.strip() for name, _ in sections])
    return {names[name.strip()]: usage[name.strip()] + counts(code) + (waits_first(code),) for name, code in sections}


def moves(counter):
    """Returns for example "584 x 16, 24 x 8"."""
    return ", ".join(f"{counter[size]} x {size}" for size in WIDTHS if counter[size]) or "none"


def table(kernels):
    """Returns the lines of the page's table. `kernels` is {architecture: {kernel: figures}}."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    for kernel in sorted(set().union(*kernels.values())):
        rows = collections.defaultdict(list)
        for architecture in kernels:
            if kernel in kernels[architecture]:
                registers, shared, loads, stores, spills, products, _ = kernels[architecture][kernel]
                rows[(registers, shared, moves(loads), moves(stores), spills, products)].append(architecture)
        for figures, architectures in rows.items():
            cells = [f"`{kernel}`", " ".join(architectures), *map(str, figures)]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def faults(kernels):
    """Returns what breaks a rule."""
    found = []
    for architecture, figures in kernels.items():
        for kernel, (_, _, loads, stores, _, _, waits) in figures.items():
            if loads[1] + stores[1]:
                found.append(f"{kernel} ({architecture}): {loads[1]} loads and {stores[1]} stores of one byte; read and write 16 "
                             "bytes at once, and pass them by value")
            if not waits and architecture not in NO_EARLY_START:
                found.append(f"{kernel} ({architecture}): call wait_for_earlier_kernels() first, in all threads")
    return found


def compiler(library):
    """Returns the version of the nvcc that compiled the library, which ptxas notes in each kernel's ELF file."""
    found = re.search(rb"Cuda compilation tools, release [\d.]+, V([\d.]+)", library.read_bytes())
    return found[1].decode() if found else "of an unknown version"


def machine_code(library):
    """Returns the lines of the page, and what breaks a rule."""
    architectures = ARCHITECTURES if library.suffix == ".so" else ["as compiled"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        kernels = dict(zip(architectures, pool.map(lambda architecture: read(library, architecture), architectures)))
    return HEAD.splitlines() + ["", f"nvcc {compiler(library)} compiled the library.", ""] + table(kernels), faults(kernels)


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

WAITS_FIRST = """
__global__ void waits(const int* from, int* to, int count) {
  cudaGridDependencySynchronize();
  if (threadIdx.x < count) to[threadIdx.x] = from[threadIdx.x];
}
"""
READS_FIRST = """
__global__ void reads(const int* from, int* to) {
  const int value = *static_cast<const volatile int*>(from + threadIdx.x);
  cudaGridDependencySynchronize();
  to[threadIdx.x] = value;
}
"""
LEAVES_FIRST = """
__global__ void leaves(const int* from, int* to, int count) {
  if (threadIdx.x >= count) return;
  cudaGridDependencySynchronize();
  to[threadIdx.x] = from[threadIdx.x];
}
"""


class MachineCode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compiled(self, source):
        (self.folder / "kernel.cu").write_text(source)
        subprocess.run([NVCC, "-cubin", "-arch=sm_90a", "-o", self.folder / "kernel.cubin", self.folder / "kernel.cu"], check=True)
        return machine_code(self.folder / "kernel.cubin")

    def test_the_library_has_the_figures_of_the_page(self):
        lines, found = machine_code(LIBRARY)
        self.assertEqual(found, [])
        stored = PAGE.read_text().splitlines()
        versions = [[line for line in page if line.startswith("nvcc ")] for page in (stored, lines)]
        if versions[0] != versions[1]:
            self.skipTest(f"only the rules were checked, because the page has the figures of another compiler: {versions}")
        self.assertEqual("\n".join(difflib.unified_diff(stored, lines, PAGE.name, "the library", lineterm="", n=0)), "")

    def test_a_kernel_that_copies_bytes_is_refused(self):
        _, found = self.compiled(BYTES)
        self.assertIn("copy_bytes (as compiled): 16 loads and 16 stores of one byte", "\n".join(found))

    def test_a_kernel_waits_for_earlier_kernels_first(self):
        self.assertEqual(self.compiled(WAITS_FIRST)[1], [])
        for source in (READS_FIRST, LEAVES_FIRST, WAITS_FIRST.replace("cudaGridDependencySynchronize();", "")):
            with self.subTest(source):
                self.assertIn("call wait_for_earlier_kernels() first", "\n".join(self.compiled(source)[1]))

    def test_spills_are_counted(self):
        lines, _ = self.compiled(SPILLS)
        row = next(line for line in lines if line.startswith("| `spill`"))
        self.assertGreater(int(row.split("|")[7]), 0, row)


if __name__ == "__main__":
    if not (TOOLS / "cuobjdump").exists():
        print(f"skipped: there is no {TOOLS}/cuobjdump; scripts/setup.sh installs it")
        sys.exit(77)
    if NVCC == "--write":
        PAGE.write_text("\n".join(machine_code(LIBRARY)[0]) + "\n")
        sys.exit()
    unittest.main(argv=sys.argv[:1])
