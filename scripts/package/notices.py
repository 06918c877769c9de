#!/usr/bin/env python3
"""Collects the licences of what a package contains, one file or folder for each part.

    notices.py --output DIR [--programs] [--library FILE]... [--wheel FILE]...

--programs  the package contains the programs, into which the build compiles headers of Debian
--library   a library of Debian that the package contains
--wheel     a wheel from which the package has files
"""
import argparse
import pathlib
import shutil
import zipfile

import parts

LICENCE_WORDS = ("LICENSE", "LICENCE", "NOTICE", "COPYING")


def copy_debian(package, folder):
    shutil.copyfile(package.notice(), folder / f"{package.name}.txt")


def copy_wheel(wheel, folder):
    """Copies the licences of a wheel, which are in its .dist-info."""
    copied = 0
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = pathlib.PurePosixPath(name)
            if name.endswith("/") or not path.parts[0].endswith(".dist-info") or not path.name.upper().startswith(LICENCE_WORDS):
                continue
            target = folder / f"{path.parts[0].removesuffix('.dist-info')}-{path.stem}.txt"
            target.write_bytes(archive.read(name))
            copied += 1
    if not copied:
        raise SystemExit(f"error: {wheel} has no licence")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--wheel", action="append", default=[])
    args = parser.parse_args()
    args.output.mkdir(parents=True)
    compiled_in = parts.compiled_in() if args.programs else []
    for package in {*parts.packages_of(args.library), *compiled_in}:
        copy_debian(package, args.output)
    for wheel in args.wheel:
        copy_wheel(wheel, args.output)


if __name__ == "__main__":
    main()
