"""Merged matrices: the parts of an experiment that was encoded in shards."""
import bisect
import pathlib
from typing import Any, Dict, Iterator, List

import numpy as np

from ._files import Damaged, Path, read_sealed_file
from ._final import Final, open_final


class Parts:
    """A merged matrix. open_parts() makes it.

    Each part is a finished matrix with some of the rows, and all parts together have every row once. A part is opened when one
    of its rows is read.
    """

    def __init__(self, path: pathlib.Path, listed: Dict[str, Any]):
        self.path = path
        self.listed = listed
        self.rows: int = listed["rows"]
        self.dim: int = listed["dim"]
        self.type: str = listed["output_dtype"]
        self._parts: List[Dict[str, Any]] = listed["parts"]
        self._open: Dict[int, Final] = {}
        following = 0
        for part in self._parts:
            if part["first_row"] != following or part["rows"] < 1 or "/" in part["file"]:
                raise Damaged(f"{path}: {part['file']} does not begin with row {following}")
            following += part["rows"]
        if following != self.rows:
            raise Damaged(f"{path}: the parts have {following} rows of {self.rows}")
        self._first_rows = [part["first_row"] for part in self._parts]

    def __len__(self) -> int:
        """Returns the number of parts."""
        return len(self._parts)

    def __iter__(self) -> Iterator[Final]:
        return (self.part(index) for index in range(len(self._parts)))

    def part(self, index: int) -> Final:
        """Opens a part. Raises Damaged if it is not the one in the list, and FileNotFoundError if it is missing."""
        if index not in self._open:
            self._open[index] = self.open_part(index)
        return self._open[index]

    def open_part(self, index: int, load: bool = True) -> Final:
        """Opens a part as open_final() does, and does not keep it."""
        listed = self._parts[index]
        part = open_final(self.path.with_name(listed["file"]), load)
        found = (part.first_row, part.rows, part.manifest["xxh3_128"])
        if found != (listed["first_row"], listed["rows"], listed["xxh3_128"]):
            raise Damaged(f"{part.path}: this is not the part that {self.path} lists")
        return part

    def row(self, row: int) -> np.ndarray:
        """Returns the vector of a row as float32, or the vectors of its tokens. Raises KeyError for a row that was dropped."""
        if not 0 <= row < self.rows:
            raise IndexError(f"row {row} of {self.rows}")
        return self.part(bisect.bisect_right(self._first_rows, row) - 1).row(row)


def open_parts(path: Path) -> Parts:
    """Opens the list x.parts.json that `encode merge` writes. Raises Damaged, and FileNotFoundError if it is missing."""
    path = pathlib.Path(path)
    listed = read_sealed_file(path)
    if listed.get("format") != 1:
        raise Damaged(f"{path}: unknown format")
    return Parts(path, listed)
