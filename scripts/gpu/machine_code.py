#!/usr/bin/env python3
"""Counts the memory and tensor-core instructions of the kernels in libencode_cuda.so, as docs/cuda-machine-code.md.

    machine_code.py --tools DIR LIBRARY PAGE

DIR has NVIDIA's programs cuobjdump and nvdisasm. LIBRARY is a shared library or a .cubin. PAGE is written. The exit code is 1 if a
kernel reads or writes global memory one byte at a time.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ARCHITECTURES = ["80", "90a", "100", "120"]
WIDTHS = [16, 8, 4, 2, 1]  # the bytes that one thread moves with one instruction
# Instructions of NVIDIA's assembly (SASS): LDG and STG move data between registers and global memory, LDL and STL between
# registers and local memory (registers that were spilled). The tensor cores run the others.
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?"  # the address and the predicate
                         r"(LDG|STG|LDL|STL|HMMA|IMMA|QMMA|HGMMA|QGMMA|UTCHMMA)((?:\.\w+)*)", re.M)
USAGE = re.compile(r"Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)")
HEAD = """# The machine code of the CUDA kernels

`scripts/gpu/machine_code.py` makes this page from `libencode_cuda.so`, with NVIDIA's `cuobjdump`. The test
`scripts_test.machine_code` fails if the library has other figures. Whoever changes a figure writes the page anew and gives the
reason in the commit.

A column of loads or stores counts the instructions that move 16, 8, 4, 2 and 1 bytes between global memory and the registers of
one thread. A kernel whose data is aligned to 16 bytes needs the first kind. No kernel may use the last kind. "Spills" counts
the instructions that move registers to and from local memory. From 90a on, CUDA itself keeps 1,024 bytes of shared memory for each
block. "Architectures" are NVIDIA's names without `sm_`. A kernel has one
row for all architectures on which its figures are equal.
"""
COLUMNS = ["kernel", "architectures", "registers", "shared memory, bytes", "loads", "stores", "spills", "tensor-core products"]


def run(tools, *arguments):
    """Returns what cuobjdump prints."""
    environment = dict(os.environ, PATH=f"{tools}:{os.environ.get('PATH', '')}")
    return subprocess.run([str(tools / "cuobjdump"), *map(str, arguments)], check=True, capture_output=True, text=True,
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


def read(tools, library, architecture):
    """Returns {kernel: figures} of one architecture."""
    options = ["-arch", f"sm_{architecture}", library] if library.suffix == ".so" else [library]
    usage = {name: (int(registers), int(shared))
             for name, registers, _, shared in USAGE.findall(run(tools, "-res-usage", *options))}
    sections = [part.split("\n", 1) for part in run(tools, "-sass", *options).split("Function : ")[1:]]
    if not sections:
        sys.exit(f"{library}: no kernel for architecture {architecture}")
    names = demangled([name.strip() for name, _ in sections])
    return {names[name.strip()]: usage[name.strip()] + counts(code) for name, code in sections}


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
                registers, shared, loads, stores, spills, products = kernels[architecture][kernel]
                rows[(registers, shared, moves(loads), moves(stores), spills, products)].append(architecture)
        for figures, architectures in rows.items():
            cells = [f"`{kernel}`", " ".join(architectures), *map(str, figures)]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def faults(kernels):
    """Returns what breaks a rule."""
    return [f"{kernel} ({architecture}): {loads[1]} loads and {stores[1]} stores of one byte; read and write 16 bytes at once, "
            "and pass them by value"
            for architecture, figures in kernels.items() for kernel, (_, _, loads, stores, _, _) in figures.items()
            if loads[1] + stores[1]]


def compiler(library):
    """Returns the version of the nvcc that compiled the library, which ptxas notes in each kernel's ELF file."""
    found = re.search(rb"Cuda compilation tools, release [\d.]+, V([\d.]+)", library.read_bytes())
    return found[1].decode() if found else "of an unknown version"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=lambda path: pathlib.Path(path).resolve(), required=True, metavar="DIR")
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path)
    args = parser.parse_args()
    architectures = ARCHITECTURES if args.library.suffix == ".so" else ["as compiled"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        figures = pool.map(lambda architecture: read(args.tools, args.library, architecture), architectures)
    kernels = dict(zip(architectures, figures))
    lines = HEAD.splitlines() + ["", f"nvcc {compiler(args.library)} compiled the library.", ""] + table(kernels)
    args.page.write_text("\n".join(lines) + "\n")
    found = faults(kernels)
    print("\n".join(found), file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
