#!/usr/bin/env python3
"""Checks what the compilers and clang-tidy do not: sizes, macros, marks of unfinished work, paths of one machine.

    limits.py

It reads the files that git tracks and the new files that git does not ignore. It prints a line `FILE:LINE: finding` for
each finding. The exit code is 1 if there is a finding. In C++, clang-tidy checks the number of a function's parameters
(readability-function-size). clang-tidy does not read CUDA, so this script does it there.

- A source has at most 400 lines. A function has at most 60 lines, counted from the opening brace in C++ and CUDA, and from
  the head in Python. A function in CUDA has at most 4 parameters.
- A header begins with `#pragma once`. No file defines a macro; ALLOWED_MACROS lists the exceptions.
- Two files of the programs do not define a type with the same full name. A program that links both would use the functions
  of one type for objects of the other one, and no linker reports this.
- Two headers of the programs do not have the same name: a name alone says which header is meant.
- No file has a mark of unfinished work, and no file names a folder that only one machine has.
"""
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE_LINES = 400
FUNCTION_LINES = 60
FUNCTION_PARAMETERS = 4
CUDA = {".cu", ".cuh"}
CPP = {".cc", ".h"} | CUDA
SOURCES = CPP | {".py", ".sh"}

# Files that are one table.
LONG_FILES = {"src/base/error_table.cc", "src/tokenizer/unicode/break_data.cc", "src/tokenizer/unicode/unicode_data.cc"}
ALLOWED_MACROS = {
    "src/protocol/json_fields.h": {"ENCODE_FIELDS"},  # it makes a string of the names of the members of a struct
}
# The texts and vocabularies in this folder come from other projects, so a path or a mark in them is data.
DATA = "tests/data/"

MARK = re.compile(r"\b(?:[T]ODO|[F]IXME|[X]XX|[H]ACK)\b")
MACHINE_PATH = re.compile(r"/(?:root|home/\w+)/|[.]pyenv\b")
DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)")
# Comments and literals. Braces in them open no block, so they are removed before braces are
# counted.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
# The folders of the sources that one program may link.
PROGRAM_FOLDERS = ("src/", "include/", "apps/")
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"\b(?:struct|class|enum class)\s+(\w+)(?:\s+final)?(?:\s*:[^:()].*)?\s*$")
# What stands before the brace of a table.
TABLE = re.compile(r"=\s*(?:std::to_array<[\w:<>, ]+>\(\s*)?$")
# The words before a brace that opens a scope in which functions are defined.
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b[^()=]*$")
# What has parentheses before the parameters of a function.
BEFORE_PARAMETERS = re.compile(r"\b(?:__launch_bounds__|requires|decltype|alignas)\s*$")


def blank(text):
    """Replaces each comment and literal by its line ends."""
    return NOT_CODE.sub(lambda match: "\n" * match.group().count("\n"), text)


def cpp_functions(text):
    """Yields (first line, last line, head) of each function's body. It leaves out tables: `x = {...}`, and a body `return {...};`."""
    depth = 0
    opened = None  # depth and line of the outermost block that is not a scope
    table = first_statement = False
    head = ""
    line = 1
    for token in re.split(r"([{};\n])", blank(text)):
        if token == "{":
            if opened is None and not SCOPE.search(head):
                opened = (depth, line, head)
                table = bool(TABLE.search(head))
            elif opened and depth == opened[0] + 1 and first_statement:
                table = table or head.strip() == "return"
            depth += 1
        elif token == "}":
            depth -= 1
            if opened and opened[0] == depth:
                if not table:
                    yield opened[1], line, opened[2]
                opened = None
        if token in ("{", "}", ";"):
            head = ""
            first_statement = token == "{" and opened is not None and depth == opened[0] + 1
        elif token == "\n":
            line += 1
            head += " "
        else:
            head += token


