#!/usr/bin/env python3
"""Makes a wheel of an installed tree of encode: the command `encode`, and the packages encode_embeddings and encode_reader.

    wheel.py --tree DIR --output DIR

--tree   what scripts/package.sh stages: bin/, lib/encode/ and share/, with notices and sbom.spdx.json in share/doc/encode

The wheel needs numpy, and the torch that the workers in lib/encode were built with: encode-worker, and encode-worker-2.15 and so on
for other versions. EXTRAS lists what its optional parts need. It prints its path. The same tree gives the same bytes.
"""
import argparse
import base64
import hashlib
import json
import pathlib
import re
import subprocess
import time
import zipfile

import contents

NAME = "encode_embeddings"
OTHER_WORKER = "encode-worker-"  # with the series of a torch behind it; encode_embeddings/_program.py looks for it
PACKAGES = (NAME, "encode_reader")
# What the optional parts need: tables and encode_embeddings.run(), checksums, and the stores of the export.
EXTRAS = {
    "parquet": ("pyarrow=={arrow}.*",),
    "checksums": ("xxhash>=3",),
    "pgvector": ("psycopg[binary]>=3.1",),
    "lance": ("pylance>=14",),
    "faiss": ("faiss-cpu>=1.8",),
    "hf-dataset": ("datasets>=3",),
}
METADATA = """Metadata-Version: 2.4
Name: encode-embeddings
Version: {version}
Summary: Turns text files into embedding matrices with a transformer model, on a CUDA GPU or on the CPU
License-Expression: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: torch{torch}
Requires-Dist: numpy>=1.21
{extras}Description-Content-Type: text/markdown

"""
# Its names are in the paths of the wheel or are those of other files of the wheel.
LEFT_OUT = ("share/doc/encode/notices", "share/doc/encode/sbom.spdx.json", "share/doc/encode/LICENSE")


def platform_tag():
    """Returns the tag of this machine's C library. The programs need it or a newer one."""
    version = re.search(r"(\d+)\.(\d+)$", contents.query("ldd", "--version").splitlines()[0])
    machine = contents.query("uname", "-m").strip()
    return f"manylinux_{version[1]}_{version[2]}_{machine}"


def torch_versions(own, tree):
    """Returns the requirement of the wheel: "==2.11.*", or ">=2.11,<2.16,!=2.12.*,!=2.13.*,!=2.14.*" for 2.11 and 2.15."""
    others = [path.name.removeprefix(OTHER_WORKER) for path in (tree / "lib/encode").glob(f"{OTHER_WORKER}*")]
    majors, minors = zip(*(map(int, series.split(".")) for series in [own, *others]))
    if len(set(majors)) > 1:
        raise SystemExit(f"error: workers for the torch {own} and {', '.join(others)}: one requirement cannot name several majors")
    if not others:
        return f"=={own}.*"
    gaps = sorted(set(range(min(minors), max(minors))) - set(minors))
    return ",".join([f">={majors[0]}.{min(minors)}", f"<{majors[0]}.{max(minors) + 1}", *(f"!={majors[0]}.{gap}.*" for gap in gaps)])


def extras(arrow):
    """Returns the lines of the metadata about the extras."""
    return "".join(f"Provides-Extra: {name}\n" +
                   "".join(f'Requires-Dist: {need.format(arrow=arrow)}; extra == "{name}"\n' for need in needs)
                   for name, needs in EXTRAS.items())


class Wheel:
    def __init__(self, path, date):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.date = date
        self.record = []

    def add(self, name, data, executable=False):
        entry = zipfile.ZipInfo(name, self.date)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.archive.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, info):
        name = f"{info}/RECORD"
        self.archive.writestr(zipfile.ZipInfo(name, self.date), "\n".join([*self.record, f"{name},,", ""]))
        self.archive.close()


def add_tree(wheel, tree, info):
    """Adds the programs below the package, the licences and the SBOM below .dist-info."""
    doc = tree / "share/doc/encode"
    wheel.add(f"{info}/licenses/LICENSE", (doc / "LICENSE").read_bytes())
    for notice in sorted((doc / "notices").iterdir()):
        wheel.add(f"{info}/licenses/{notice.name}", notice.read_bytes())
    wheel.add(f"{info}/sboms/encode.spdx.json", (doc / "sbom.spdx.json").read_bytes())
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        if path.is_file() and not name.startswith(LEFT_OUT):
            wheel.add(f"{NAME}/tree/{name}", path.read_bytes(), executable=bool(path.stat().st_mode & 0o100))


def build(tree, output):
    facts = json.loads(subprocess.run([tree / "bin/encode", "version", "--json"], check=True, capture_output=True).stdout)
    tag = f"py3-none-{platform_tag()}"
    path = output / f"{NAME}-{facts['version']}-{tag}.whl"
    info = f"{NAME}-{facts['version']}.dist-info"
    wheel = Wheel(path, time.strptime(facts["commit_date"], "%Y-%m-%d")[:6])
    python = contents.ROOT / "python"
    for source in sorted(source for package in PACKAGES for source in (python / package).rglob("*")):
        if source.suffix == ".py" or source.name == "py.typed":
            wheel.add(source.relative_to(python).as_posix(), source.read_bytes())
    add_tree(wheel, tree, info)
    metadata = METADATA.format(version=facts["version"], torch=torch_versions(facts["libtorch"].rsplit(".", 1)[0], tree),
                               extras=extras(facts["arrow"]))
    wheel.add(f"{info}/METADATA", (metadata + (contents.ROOT / "README.md").read_text()).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: encode\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", f"[console_scripts]\nencode = {NAME}:main\n".encode())
    wheel.close(info)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    print(build(args.tree, args.output))


if __name__ == "__main__":
    main()
