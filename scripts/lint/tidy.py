#!/usr/bin/env python3
"""Runs clang-tidy over the C++ sources in src and apps, several at once, and records which sources passed.

    tidy.py --clang-tidy PATH --build FOLDER --cache DIR [--jobs N] [--minutes N]

FOLDER has the compile_commands.json of a build that compiles each source alone (-DENCODE_UNITY=OFF). It need not be built.

A source that passed is checked again only if something changes on which the result depends: its text, the project's headers
that it includes, its flags, .clang-tidy, the versions of clang-tidy and LibTorch, or the installed packages.

The sources that were committed last come first. After --minutes, no other source is begun; the output says how many were left,
and a later run checks them. A change of a header that everything includes takes more time than the limit of a CI run allows.

clang-tidy reads each source without the precompiled header of LibTorch, so it finds a source that forgets an include.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "deps"))
import fetch

# Only the sources of these folders are checked. Tests are left out because the macros of GoogleTest break many checks.
FOLDERS = ("src", "apps")
INCLUDE = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)
# The folder of build_commit.h, whose text changes with each commit.
GENERATED = "generated"
# The flags are for GCC. clang does not know all warnings of GCC, and must accept the names that it does not know.
EXTRA = ["--quiet", "--extra-arg=-Wno-unknown-warning-option"]


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
        self.texts = {}
        self.common = subprocess.run([clang_tidy, "--version"], check=True, capture_output=True).stdout
        self.common += subprocess.run(["dpkg-query", "--show"], check=True, capture_output=True).stdout
        self.common += (root / ".clang-tidy").read_bytes()
        self.common += "".join(f"{line}\n" for _, line in fetch.section_lines("torch-cpu")).encode()

    def entries(self):
        seen = set()
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            source = pathlib.Path(entry["file"])
            if source.suffix != ".cc" or not source.is_relative_to(self.root) or source in seen:
                continue
            if source.relative_to(self.root).parts[0] in FOLDERS:
                seen.add(source)
                yield {**entry, "command": without_precompiled_header(entry["command"])}

    def text(self, path):
        """Returns the bytes of a file and the names in its #include "..." lines."""
        if path not in self.texts:
            content = path.read_bytes()
            self.texts[path] = content, [name.decode() for name in INCLUDE.findall(content)]
        return self.texts[path]

    def files(self, source, folders):
        """Returns the source and all files of the project that it includes, directly or not."""
        found, todo = set(), [source]
        while todo:
            path = todo.pop()
            if path in found:
                continue
            found.add(path)
            for name in self.text(path)[1]:
                header = next((folder / name for folder in (path.parent, *folders) if (folder / name).is_file()), None)
                if header:
                    todo.append(header)
        return found

    def key(self, entry):
        """Returns a digest of everything that the result depends on."""
        folders = [pathlib.Path(word[2:]) for word in shlex.split(entry["command"]) if word.startswith("-I")]
        state = hashlib.sha256(self.common)
        state.update(entry["command"].replace(str(self.root), "").encode())
        for path in sorted(self.files(pathlib.Path(entry["file"]), folders)):
            if GENERATED not in path.parts:
                state.update(f"{path.relative_to(self.root)}\n".encode() + self.text(path)[0])
        return state.hexdigest()


def newest_first(entries, root):
    """Sorts the entries by the last commit of their sources. Sources that no commit has yet are the first."""
    log = subprocess.run(["git", "-C", root, "log", "--format=", "--name-only", "--", *FOLDERS], capture_output=True, text=True)
    place = {}
    for name in log.stdout.splitlines():
        place.setdefault(name, len(place) + 1)
    return sorted(entries, key=lambda entry: place.get(str(pathlib.Path(entry["file"]).relative_to(root)), 0))


def check(clang_tidy, entry, database, deadline):
    """Returns None if the deadline is over."""
    if time.monotonic() > deadline:
        return None
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
    parser.add_argument("--minutes", type=float, default=float("inf"))
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
    for entry in newest_first(entries, root):
        key = sources.key(entry)
        if not (args.cache / key).exists():
            todo.append((entry, key))
    print(f"clang-tidy: {total} sources, {total - len(todo)} unchanged since they passed", flush=True)
    failed = left = 0
    started = time.monotonic()
    deadline = started + 60 * args.minutes
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = {pool.submit(check, args.clang_tidy, entry, database, deadline): (entry, key) for entry, key in todo}
        for run in concurrent.futures.as_completed(runs):
            entry, key = runs[run]
            if run.result() is None:
                left += 1
                continue
            code, output, seconds = run.result()
            if code == 0:
                (args.cache / key).touch()
                continue
            failed += 1
            print(f"{entry['file']} ({seconds:.1f} s)\n{output}", flush=True)
    if todo:
        print(f"clang-tidy: {len(todo) - left} checked in {time.monotonic() - started:.1f} s, {failed} failed", flush=True)
    if left:
        print(f"clang-tidy: {left} sources are not checked yet: the limit of {args.minutes:g} minutes is over", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
