#!/usr/bin/env python3
"""Makes a LibTorch whose NVIDIA libraries are the stand-in of this folder.

    link.py --archives DIR --torch DIR [--user FILE]... --output DIR

--archives  the folder of the built archives: build/runtime_stand_in
--torch     the folder torch/ of LibTorch's wheel with CUDA, with its lib/
--user      a further library that needs functions of NVIDIA's libraries, for example build/lib/libencode_cuda.so
--output    a new folder. Its torch/lib/ has links to the libraries of LibTorch, and its nvidia/cu13/lib/ has the stand-in, where
            LibTorch's libraries look for NVIDIA's.

For each function that LibTorch needs and the archives lack, a library of the stand-in gets a function that writes
"missing NAME" into the record and returns 0.
"""
import argparse
import pathlib
import re
import subprocess
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    soname: str
    archive: str = ""  # the archive with real functions; "": it has none
    version: str = ""  # the version of its symbols; "": the symbols have none
    unversioned: str = ""  # how the names of symbols without a version begin
    needed: set = field(default_factory=set, compare=False)


# The record is in libcudart, so it comes first, and the others link it.
LIBRARIES = [
    Library("libcudart.so.13", "cudart", "libcudart.so.13"),
    Library("libcublas.so.13", "cublas", "libcublas.so.13"),
    Library("libcublasLt.so.13", "cublasLt", "libcublasLt.so.13"),
    Library("libnvrtc.so.13", "", "libnvrtc.so.13"),
    Library("libcudnn.so.9", "", "libcudnn.so.9"),
    Library("libcufft.so.12", "", "libcufft.so.12"),
    Library("libcupti.so.13", "", "libcupti.so.13"),
    Library("libcusolver.so.12", "", "libcusolver.so.12"),
    Library("libcusparse.so.12", "", "libcusparse.so.12"),
    Library("libcusparseLt.so.0", "", "", "cusparseLt"),
    Library("libcurand.so.10", "", "", "curand"),
    Library("libnccl.so.2", "", "", "nccl"),
    Library("libcufile.so.0", "", "", "cuFile"),
    Library("libnvshmem_host.so.3", "", "NVSHMEM"),
    Library("libcuda.so.1", "cuda", "", "cu[A-Z]"),  # the last one, because cuFile's names begin in the same way
]


def undefined_symbols(path):
    """Yields (name, version) of each symbol that a shared library needs. The version may be ""."""
    output = subprocess.run(["nm", "-D", "--undefined-only", path], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@")


def defined_symbols(archive):
    output = subprocess.run(["nm", "--defined-only", "--extern-only", archive], check=True, capture_output=True,
                            text=True).stdout
    return {line.split()[2] for line in output.splitlines() if len(line.split()) == 3}


def library_of(name, version):
    for library in LIBRARIES:
        if version == library.version if version else library.unversioned and re.match(library.unversioned, name):
            return library
    return None


def missing_functions(names):
    """Returns C for functions that only write their name into the record."""
    lines = ["extern void runtime_stand_in_record(const char*);"]
    for name in sorted(names):
        lines.append(f'long {name}() {{ runtime_stand_in_record("missing {name}"); return 0; }}')
    return "\n".join(lines) + "\n"


def build(library, archives, folder, work):
    command = ["g++", "-shared", "-o", str(folder / library.soname), f"-Wl,-soname,{library.soname}"]
    names = set(library.needed)
    if library.archive:
        archive = archives / f"libruntime_stand_in_{library.archive}.a"
        names -= defined_symbols(archive)
        command += ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", "-lfmt"]
    source = work / f"{library.soname}.c"
    source.write_text(missing_functions(names))
    subprocess.run(["gcc", "-w", "-O1", "-fPIC", "-c", str(source), "-o", f"{source}.o"], check=True)
    command.append(f"{source}.o")
    if library.version:
        script = work / f"{library.soname}.map"
        script.write_text(f"{library.version} {{ global: *; }};\n")
        command.append(f"-Wl,--version-script={script}")
    if library.soname != LIBRARIES[0].soname:
        command += [str(folder / LIBRARIES[0].soname), "-Wl,-rpath,$ORIGIN"]
    subprocess.run(command, check=True)
    print(f"{library.soname}: {len(library.needed)} functions, {len(names)} of them only write their name down")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=pathlib.Path, required=True)
    parser.add_argument("--torch", type=pathlib.Path, required=True)
    parser.add_argument("--user", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    torch = sorted((args.torch / "lib").glob("*.so*"))
    for path in torch + args.user:
        for name, version in undefined_symbols(path):
            if library := library_of(name, version):
                library.needed.add(name)
    links = args.output / "torch" / "lib"
    folder = args.output / "nvidia" / "cu13" / "lib"
    work = args.output / "work"
    for each in (links, folder, work):
        each.mkdir(parents=True)
    for path in torch:
        (links / path.name).symlink_to(path.resolve())
    for library in LIBRARIES:
        build(library, args.archives, folder, work)


if __name__ == "__main__":
    main()
