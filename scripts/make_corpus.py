#!/usr/bin/env python3
"""Makes a JSONL file of real texts from the packages that are installed on this machine. Each row is one text.

    make_corpus.py tests --rows 50621 --output tests.jsonl
    make_corpus.py changes --rows 50621 --output changes.jsonl

kind           rows
tests          Python functions: first the test functions of the standard library (package libpythonX-testsuite), then
               all other functions of the installed Python sources
changes        entries of the changelogs under /usr/share/doc, which read like commit messages. It takes one changelog of
               each source package: first the changelogs in Debian's format, then the others. If a machine has too few
               (container images often have no /usr/share/doc), package descriptions follow
descriptions   the one-line descriptions of the packages that apt knows

Every row is {"text": ..., "source": ...}. The rows follow the sorted paths, so the same packages give the same file, and a
file with fewer rows is the beginning of a file with more. Duplicates are kept, because real inputs have them too; the
program prints their number.
"""
import argparse
import ast
import glob
import gzip
import itertools
import json
import pathlib
import re
import subprocess
import sys
import sysconfig
import textwrap
import warnings

# The folders of the distribution's Python, and of the interpreter that runs this file.
PYTHON_FOLDERS = ("/usr/lib/python3*", "/usr/local/lib/python3*", sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
CHANGELOGS = "/usr/share/doc/*/changelog*.gz"
CHANGELOG_HEADER = re.compile(r"([a-z0-9][a-z0-9.+-]+) \(")
ENTRY_START = re.compile(r"^( {0,2}|\t)[*-] +")  # in the styles of Debian, GNU and Markdown
MAX_TEXT_BYTES = 1 << 20  # the default limit of a row in encode


def python_files(folder):
    return sorted(path for path in folder.rglob("*.py") if path.is_file() and not path.is_symlink())


def functions(path):
    """Yields (name, source) of the functions and methods of a file, except functions inside other functions."""
    try:
        source = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):  # the test suite contains invalid files on purpose
        return
    lines = source.splitlines(keepends=True)
    pending = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node.name, textwrap.dedent("".join(lines[first - 1:node.end_lineno])).rstrip()
        elif isinstance(node, (ast.ClassDef, ast.If, ast.Try, ast.With)):
            pending.extend(reversed(node.body))


def python_texts():
    folders = sorted({pathlib.Path(name) for pattern in PYTHON_FOLDERS for name in glob.glob(pattern)})
    folders = [folder for folder in folders if not any(folder.is_relative_to(other) for other in folders if other != folder)]
    suites = [folder / "test" for folder in folders if (folder / "test").is_dir()]
    for path in itertools.chain.from_iterable(map(python_files, suites)):
        for name, text in functions(path):
            if name.startswith("test"):
                yield text, f"{path}:{name}"
    for folder in folders:
        for path in python_files(folder):
            in_suite = any(path.is_relative_to(suite) for suite in suites)
            for name, text in functions(path):
                if not (in_suite and name.startswith("test")):
                    yield text, f"{path}:{name}"


def changelog_entries(text):
    """Yields the bullets of a changelog, each with its indented continuation lines."""
    entry = []
    for line in text.splitlines():
        start = ENTRY_START.match(line)
        if entry and (start or not line[:1].isspace() or not line.strip()):
            yield "\n".join(entry)
            entry = []
        if start:
            entry = [line[start.end():].strip()]
        elif entry:
            entry.append(line.strip())
    if entry:
        yield "\n".join(entry)


def changelogs():
    """Yields (name, text) of one changelog of each source package: first those in Debian's format, then the others."""
    seen = set()
    upstream = []
    for name in sorted(glob.glob(CHANGELOGS)):
        text = gzip.decompress(pathlib.Path(name).read_bytes()).decode("utf-8", "replace")
        header = CHANGELOG_HEADER.match(text)
        # Binary packages of the same source have the same changelog with small differences, so only
        # the first is used.
        identity = header.group(1) if header else text
        if identity in seen:
            continue
        seen.add(identity)
        if header:
            yield name, text
        else:
            upstream.append((name, text))
    yield from upstream


def change_texts():
    for name, text in changelogs():
        for number, entry in enumerate(changelog_entries(text)):
            yield entry, f"{name}:{number}"


def description_texts():
    with subprocess.Popen(["apt-cache", "dumpavail"], stdout=subprocess.PIPE, text=True, errors="replace") as process:
        package = ""
        for line in process.stdout:
            if line.startswith("Package: "):
                package = line[9:].strip()
            elif line.startswith("Description"):
                yield line.split(": ", 1)[-1].strip(), f"apt:{package}"


KINDS = {
    "tests": (python_texts,),
    "changes": (change_texts, description_texts),
    "descriptions": (description_texts,),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--rows", type=int, default=0, help="the largest number of rows (0: all)")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    texts = itertools.chain.from_iterable(source() for source in KINDS[args.kind])
    rows = ((text, source) for text, source in texts if text.strip() and len(text.encode()) <= MAX_TEXT_BYTES)
    if args.rows:
        rows = itertools.islice(rows, args.rows)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    distinct = set()
    with args.output.open("w", encoding="utf-8") as file:
        for text, source in rows:
            file.write(json.dumps({"text": text, "source": source}, ensure_ascii=False) + "\n")
            distinct.add(text)
            count += 1
    print(f"{args.output}: {count} rows, {count - len(distinct)} of them repeat an earlier row, "
          f"{args.output.stat().st_size / 1e6:.1f} MB")
    if count < args.rows:
        print(f"{args.kind}: this machine has only {count} rows of the {args.rows} that were requested", file=sys.stderr)


if __name__ == "__main__":
    main()
