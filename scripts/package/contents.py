#!/usr/bin/env python3
"""What a package of encode is made of: libraries of Debian, headers that are compiled in, and pinned wheels.

    contents.py notices --output DIR [--programs] [--library FILE]... [--wheel FILE]...
    contents.py sbom --encode PROGRAM --name NAME --output FILE [--programs] [--library FILE]... [--contains SECTION]... [--needs SECTION]...

`notices` collects the licences, one file or folder for each part. `sbom` writes SPDX 2.3 as JSON, made from the pins of scripts/deps/pins.txt
and the versions of the Debian packages.

--programs   the package contains the programs, so their build counts, which compiles headers of Debian into them
--library    a library of Debian that the package contains
--wheel      a wheel from which the package has files
--encode     the program; `encode version --json` says what it was built from
--name       the name of the package: encode, encode-libtorch or encode-embeddings
--contains   a section of the pins whose wheels give files to the package
--needs      a section of the pins whose wheels the user installs
"""
import argparse
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/deps"))
import fetch  # noqa: E402  (its folder is only now in the path)

LICENCE_WORDS = ("LICENSE", "LICENCE", "NOTICE", "COPYING")
SUPPLIERS = {"debian": "Organization: Debian", "pypi": "NOASSERTION"}
LICENCES = {"torch": "BSD-3-Clause", "pyarrow": "Apache-2.0"}


@dataclass(frozen=True)
class DebianPackage:
    name: str
    version: str
    architecture: str
    homepage: str

    def notice(self):
        return pathlib.Path("/usr/share/doc") / self.name / "copyright"


