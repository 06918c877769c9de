#!/usr/bin/env python3
"""Writes the table of error messages in docs/troubleshooting.md from the sources.

    messages.py [--check]
        --check    compares the table with the sources instead, and fails if they differ

It finds the errors whose code and message are literals in one initializer, `.code = "...", ... .what = "..."`. A part of a
message that a run fills in becomes `...`.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/troubleshooting.md"
BEGIN = "<!-- messages: begin -->\n"
TABLE = ROOT / "src/base/error_codes.cc"
CODE = re.compile(r'\.code = "([a-z0-9_]+\.[a-z0-9_]+)"')
LITERALS = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
FIELD = r"\.{} = (?:fmt::format\(\s*)?" + LITERALS + r"(?=[,)}}])"


def text_of(literals):
    """Joins adjacent literals and replaces what a run fills in by dots."""
    joined = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"').replace("\\n", " ")
    return re.sub(r"\{[^}]*\}", "...", joined)


def errors_in(source):
    """Yields (message, code, hint) of each initializer of an error."""
    for match in CODE.finditer(source):
        end = source.find("})", match.end())
        following = CODE.search(source, match.end())
        end = min(end if end > 0 else len(source), following.start() if following else len(source))
        block = source[match.start():end + 1]
        what = re.search(FIELD.format("what"), block)
        hint = re.search(FIELD.format("hint"), block)
        # A message that begins with a space, or that is only a value, is the rest of a sentence.
        if what and re.match(r"[A-Za-z']{2}", text_of(what[1])):
            yield text_of(what[1]), match[1], text_of(hint[1]) if hint else ""


def cell(text):
    return re.sub(r"([|<*])", r"\\\1", text)


def table():
    found = set()
    for folder in ("src", "apps"):
        for path in sorted((ROOT / folder).rglob("*.cc")):
            if path != TABLE:
                found |= set(errors_in(path.read_text()))
    lines = ["| message | code | what to do |", "|---|---|---|"]
    for message, code, hint in sorted(found, key=lambda entry: (entry[0].lower(), entry)):
        lines.append(f"| {cell(message)} | `{code}` | {cell(hint)} |")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    there = PAGE.read_text()
    text = there[:there.index(BEGIN) + len(BEGIN)] + table()
    if sys.argv[1:] and text != there:
        sys.exit(f"{PAGE} is not what the sources say: run scripts/generate/messages.py and commit the page")
    if not sys.argv[1:]:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
