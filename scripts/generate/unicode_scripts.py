#!/usr/bin/env python3
"""Writes src/tokenizer/unicode/unicode_scripts_data.cc: the script of each character for the UnicodeScripts pre-tokenizer of
Hugging Face `tokenizers`. The values come from experiments with the package. Two characters have the same script if they
have the same number; the numbers mean nothing else. A character with the number 0 stays with the text before it.

  pip install tokenizers && scripts/generate/unicode_scripts.py src/tokenizer/unicode/unicode_scripts_data.cc
"""
import sys

import tokenizers
from tokenizers import pre_tokenizers
from unicode_tables import CODE_POINTS, write_array

CUT = pre_tokenizers.UnicodeScripts().pre_tokenize_str
STEP = 1 << 12


def starts_of_pieces(text):
    return {begin for _, (begin, _) in CUT(text)}


def joined_with(reference):
    """Returns the code points that cause no cut between two characters `reference`."""
    members = set()
    for i in range(0, len(CODE_POINTS), STEP):
        part = CODE_POINTS[i:i + STEP]
        cuts = starts_of_pieces(reference + "".join(chr(c) + reference for c in part))
        members.update(c for k, c in enumerate(part) if 2 * k + 1 not in cuts and 2 * k + 2 not in cuts)
    return members


def same_script(a, b):
    return len(CUT(chr(a) + chr(b))) == 1


def scripts():
    any_script = joined_with("a") & joined_with("\u4e2d")
    script = {}
    members = []   # one code point of each script
    previous = None
    for c in CODE_POINTS:
        if c in any_script:
            continue
        if previous is not None and same_script(previous, c):
            script[c] = script[previous]
        else:
            script[c] = next((i for i, member in enumerate(members, 1) if same_script(member, c)), len(members) + 1)
            if script[c] > len(members):
                members.append(c)
        previous = c
    return script


def main():
    script = scripts()
    starts, values = [], []
    for c in range(0x110000):
        value = script.get(c, 0)
        if not values or values[-1] != value:
            starts.append(c)
            values.append(value)
    print(f"{max(values)} scripts, {len(starts)} runs", file=sys.stderr)
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("// Made by scripts/generate/unicode_scripts.py from Hugging Face `tokenizers` "
                  f"{tokenizers.__version__}; do not edit.\n// clang-format off\n"
                  '#include "tokenizer/unicode/unicode_scripts_data.h"\n\nnamespace encode::unicode {\n\n'
                  "// Script i applies to the code points from start i up to, but not including, start i + 1.\n")
        write_array(out, "uint32_t", "kScriptStarts", starts)
        write_array(out, "uint8_t", "kScriptValues", values)
        out.write("\n}  // namespace encode::unicode\n")


if __name__ == "__main__":
    main()
