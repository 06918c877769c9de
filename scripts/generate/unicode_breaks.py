#!/usr/bin/env python3
"""Writes the table of the text breaks of Unicode (UAX #29) in src/tokenizer/unicode, from the files of the Unicode Character
Database, and copies its conformance tests.

  apt-get download unicode-data && dpkg-deb -x unicode-data_*.deb DIR
  scripts/generate/unicode_breaks.py DIR/usr/share/unicode src/tokenizer/unicode/break_data.cc tests/data/unicode

The table has one byte for each code point: Sentence_Break in the low four bits, Grapheme_Cluster_Break in the high four. A
code point with Extended_Pictographic has no other value of Grapheme_Cluster_Break, so this property has a number there.

The version of the table decides where passages are cut. docs/howto/passages.md and docs/tokenizers.md name it.
"""
import os
import re
import shutil
import sys

from c_arrays import write_array

# The order of the values must be that of the enums in src/tokenizer/unicode/break_table.h.
SENTENCE = ("Other CR LF Sep Extend Format Sp Lower Upper OLetter Numeric ATerm SContinue STerm Close").split()
CLUSTER = ("Other CR LF Control Extend ZWJ Regional_Indicator Prepend SpacingMark L V T LV LVT Extended_Pictographic").split()
TESTS = ("SentenceBreakTest.txt", "GraphemeBreakTest.txt")


def entries(path):
    """Yields (first code point, last code point, value) for the lines of a file of the database."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*(\w+)", line)
            if match:
                first, last, value = match.groups()
                yield int(first, 16), int(last or first, 16), value


def version_of(path):
    with open(path, encoding="utf-8") as file:
        return re.search(r"-([0-9.]+)\.txt", file.readline()).group(1)


def table(folder):
    values = bytearray(0x110000)
    for first, last, name in entries(f"{folder}/auxiliary/SentenceBreakProperty.txt"):
        for c in range(first, last + 1):
            values[c] |= SENTENCE.index(name)
    for first, last, name in entries(f"{folder}/auxiliary/GraphemeBreakProperty.txt"):
        for c in range(first, last + 1):
            values[c] |= CLUSTER.index(name) << 4
    for first, last, name in entries(f"{folder}/emoji/emoji-data.txt"):
        if name != "Extended_Pictographic":
            continue
        for c in range(first, last + 1):
            assert values[c] >> 4 == 0, hex(c)
            values[c] |= CLUSTER.index(name) << 4
    return values


def main():
    folder, source, tests = sys.argv[1:]
    version = version_of(f"{folder}/auxiliary/SentenceBreakProperty.txt")
    assert version == version_of(f"{folder}/auxiliary/GraphemeBreakProperty.txt")
    values = table(folder)
    starts = [c for c in range(len(values)) if c == 0 or values[c] != values[c - 1]]
    print(f"Unicode {version}, {len(starts)} runs", file=sys.stderr)
    with open(source, "w", encoding="ascii") as out:
        out.write("// Made by scripts/generate/unicode_breaks.py from the Unicode Character Database; do not edit.\n"
                  "// Copyright (c) 1991-2022 Unicode, Inc.; terms of use: https://www.unicode.org/terms_of_use.html\n"
                  "// clang-format off\n"
                  '#include "tokenizer/unicode/break_data.h"\n\nnamespace encode::unicode {\n\n'
                  f'const char* const kBreakVersion = "{version}";\n\n'
                  "// Value i applies to the code points from start i up to, but not including, start i + 1.\n")
        write_array(out, "uint32_t", "kBreakStarts", starts)
        write_array(out, "uint8_t", "kBreakValues", [values[c] for c in starts])
        out.write("\n}  // namespace encode::unicode\n")
    os.makedirs(tests, exist_ok=True)
    for name in TESTS:
        assert version_of(f"{folder}/auxiliary/{name}") == version
        shutil.copyfile(f"{folder}/auxiliary/{name}", f"{tests}/{name}")
    shutil.copyfile(f"{folder}/../doc/unicode-data/copyright", f"{tests}/copyright")


if __name__ == "__main__":
    main()
