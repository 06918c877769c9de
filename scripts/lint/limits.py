#!/usr/bin/env python3
"""Checks what the compilers and clang-tidy do not: sizes, macros, marks of unfinished work, paths of one machine.

    limits.py

It reads the project's files that git tracks and prints one line `FILE:LINE: finding` for each finding. The exit code is 1
when there is one. The number of a function's parameters is clang-tidy's business (readability-function-size).

- A source has at most 400 lines, and a function of C++, CUDA or Python has at most 60, from its head or its opening brace to
  its end.
- A header begins with `#pragma once`. No file defines a macro; ALLOWED_MACROS lists the exceptions.
- Nothing tracked is marked as unfinished, and nothing names a folder that only one machine has.
"""
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE_LINES = 400
FUNCTION_LINES = 60
CPP = {".cc", ".h", ".cu", ".cuh"}
SOURCES = CPP | {".py", ".sh"}

LONG_FILES = {"src/tokenizer/unicode/unicode_data.cc": "a table that scripts/generate/unicode_tables.py writes"}
ALLOWED_MACROS = {
    "src/kernels/row_kernels.cc": {"ENCODE_TEXT", "ENCODE_NAME"},  # the name of the instruction set as a string
    "src/tokenizer/split/regex_pattern.cc": {"PCRE2_CODE_UNIT_WIDTH"},  # pcre2.h asks for it
}
# Texts and vocabularies of others: a path or a mark in them is data.
DATA = "tests/data/"

MARK = re.compile(r"\b(?:[T]ODO|[F]IXME|[X]XX|[H]ACK)\b")
MACHINE_PATH = re.compile(r"/(?:root|home/\w+)/|[.]pyenv\b")
DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)")
# What can hold a brace that opens no block: it is blanked out before braces are counted.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
# The words before a brace that opens a scope in which functions are defined.
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b[^()=]*$")


def blank(text):
    """The text with comments and literals replaced by as many lines of nothing."""
    return NOT_CODE.sub(lambda match: "\n" * match.group().count("\n"), text)


def cpp_functions(text):
    """Yields (first line, last line) of each function's body. A table is none: `x = {...}`, or a body `return {...};`."""
    depth = 0
    opened = None  # the depth and the line of the outermost block that is no scope
    table = first_statement = False
    head = ""
    line = 1
    for token in re.split(r"([{};\n])", blank(text)):
        if token == "{":
            if opened is None and not SCOPE.search(head):
                opened = (depth, line)
                table = head.rstrip().endswith("=")
            elif opened and depth == opened[0] + 1 and first_statement:
                table = table or head.strip() == "return"
            depth += 1
        elif token == "}":
            depth -= 1
            if opened and opened[0] == depth:
                if not table:
                    yield opened[1], line
                opened = None
        if token in ("{", "}", ";"):
            head = ""
            first_statement = token == "{" and opened is not None and depth == opened[0] + 1
        elif token == "\n":
            line += 1
            head += " "
        else:
            head += token


def python_functions(text):
    """Yields (first line, last line) of each function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def size_findings(path, text):
    suffix = pathlib.PurePath(path).suffix
    lines = text.count("\n")
    if lines > FILE_LINES and path not in LONG_FILES:
        yield 1, f"{lines} lines; a file has at most {FILE_LINES}"
    functions = cpp_functions if suffix in CPP else python_functions if suffix == ".py" else lambda _: ()
    for first, last in functions(text):
        if last - first + 1 > FUNCTION_LINES:
            yield first, f"a function of {last - first + 1} lines; it has at most {FUNCTION_LINES}"


def macro_findings(path, text):
    if path.endswith((".h", ".cuh")) and not blank(text).lstrip().startswith("#pragma once"):
        yield 1, "a header begins with #pragma once"
    for number, line in enumerate(text.splitlines(), 1):
        match = DEFINE.match(line)
        if match and match[1] not in ALLOWED_MACROS.get(path, ()):
            yield number, f"macro {match[1]}: write a constant, a function or a template"


def word_findings(text):
    for number, line in enumerate(text.splitlines(), 1):
        if mark := MARK.search(line):
            yield number, f"'{mark.group()}': finish it, or describe what is open in docs/requirements.md"
        if found := MACHINE_PATH.search(line):
            yield number, f"'{found.group()}' is a folder of one machine"


def findings(path, text):
    """[(line, finding)] of one file, whose path counts from the project's root."""
    if path.startswith(DATA):
        return []
    found = list(word_findings(text))
    suffix = pathlib.PurePath(path).suffix
    if suffix in SOURCES:
        found += size_findings(path, text)
    if suffix in CPP:
        found += macro_findings(path, text)
    return sorted(found)


def tracked_texts():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout
    for name in sorted(filter(None, names.split("\0"))):
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        try:
            yield name, path.read_text()
        except UnicodeDecodeError:  # a binary file
            continue


def main():
    if sys.argv[1:]:
        sys.exit(__doc__)
    failed = False
    for path, text in tracked_texts():
        for line, finding in findings(path, text):
            failed = True
            print(f"{path}:{line}: {finding}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
