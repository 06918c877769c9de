#!/usr/bin/env python3
"""Shows that the tests of the store and of the model directory can fail: plants defects into a copy of the sources, one after the
other, and demands that a test finds each.

usage: tests/soak/planted_defects.py [NAME...]       default: all defects; about 5 minutes on 2 cores

The copy is in $ENCODE_SOAK_DIR, or in .deps/planted_defects, and is built without LibTorch. A defect replaces a text wherever it
occurs below src/.
"""
import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ["CMakeLists.txt", "CMakePresets.json", "apps", "benchmarks", "cmake", "configs", "docs", "include", "scripts", "src",
           "tests"]
FSYNC = 'if (retried([&] { return ::fsync(fd_.get()); }) != 0) throw commit_error("sync", errno);'


@dataclass
class Defect:
    name: str
    program: str
    test: str  # at least one test of this filter must fail
    changes: list  # pairs: a text, and what replaces it


DEFECTS = [
    Defect("no_file_fsync", "store_torture", "PowerLoss.*", [(FSYNC, "")]),
    Defect("no_directory_fsync", "store_torture", "PowerLoss.*",
           [("if (retried([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL && errno != ENOTSUP) {", "if (!fd) {")]),
    Defect("record_before_rename", "store_torture", "Crash.KillBeforeEveryCall",
           [("    writer_.publish();\n    ChunkRecord record", "    ChunkRecord record"),
            ("    store_.record(record);\n", "    store_.record(record);\n    writer_.publish();\n")]),
    Defect("no_hash_on_resume", "store_test", "Damage.AnyBitOfAChunkCostsThatChunkOnly",
           [("if (xxh3_file(path) != record.xxh3_128) return", "if (xxh3_file(path).empty()) return")]),
    Defect("short_write_ignored", "store_torture", "*OfAnyCallIsCleanAndResumable/ShortWriteOnce",
           [('if (n < 0) throw system_error("io.write", "write", path, errno);\n    done += static_cast<size_t>(n);',
             'if (n < 0) throw system_error("io.write", "write", path, errno);\n    done = size;')]),
    Defect("fsync_repeated", "store_torture", "*OfAnyCallIsCleanAndResumable/IoErrorOnce",
           [(FSYNC, FSYNC.replace("(retried([&]", "(::fsync(fd_.get()) != 0 && retried([&]"))]),
    Defect("no_fingerprint", "store_test", "Stale.*", [(" && a.identity.fingerprint == b.identity.fingerprint &&", " &&")]),
    Defect("lock_unlinked", "store_torture", "Lock.OfSeveralRunsOneWorks",
           [("  if (fd_ >= 0) ::close(fd_);",
             '  if (fd_ < 0) return;\n  std::array<char, 4096> path = {};\n'
             '  if (::readlink(fmt::format("/proc/self/fd/{}", fd_).c_str(), path.data(), path.size() - 1) > 0) '
             '::unlink(path.data());\n  ::close(fd_);')]),
    Defect("commit_before_sync", "store_torture", "PowerLoss.*",
           [("if (retried([&] { return ::fdatasync(fd_.get()); }) != 0)", "if (!fd_)")]),
    Defect("dots_in_names", "model_dir_test", "*UnsafeShardName.*:HostileDirectory.ModulePathOutsideIsRefused",
           [("  if (is_safe_name(name)) return;", '  if (is_safe_name(name) || name.starts_with("..")) return;')]),
]


class Copy:
    """A copy of the sources, and the folder in which it is built."""

    def __init__(self, folder):
        self.source = folder / "source"
        self.build = self.source / "build"  # as in the project, so that the compiler's cache knows the objects
        shutil.rmtree(self.source, ignore_errors=True)
        for name in FOLDERS:
            path = ROOT / name
            if path.is_dir():
                shutil.copytree(path, self.source / name)
            else:
                self.source.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, self.source / name)
        self.run = lambda *words: subprocess.run(words, capture_output=True, text=True)
        done = self.run("cmake", "-G", "Ninja", "-S", str(self.source), "-B", str(self.build), "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                        "-DTORCH_ROOT=/nonexistent", "-DENCODE_CUDA=OFF")
        if done.returncode != 0:
            raise SystemExit(done.stderr)

    def plant(self, defect):
        """Changes the sources. Returns what undoes the changes."""
        originals = {}
        for old, new in defect.changes:
            places = [path for path in self.source.glob("src/**/*.cc") if old in path.read_text()]
            if not places:
                raise SystemExit(f"error: {defect.name}: the sources do not have this text: {old}")
            for path in places:
                text = path.read_text()
                originals.setdefault(path, text)
                path.write_text(text.replace(old, new))
        return originals

    def fails(self, program, test):
        """Builds the program and returns whether a test of the filter fails."""
        done = self.run("ninja", "-j", "2", "-C", str(self.build), program)
        if done.returncode != 0:
            raise SystemExit(done.stdout[-3000:])
        done = self.run("timeout", "300", str(self.build / "bin" / program), f"--gtest_filter={test}")
        if "[==========] 0 tests" in done.stdout or "[==========]" not in done.stdout:
            raise SystemExit(f"error: {program} has no test {test}")
        return done.returncode != 0


def main():
    if "-h" in sys.argv or "--help" in sys.argv:
        print(__doc__)
        return
    chosen = [defect for defect in DEFECTS if not sys.argv[1:] or defect.name in sys.argv[1:]]
    copy = Copy(pathlib.Path(os.environ.get("ENCODE_SOAK_DIR", ROOT / ".deps" / "planted_defects")))
    missed = []
    for defect in chosen:
        if copy.fails(defect.program, defect.test):
            raise SystemExit(f"error: {defect.test} fails without a defect")
    for defect in chosen:
        originals = copy.plant(defect)
        caught = copy.fails(defect.program, defect.test)
        for path, text in originals.items():
            path.write_text(text)
        print(f"{defect.name}: {'caught by' if caught else 'NOT caught by'} {defect.test}", flush=True)
        missed += [] if caught else [defect.name]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} planted defects were caught")
    if missed:
        raise SystemExit(f"error: not caught: {', '.join(missed)}")


if __name__ == "__main__":
    main()
