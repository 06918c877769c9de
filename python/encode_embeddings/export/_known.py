"""The hashes of the rows of a store that cannot look rows up by their ids."""
import hashlib
from typing import Dict, List

import numpy as np

from ._rows import HASH_BYTES, Id, id_key


def short_keys(ids: List[Id]) -> np.ndarray:
    return np.frombuffer(b"".join(hashlib.blake2b(id_key(each), digest_size=8).digest() for each in ids), np.uint64)


class KnownRows:
    """24 bytes for each row.

    Two ids may have the same 8 bytes. That is no harm: a row counts as unchanged only if its whole hash is equal, which covers
    the id, and any other row with known bytes counts as changed.
    """

    def __init__(self) -> None:
        self._keys: List[np.ndarray] = []
        self._hashes: List[np.ndarray] = []

    def add(self, ids: List[Id], hashes: List[bytes]) -> None:
        self._keys.append(short_keys(ids))
        self._hashes.append(np.frombuffer(b"".join(hashes), np.uint8).reshape(len(hashes), HASH_BYTES))

    def sort(self) -> None:
        """Ends the filling; find() needs it."""
        keys = np.concatenate([np.empty(0, np.uint64), *self._keys])
        hashes = np.concatenate([np.empty((0, HASH_BYTES), np.uint8), *self._hashes])
        order = np.argsort(keys, kind="stable")
        self._keys, self._hashes = [keys[order]], [hashes[order]]

    def find(self, ids: List[Id]) -> Dict[Id, bytes]:
        keys, hashes = self._keys[0], self._hashes[0]
        if not len(keys) or not ids:
            return {}
        wanted = short_keys(ids)
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return {ids[index]: hashes[places[index]].tobytes() for index in np.flatnonzero(keys[places] == wanted)}
