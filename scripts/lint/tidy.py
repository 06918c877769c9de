#!/usr/bin/env python3
"""Runs clang-tidy over the C++ sources in src and apps, several at once, and records which sources passed.

    tidy.py --clang-tidy PATH --build build --cache DIR [--jobs N]

A source that passed is checked again only if something changes on which the result depends: its text, the project's
headers that the compiler read, its flags, .clang-tidy, or clang-tidy itself. Headers outside the project change with their
package, so only their names and sizes count. The list of headers comes from ninja's log, so build first.

clang-tidy reads each source without the precompiled header of LibTorch, so it finds a source that forgets an include.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

# Only the sources of these folders are checked. Tests are left out because the macros of GoogleTest break many checks.
FOLDERS = ("src", "apps")
# The flags are for GCC. clang does not know all warnings of GCC, and must accept the names that it does not know.
EXTRA = ["--quiet", "--extra-arg=-Wno-unknown-warning-option"]


def dependencies(build):
    """Returns {object file: the files that the compiler read for it}."""
    output = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], check=True, capture_output=True, text=True).stdout
    files = {}
    for line in output.splitlines():
        if line.startswith(" "):
            files[target].append(line.strip())
        elif ": #deps" in line:
            target = line.split(": #deps")[0]
            files[target] = []
    return files


def without_precompiled_header(command):
    if "/cmake_pch.hxx" not in command:
        return command
    words = shlex.split(command)
    kept = []
    while words:
        word = words.pop(0)
        if word == "-include" and words[0].endswith("/cmake_pch.hxx"):
            words.pop(0)
        elif word != "-Winvalid-pch":
            kept.append(word)
    return shlex.join(kept)


class Sources:
    def __init__(self, clang_tidy, root, build):
        self.root = root
        self.build = build
        self.deps = dependencies(build)
        self.digests = {}
        version = subprocess.run([clang_tidy, "--version"], check=True, capture_output=True).stdout
        self.common = version + (root / ".clang-tidy").read_bytes()

    def entries(self):
        seen = set()
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            source = pathlib.Path(entry["file"])
            if source.suffix != ".cc" or not source.is_relative_to(self.root) or source in seen:
                continue
            if source.relative_to(self.root).parts[0] in FOLDERS:
                seen.add(source)
                yield {**entry, "command": without_precompiled_header(entry["command"])}

    def headers(self, target):
        """Returns the files that the compiler read for this object, or None if it has not been compiled yet."""
        if target not in self.deps:
            return None
        files = []
        for name in self.deps[target]:
            if name.endswith(".gch"):
                files += self.headers(os.path.relpath(self.build / name, self.build)) or []
            elif not name.endswith("/cmake_pch.hxx"):
                files.append(name)
        return files

    def digest(self, name):
        path = pathlib.Path(name)
        if path.is_relative_to(self.root) and ".deps" not in path.parts and path.exists():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            return f"{path.relative_to(self.root)} {content}"
        return f"{path.name} {path.stat().st_size if path.exists() else 0}"

    def key(self, entry):
        """Returns a digest of everything that the result depends on, or None if the source has not been compiled yet."""
        words = shlex.split(entry["command"])
        headers = self.headers(words[words.index("-o") + 1])
        if headers is None:
            return None
        state = hashlib.sha256(self.common)
        state.update(entry["command"].replace(str(self.root), "").encode())
        for name in sorted(set([entry["file"], *headers])):
            if name not in self.digests:
                self.digests[name] = self.digest(str(self.build / name))
            state.update(self.digests[name].encode())
        return state.hexdigest()


def check(clang_tidy, entry, database):
    command = [clang_tidy, "-p", str(database), *EXTRA, entry["file"]]
    started = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout, time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clang-tidy", required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    build = args.build.resolve()
    args.cache.mkdir(parents=True, exist_ok=True)
    sources = Sources(args.clang_tidy, root, build)
    todo = []
    entries = list(sources.entries())
    total = len(entries)
    database = build / "tidy"
    database.mkdir(exist_ok=True)
    (database / "compile_commands.json").write_text(json.dumps(entries))
    for entry in entries:
        key = sources.key(entry)
        if key is None or not (args.cache / key).exists():
            todo.append((entry, key))
    print(f"clang-tidy: {total} sources, {total - len(todo)} unchanged since they passed", flush=True)
    failed = 0
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = {pool.submit(check, args.clang_tidy, entry, database): (entry, key) for entry, key in todo}
        for run in concurrent.futures.as_completed(runs):
            entry, key = runs[run]
            code, output, seconds = run.result()
            if code == 0:
                if key:
                    (args.cache / key).touch()
                continue
            failed += 1
            print(f"{entry['file']} ({seconds:.1f} s)\n{output}", flush=True)
    if todo:
        print(f"clang-tidy: {len(todo)} checked in {time.monotonic() - started:.1f} s, {failed} failed", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