def query(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@functools.cache
def debian_package(name):
    fields = query("dpkg-query", "-W", "-f=${Package}\t${Version}\t${Architecture}\t${Homepage}\n", name)
    return DebianPackage(*fields.splitlines()[0].split("\t"))


def package_of(library):
    """Returns the Debian package that owns the file."""
    real = pathlib.Path(library).resolve()
    # dpkg knows a file by the name in its package, which may be without /usr.
    for path in (real, pathlib.Path("/") / real.relative_to("/usr") if real.is_relative_to("/usr") else real):
        found = subprocess.run(["dpkg", "-S", str(path)], capture_output=True, text=True)
        if found.returncode == 0:
            return debian_package(found.stdout.split(":")[0])
    sys.exit(f"error: {library}: no Debian package has this file")


def packages_of(libraries):
    return sorted({package_of(library) for library in libraries}, key=lambda package: package.name)


def compiled_in():
    """Returns the packages whose headers or static parts may be inside the programs: the libraries of packages.txt."""
    text = (ROOT / "scripts/packages.txt").read_text()
    section = text.split("# libraries\n")[1].split("\n\n")[0]
    return [debian_package(name) for name in section.split()]


def copy_debian(package, folder):
    shutil.copyfile(package.notice(), folder / f"{package.name}.txt")


def copy_wheel(wheel, folder):
    """Copies the licences of a wheel, which are in its .dist-info."""
    copied = 0
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = pathlib.PurePosixPath(name)
            if name.endswith("/") or not path.parts[0].endswith(".dist-info") or not path.name.upper().startswith(LICENCE_WORDS):
                continue
            target = folder / f"{path.parts[0].removesuffix('.dist-info')}-{path.stem}.txt"
            target.write_bytes(archive.read(name))
            copied += 1
    if not copied:
        raise SystemExit(f"error: {wheel} has no licence")


def write_notices(args):
    args.output.mkdir(parents=True)
    for package in {*packages_of(args.library), *(compiled_in() if args.programs else [])}:
        copy_debian(package, args.output)
    for wheel in args.wheel:
        copy_wheel(wheel, args.output)
    if args.programs:   # the tables of src/tokenizer/unicode/break_data.cc
        shutil.copyfile(ROOT / "tests/data/unicode/copyright", args.output / "unicode-data.txt")


def spdx_id(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def package_entry(kind, name, version, **fields):
    """Returns a package in the words of SPDX. `kind` is debian or pypi."""
    locator = f"pkg:deb/debian/{name}@{version}?arch={fields.pop('architecture')}" if kind == "debian" else f"pkg:pypi/{name}@{version}"
    return {"SPDXID": spdx_id(kind, name, version), "name": name, "versionInfo": version, "supplier": SUPPLIERS[kind],
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": LICENCES.get(name, "NOASSERTION"), "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": locator.replace("+", "%2B")}], **fields}


def debian_entry(package):
    homepage = {"homepage": package.homepage} if package.homepage else {}
    return package_entry("debian", package.name, package.version, architecture=package.architecture, **homepage)


def pin_entry(pin):
    return package_entry("pypi", pin.name, pin.version,
                         checksums=[{"algorithm": "SHA256", "checksumValue": pin.sha256}])


class Document:
    def __init__(self, name, facts):
        self.root = spdx_id("package", name)
        self.facts = facts
        self.name = name
        self.packages = {self.root: {
            "SPDXID": self.root, "name": name, "versionInfo": facts["version"], "supplier": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
            "sourceInfo": f"built from commit {facts['commit']} with {facts['compiler']}"}}
        self.relationships = [("SPDXRef-DOCUMENT", "DESCRIBES", self.root)]

    def add(self, entry, relationship):
        self.packages[entry["SPDXID"]] = entry
        # SPDX states "is a tool of" from the tool, and the others from the package.
        reverse = relationship.endswith("_OF")
        ends = (entry["SPDXID"], self.root) if reverse else (self.root, entry["SPDXID"])
        found = (ends[0], relationship, ends[1])
        if found not in self.relationships:  # two sections of the pins may have the same wheel
            self.relationships.append(found)

    def as_json(self):
        label = f"{self.name}-{self.facts['version']}-{self.facts['commit']}"
        return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": label,
                "documentNamespace": f"https://spdx.org/spdxdocs/{label}",
                "creationInfo": {"created": f"{self.facts['commit_date']}T00:00:00Z", "creators": ["Tool: encode-package-sbom"]},
                "packages": list(self.packages.values()),
                "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                                  for a, kind, b in self.relationships]}


def add_build(document, bundled):
    """Adds what the build of the programs takes: headers and tools of Debian, and nvcc."""
    for package in sorted(set(compiled_in()) - set(bundled), key=lambda package: package.name):
        document.add(debian_entry(package), "BUILD_DEPENDENCY_OF")
    for tool in ("g++", "cmake", "ninja-build"):
        document.add(debian_entry(debian_package(tool)), "BUILD_TOOL_OF")
    for pin in fetch.read_pins(["nvcc"]) if document.facts["cuda"] else []:
        document.add(pin_entry(pin), "BUILD_TOOL_OF")


def write_sbom(args):
    facts = json.loads(subprocess.run([args.encode, "version", "--json"], check=True, capture_output=True).stdout)
    document = Document(args.name, facts)
    bundled = packages_of(args.library)
    for package in bundled:
        document.add(debian_entry(package), "CONTAINS")
    if args.programs:
        add_build(document, bundled)
    for names, relationship in ((args.needs, "DEPENDS_ON"), (args.contains, "CONTAINS")):
        for pin in fetch.read_pins(names):
            document.add(pin_entry(pin), relationship)
    args.output.write_text(json.dumps(document.as_json(), indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    notices, sbom = commands.add_parser("notices"), commands.add_parser("sbom")
    for command, write in ((notices, write_notices), (sbom, write_sbom)):
        command.set_defaults(write=write)
        command.add_argument("--output", type=pathlib.Path, required=True)
        command.add_argument("--programs", action="store_true")
        command.add_argument("--library", action="append", default=[])
    notices.add_argument("--wheel", action="append", default=[])
    sbom.add_argument("--encode", required=True)
    sbom.add_argument("--name", required=True)
    sbom.add_argument("--contains", action="append", default=[])
    sbom.add_argument("--needs", action="append", default=[])
    args = parser.parse_args()
    args.write(args)


if __name__ == "__main__":
    main()
