"""Checks that a folder is a cache as huggingface_hub makes it.

usage: layout.py CACHE
"""
import hashlib
import pathlib
import re
import sys


def hash_like(name, content):
    if len(name) == 64:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def check_model(folder):
    for blob in (folder / "blobs").iterdir():
        if blob.suffix == ".incomplete":
            continue
        assert re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", blob.name), blob
        assert blob.is_file() and not blob.is_symlink(), blob
        assert hash_like(blob.name, blob.read_bytes()) == blob.name, f"{blob}: wrong content"
    for snapshot in (folder / "snapshots").iterdir():
        assert re.fullmatch(r"[0-9a-f]{40}", snapshot.name), snapshot
        for path in snapshot.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                continue
            assert path.is_symlink(), f"{path} is no link"
            target = path.readlink()
            assert not target.is_absolute(), target
            assert path.resolve().parent == (folder / "blobs").resolve(), f"{path} -> {target}"
            assert path.resolve().is_file(), f"{path}: no blob"
    for ref in (folder / "refs").rglob("*"):
        if ref.is_dir():
            continue
        commit = ref.read_text()
        assert re.fullmatch(r"[0-9a-f]{40}", commit), f"{ref}: {commit!r}"
        assert (folder / "snapshots" / commit).is_dir(), f"{ref}: no snapshot {commit}"
    known = {"blobs", "refs", "snapshots"}
    others = {path.name for path in folder.iterdir()} - known
    assert all(name.startswith(".encode.") for name in others), others


def check(cache):
    """Raises AssertionError that names the path that is wrong."""
    for folder in pathlib.Path(cache).iterdir():
        if folder.name.startswith("models--") and folder.is_dir():
            for name in ("blobs", "refs", "snapshots"):
                (folder / name).mkdir(exist_ok=True)  # a process may be killed before it makes them
            check_model(folder)
        else:
            assert folder.name in (".locks", "CACHEDIR.TAG"), folder  # huggingface_hub writes the tag
    for lock in (pathlib.Path(cache) / ".locks").rglob("*"):
        assert lock.is_dir() or lock.suffix == ".lock", lock


if __name__ == "__main__":
    check(sys.argv[1])