def count_parameters(head):
    """Returns the number of parameters in the head of a function, or 0 if it has no parentheses."""
    nesting = ""
    commas = 0
    for place, char in enumerate(head):
        if not nesting:
            if char == "(" and not BEFORE_PARAMETERS.search(head[:place]):
                begin = place
                nesting = "("
            continue
        if char in "(<{[":
            nesting += char
        elif char in ")>}]" and head[place - 1:place + 1] != "->":
            nesting = nesting[:-1]
            if not nesting:
                return commas + 1 if head[begin + 1:place].strip() else 0
        elif char == "," and nesting == "(":
            commas += 1
    return 0


def python_functions(text):
    """Yields (first line, last line, "") of each function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno, ""


def size_findings(path, text):
    suffix = pathlib.PurePath(path).suffix
    lines = text.count("\n")
    if lines > FILE_LINES and path not in LONG_FILES:
        yield 1, f"{lines} lines; a file has at most {FILE_LINES}"
    functions = cpp_functions if suffix in CPP else python_functions if suffix == ".py" else lambda _: ()
    for first, last, head in functions(text):
        if suffix in CUDA and (parameters := count_parameters(head)) > FUNCTION_PARAMETERS:
            yield first, f"a function of {parameters} parameters; it has at most {FUNCTION_PARAMETERS}"
        if last - first + 1 > FUNCTION_LINES:
            yield first, f"a function of {last - first + 1} lines; it has at most {FUNCTION_LINES}"


def macro_findings(path, text):
    if path.endswith((".h", ".cuh")) and not blank(text).lstrip().startswith("#pragma once"):
        yield 1, "a header begins with #pragma once"
    for number, line in enumerate(text.splitlines(), 1):
        match = DEFINE.match(line)
        if match and match[1] not in ALLOWED_MACROS.get(path, ()):
            yield number, f"macro {match[1]}: write a constant, a function or a template"


def types(text):
    """Yields (line, full name) of each type that a file defines in a named namespace."""
    blocks = []  # the name of each open namespace, and "" for each other block
    head = ""
    line = 1
    for token in re.split(r"([{};\n])", blank(text)):
        if token == "{":
            if (match := TYPE.search(head)) and blocks and all(blocks):
                yield line, "::".join([*blocks, match[1]])
            namespace = NAMESPACE.search(head)
            blocks.append(namespace[1] if namespace else "")
        elif token == "}" and blocks:
            blocks.pop()
        line += token == "\n"
        head = "" if token in ("{", "}", ";") else head + (" " if token == "\n" else token)


class OneDefinition:
    def __init__(self):
        self.places = {}

    def findings(self, path, text):
        if path.startswith(PROGRAM_FOLDERS) and pathlib.PurePath(path).suffix in CPP:
            for line, name in types(text):
                if (first := self.places.setdefault(name, path)) != path:
                    yield line, f"{name} is also a type in {first}: give one of them another name"


class HeaderNames:
    def __init__(self):
        self.paths = {}

    def findings(self, path, _):
        name = pathlib.PurePath(path)
        if path.startswith(PROGRAM_FOLDERS) and name.suffix in (".h", ".cuh"):
            if (first := self.paths.setdefault(name.name, path)) != path:
                yield 1, f"{first} is also called {name.name}: give one of them a telling name"


def word_findings(text):
    for number, line in enumerate(text.splitlines(), 1):
        if mark := MARK.search(line):
            yield number, f"'{mark.group()}': finish it, or describe what is open in docs/requirements.md"
        if found := MACHINE_PATH.search(line):
            yield number, f"'{found.group()}' is a folder of one machine"


def findings(path, text):
    """Returns [(line, finding)] of one file. `path` is relative to the project's root."""
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
    definitions = OneDefinition()
    headers = HeaderNames()
    for path, text in tracked_texts():
        for line, finding in [*findings(path, text), *definitions.findings(path, text), *headers.findings(path, text)]:
            failed = True
            print(f"{path}:{line}: {finding}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
