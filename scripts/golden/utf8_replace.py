#!/usr/bin/env python3
"""Writes tests/data/text/utf8_replace.tsv: byte sequences and their decoding by Python with errors='replace'.

CPython's UTF-8 decoder puts U+FFFD for each maximal subpart (Unicode Standard 3.9). EDGES are the bytes at which the table
of well-formed UTF-8 changes. The file has the examples of the Unicode Standard, every sequence of one or two EDGES, and a
digest over all sequences of three and of four EDGES.
"""
import hashlib
import itertools
import pathlib

EDGES = bytes.fromhex("00417f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5ff")
EXAMPLES = [
    "c0afe080bff08182 41",  # Unicode 15, table 3-8
    "eda080edbfbfedaf41",  # table 3-9
    "f4919293ff4180bf42",  # table 3-10
    "e180e2f09192f1bf41",  # table 3-11
    "efbbbf41", "c3a9", "f09f9880", "f09f98", "6162e282", "e282ac00e282ac",
]


def replaced(data: bytes) -> bytes:
    return data.decode("utf-8", errors="replace").encode()


def digest(length: int) -> str:
    total = hashlib.sha256()
    for sequence in itertools.product(EDGES, repeat=length):
        total.update(replaced(bytes(sequence)) + b"\n")
    return total.hexdigest()


def main() -> None:
    path = pathlib.Path(__file__).parents[2] / "tests/data/text/utf8_replace.tsv"
    sequences = [bytes.fromhex(example) for example in EXAMPLES]
    sequences += [bytes(s) for n in (1, 2) for s in itertools.product(EDGES, repeat=n)]
    lines = [f"{s.hex()}\t{replaced(s).hex()}" for s in sequences]
    lines += [f"all {n}\t{EDGES.hex()}\t{digest(n)}" for n in (3, 4)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
