#!/usr/bin/env python3
"""Writes the SBOM of a package: SPDX 2.3 as JSON, made from the pins of scripts/deps and the versions of the Debian packages.

    sbom.py --encode PROGRAM --name NAME --output FILE [--programs] [--library FILE]... [--contains PINS]... [--needs PINS]...

--encode     the program; `encode version --json` says what it was built from
--name       the name of the package: encode, encode-libtorch or encode-embeddings
--programs   the package contains the programs, so their build counts
--library    a library of Debian that the package contains
--contains   a list of scripts/deps (its name without .txt) whose wheels give files to the package
--needs      a list of scripts/deps whose wheels the user installs
"""
import argparse
import json
import pathlib
import re
import subprocess

import parts

SUPPLIERS = {"debian": "Organization: Debian", "pypi": "NOASSERTION"}
LICENCES = {"torch": "BSD-3-Clause", "pyarrow": "Apache-2.0"}


def spdx_id(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def package_entry(kind, name, version, **fields):
    """Returns a package in the words of SPDX. `kind` is debian or pypi."""
    locator = f"pkg:deb/debian/{name}@{version}?arch={fields.pop('architecture')}" if kind == "debian" else f"pkg:pypi/{name}@{version}"
    return {"SPDXID": spdx_id(kind, name), "name": name, "versionInfo": version, "supplier": SUPPLIERS[kind],
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
        self.relationships.append((ends[0], relationship, ends[1]))

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
    for package in sorted(set(parts.compiled_in()) - set(bundled), key=lambda package: package.name):
        document.add(debian_entry(package), "BUILD_DEPENDENCY_OF")
    for tool in ("g++", "cmake", "ninja-build"):
        document.add(debian_entry(parts.debian_package(tool)), "BUILD_TOOL_OF")
    for pin in parts.pins("nvcc") if document.facts["cuda"] else []:
        document.add(pin_entry(pin), "BUILD_TOOL_OF")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--contains", action="append", default=[])
    parser.add_argument("--needs", action="append", default=[])
    args = parser.parse_args()
    facts = json.loads(subprocess.run([args.encode, "version", "--json"], check=True, capture_output=True).stdout)
    document = Document(args.name, facts)
    bundled = parts.packages_of(args.library)
    for package in bundled:
        document.add(debian_entry(package), "CONTAINS")
    if args.programs:
        add_build(document, bundled)
    for names, relationship in ((args.needs, "DEPENDS_ON"), (args.contains, "CONTAINS")):
        for pin in parts.pins(*names):
            document.add(pin_entry(pin), relationship)
    args.output.write_text(json.dumps(document.as_json(), indent=1) + "\n")


if __name__ == "__main__":
    main()
