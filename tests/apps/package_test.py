"""Tests the installed tree and the wheel, without pip and without another machine.

    package_test.py BUILD

It installs the build into a temporary folder. scripts/soak/bare_debian.sh installs the packages for real.
"""
import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

BUILD = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/package"))
import contents  # noqa: E402  (its folder is only now in the path)
import wheel  # noqa: E402

SPDX_ID = re.compile(r"^SPDXRef-[A-Za-z0-9.-]+$")
RELATIONSHIPS = {"DESCRIBES", "CONTAINS", "DEPENDS_ON", "BUILD_DEPENDENCY_OF", "BUILD_TOOL_OF"}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def spdx_problems(document):
    """Returns what breaks a rule of SPDX 2.3."""
    problems = []
    for field, value in (("spdxVersion", "SPDX-2.3"), ("dataLicense", "CC0-1.0"), ("SPDXID", "SPDXRef-DOCUMENT")):
        if document.get(field) != value:
            problems.append(field)
    if not re.match(r"^https?://[^#\s]+$", document.get("documentNamespace", "")):
        problems.append("documentNamespace")
    if not re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", document["creationInfo"]["created"]):
        problems.append("created")
    ids = [package["SPDXID"] for package in document["packages"]]
    problems += [name for name in ids if not SPDX_ID.match(name) or ids.count(name) > 1]
    for package in document["packages"]:
        problems += [f"{package['SPDXID']} {field}" for field in ("name", "downloadLocation", "licenseConcluded",
                                                                  "licenseDeclared", "copyrightText") if not package.get(field)]
        for checksum in package.get("checksums", []):
            if not re.match(r"^[0-9a-f]{64}$", checksum["checksumValue"]):
                problems.append(f"{package['SPDXID']} checksum")
    known = {*ids, "SPDXRef-DOCUMENT"}
    for relationship in document["relationships"]:
        ends = {relationship["spdxElementId"], relationship["relatedSpdxElement"]}
        if not ends <= known or relationship["relationshipType"] not in RELATIONSHIPS:
            problems.append(f"relationship {relationship}")
    return problems


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tree = pathlib.Path(cls.folder.name) / "a prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.tree, "--strip")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_an_installed_encode_runs_with_the_libtorch_of_the_build(self):
        texts = pathlib.Path(self.folder.name) / "texts.txt"
        texts.write_text("one\ntwo\n")
        model = ROOT / "tests/data/sentence_transformers/static_embedding"
        clean = {"PATH": os.environ["PATH"], "HOME": self.folder.name}
        output = f"{self.folder.name}/out.npy"
        command = [self.tree / "bin/encode", "run", "--model", model, "--input", texts, "--device", "cpu", "--quiet",
                   "--overwrite", "--output", output]
        run(*command, env=clean)
        run(self.tree / "bin/encode", "verify", output, env=clean)
        # Without the link to LibTorch, TORCH_ROOT names it; without both, an error says so.
        link = self.tree / "lib/encode/torch"
        root = link.resolve()
        link.unlink()
        try:
            run(*command, "--fresh", env={**clean, "TORCH_ROOT": str(root)})
            end = subprocess.run([*command, "--fresh"], env=clean, capture_output=True, text=True)
            wrong = subprocess.run([*command, "--fresh"], env={**clean, "TORCH_ROOT": str(root.parent)}, capture_output=True,
                                   text=True)
        finally:
            link.symlink_to(root)
        self.assertEqual(end.returncode, 71)
        self.assertIn("error[worker.spawn]", end.stderr)
        self.assertIn("set TORCH_ROOT to the folder of a LibTorch", end.stderr)
        self.assertIn("which has no lib/libtorch_cpu.so", wrong.stderr)

    def test_no_path_of_the_build_is_in_an_installed_program(self):
        for program in (self.tree / "bin/encode", *(self.tree / "lib/encode").glob("*encode*")):
            dynamic = run("readelf", "-d", program)
            paths = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic)
            for path in ":".join(paths).split(":"):
                self.assertTrue(path == "" or path.startswith("$ORIGIN"), f"{program}: {path}")

    def test_wheel(self):
        doc = self.tree / "share/doc/encode"
        (doc / "notices").mkdir()
        (doc / "notices/part.txt").write_text("a licence\n")
        (doc / "sbom.spdx.json").write_text("{}\n")
        link_names = ("lib/encode/torch", "lib/encode/arrow")
        path = wheel.build(self.tree, pathlib.Path(self.folder.name))
        self.assertRegex(path.name, r"^encode_embeddings-[0-9.]+-py3-none-manylinux_2_\d+_\w+\.whl$")
        with zipfile.ZipFile(path) as archive:
            info = next(name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name)
            rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode()))}
            self.assertEqual(set(rows), set(archive.namelist()))
            for name, (digest, size) in rows.items():
                data = archive.read(name)
                if name == f"{info}/RECORD":
                    continue
                hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, int(size)), (f"sha256={hashed}", len(data)), name)
                self.assertFalse(name.startswith(tuple(f"encode_embeddings/tree/{link}/" for link in link_names)), name)
            for program in ("bin/encode", "lib/encode/encode-worker"):
                mode = archive.getinfo(f"encode_embeddings/tree/{program}").external_attr >> 16
                self.assertEqual(mode & 0o111, 0o111, program)
            metadata = archive.read(f"{info}/METADATA").decode()
            self.assertIn("\nRequires-Dist: torch==2.11.*\n", metadata)
            self.assertIn('\nRequires-Dist: pyarrow==26.*; extra == "parquet"\n', metadata)
            for package in wheel.PACKAGES:
                for name in ("__init__.py", "py.typed"):
                    self.assertIn(f"{package}/{name}", rows)
            self.assertIn("encode = encode_embeddings:main", archive.read(f"{info}/entry_points.txt").decode())

    def test_a_wheel_with_several_workers_allows_their_versions_of_torch(self):
        worker = self.tree / "lib/encode/encode-worker"
        tree = pathlib.Path(self.folder.name) / "workers"
        (tree / "lib/encode").mkdir(parents=True)
        for series, required in (("", "==2.11.*"), ("2.12", ">=2.11,<2.13"), ("2.15", ">=2.11,<2.16,!=2.13.*,!=2.14.*"),
                                 ("2.9", ">=2.9,<2.16,!=2.10.*,!=2.13.*,!=2.14.*")):
            if series:
                (tree / f"lib/encode/encode-worker-{series}").hardlink_to(worker)
            self.assertEqual(wheel.torch_versions("2.11", tree), required)
        (tree / "lib/encode/encode-worker-3.0").hardlink_to(worker)
        with self.assertRaisesRegex(SystemExit, "several majors"):
            wheel.torch_versions("2.11", tree)

    def test_no_program_needs_a_newer_c_library_than_the_tag_says(self):
        limit = [int(part) for part in re.search(r"manylinux_(\d+)_(\d+)", wheel.platform_tag()).groups()]
        for program in (self.tree / "bin/encode", *(self.tree / "lib/encode").glob("*encode*")):
            for version in re.findall(r"GLIBC_([0-9.]+)", run("objdump", "-T", program)):
                self.assertLessEqual([int(part) for part in version.split(".")][:2], limit, program)

    def test_the_sbom_follows_the_rules(self):
        facts = json.loads(run(self.tree / "bin/encode", "--version", "--json"))
        document = contents.Document("encode", facts)
        for pin in contents.fetch.read_pins(["torch-cpu", "torch-2.15", "torch-2.14", "arrow"]):
            document.add(contents.pin_entry(pin), "DEPENDS_ON")
        document.add(contents.debian_entry(contents.debian_package("g++")), "BUILD_TOOL_OF")
        written = document.as_json()
        self.assertEqual(spdx_problems(written), [])
        self.assertEqual(sum(package["name"] == "torch" for package in written["packages"]), 3)
        needed = [each["relatedSpdxElement"] for each in written["relationships"] if each["relationshipType"] == "DEPENDS_ON"]
        self.assertEqual(len(needed), len(set(needed)))
        written["packages"][1]["SPDXID"] = "SPDXRef-package encode"
        self.assertNotEqual(spdx_problems(written), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
