"""Checks what a merge says about parts of two kinds of devices.

usage: slurm_kinds.py CACHE EXPECTED      EXPECTED is the number of shards that the lesser kind has encoded

Each list of parts must name both kinds, and the manifest of each part its own kind alone.
"""
import collections
import json
import pathlib
import sys


def main():
    cache, expected = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    for path in sorted(cache.glob("*.parts.json")):
        listed = json.loads(path.read_text())
        kinds = {origin["device"] for origin in listed["origins"]}
        parts = collections.Counter()
        for part in listed["parts"]:
            manifest = json.loads((cache / (part["file"] + ".manifest.json")).read_text())
            parts[" and ".join(origin["device"] for origin in manifest["origins"])] += 1
        print(f"   {path.name}: origins {sorted(kinds)}, parts {dict(parts)}")
        if len(kinds) != 2 or set(parts) != kinds or sorted(parts.values())[0] != min(expected, len(listed["parts"]) - expected):
            sys.exit(f"error: {path}: two kinds were expected, the lesser one in {expected} parts")


if __name__ == "__main__":
    main()
