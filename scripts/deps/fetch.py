#!/usr/bin/env python3
"""Downloads pinned wheels and prints their paths, one on each line.

    fetch.py --cache DIR [--machine x86_64|aarch64] SECTION...
    fetch.py --print SECTION...      prints the lines of the sections instead

A section of pins.txt has lines `name==version --hash=sha256:HEX`, with two hashes if each kind of processor has its own wheel. The
cache stores each wheel under its hash, and the hash is checked at each use. pip finds the address of a wheel; it uses the index,
the proxy and the certificates that this machine has configured. curl fetches the wheel and resumes an earlier attempt of this run
or of another. If curl cannot fetch it, for example because the index needs a login, pip downloads the wheel.
"""
import argparse
import hashlib
import json
import pathlib
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass

PINS = pathlib.Path(__file__).resolve().parent / "pins.txt"
PIN = re.compile(r"^([\w.-]+)==(\S+) --hash=sha256:([0-9a-f]{64})(?: --hash=sha256:([0-9a-f]{64}))?$")
MACHINES = ("x86_64", "aarch64")  # in the order of the hashes
# The hashes belong to the wheels of this Python. The Python that runs this file does not matter, because LibTorch is the
# same in the wheels for all Python versions.
TARGET = ["--only-binary=:all:", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311", "--abi", "none"]
PLATFORMS = ["manylinux2014", *(f"manylinux_2_{minor}" for minor in range(5, 29))]
ATTEMPTS = 8
STALLED_SECONDS = 60
REDRAW_SECONDS = 1  # of the progress on a terminal
LINE_SECONDS = 30  # between two lines of the progress elsewhere


@dataclass(frozen=True)
class Pin:
    name: str
    version: str
    sha256: str

    def requirement(self):
        return f"{self.name}=={self.version}"


def read_sections(path=PINS):
    """Returns {section: [(number of the line, line)]}. The lines are without the empty ones."""
    sections, lines = {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("["):
            lines = sections[line.strip("[]")] = []
        elif line:
            lines.append((number, line))
    return sections


def section_lines(name, path=PINS):
    if name not in (sections := read_sections(path)):
        sys.exit(f"error: {path}: no section [{name}]; there are {', '.join(sections)}")
    return sections[name]


def read_pins(names, path=PINS, machine=platform.machine()):
    for name in names:
        for number, line in section_lines(name, path):
            if line.startswith("#"):
                continue
            match = PIN.match(line)
            if not match:
                sys.exit(f"error: {path}:{number}: expected 'name==version --hash=sha256:HEX', found '{line}'")
            name, version, *hashes = match.groups()
            if hashes[1] and machine not in MACHINES:
                sys.exit(f"error: {path}:{number}: {name} has wheels for {' and '.join(MACHINES)}, and none for {machine}")
            yield Pin(name, version, hashes[MACHINES.index(machine)] if hashes[1] else hashes[0])


def note(text):
    print(text, file=sys.stderr, flush=True)


def sha256(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cached(cache, pin):
    for wheel in (cache / pin.sha256).glob("*.whl"):
        if sha256(wheel) == pin.sha256:
            return wheel
        note(f"{wheel.name} in the cache is damaged, downloading it again")
        wheel.unlink()
    return None


def target(machine):
    return TARGET + [word for each in PLATFORMS for word in ("--platform", f"{each}_{machine}")]


def ask_pip(pins, machine):
    """Returns {name: address} of the wheels. `--dry-run` with a report reads only metadata and downloads no wheel."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps",
               "--target", "unused", "--report", "-", *target(machine), *(pin.requirement() for pin in pins)]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {item["metadata"]["name"].lower().replace("_", "-"): item["download_info"]["url"]
            for item in report["install"]}


def progress_text(partial, held, headers, seconds):
    """Returns "120.3 of 530.6 MB, 12 s". `held` is the size of the file before this attempt."""
    size = partial.stat().st_size if partial.exists() else held
    lengths = re.findall(r"(?im)^content-length: *(\d+)", headers.read_text(errors="replace") if headers.exists() else "")
    total = f" of {(held + int(lengths[-1])) / 1e6:.1f}" if lengths else ""
    return f"{size / 1e6:.1f}{total} MB, {seconds:.0f} s"


def curl(url, partial):
    """Downloads the rest of a file and shows the progress: on a terminal in a line that is redrawn, elsewhere in lines."""
    held = partial.stat().st_size if partial.exists() else 0
    headers = partial.with_suffix(".headers")
    command = ["curl", "--fail", "--location", "--continue-at", "-", "--connect-timeout", "30", "--no-progress-meter",
               "--speed-limit", "1024", "--speed-time", str(STALLED_SECONDS), "--dump-header", str(headers),
               "--output", str(partial), url]
    redrawn = sys.stderr.isatty()
    start = time.monotonic()
    try:
        with subprocess.Popen(command, stdout=sys.stderr) as process:
            while True:
                try:
                    return process.wait(REDRAW_SECONDS if redrawn else LINE_SECONDS)
                except subprocess.TimeoutExpired:
                    text = "   " + progress_text(partial, held, headers, time.monotonic() - start)
                    print(f"\r\033[K{text}" if redrawn else text, end="" if redrawn else "\n", file=sys.stderr, flush=True)
    finally:
        headers.unlink(missing_ok=True)
        if redrawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def download(pin, url, folder):
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / url.split("#")[0].rsplit("/", 1)[1]
    partial = wheel.with_suffix(".partial")
    for attempt in range(ATTEMPTS):
        held = partial.stat().st_size if partial.exists() else 0
        note(f"{wheel.name}: downloading{f', from {held / 1e6:.1f} MB on' if held else ''}")
        failed = curl(url, partial)
        if partial.exists() and sha256(partial) == pin.sha256:  # also if an earlier run was killed before the rename
            return partial.rename(wheel)
        if failed:
            time.sleep(min(2 ** attempt, 30))
        else:
            note(f"{wheel.name}: the SHA-256 is not the pinned one, starting again")
            partial.unlink()
    partial.unlink(missing_ok=True)
    return None


def download_with_pip(pin, folder, machine):
    note(f"{pin.requirement()}: downloading with pip")
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{pin.requirement()} --hash=sha256:{pin.sha256}\n")
    subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", *target(machine),
                    "--dest", str(folder), "-r", str(requirement)], check=True, stdout=sys.stderr)
    requirement.unlink()
    return next(folder.glob("*.whl"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--cache", type=pathlib.Path)
    action.add_argument("--print", action="store_true")
    parser.add_argument("--machine", default=platform.machine(), help="the kind of processor (default: %(default)s)")
    parser.add_argument("sections", nargs="+")
    args = parser.parse_args()
    if args.print:
        print("\n".join(line for name in args.sections for _, line in section_lines(name)))
        return
    pins = list(read_pins(args.sections, machine=args.machine))
    wheels = {pin: cached(args.cache, pin) for pin in pins}
    missing = [pin for pin in pins if not wheels[pin]]
    if missing:
        note(f"asking the package index for {', '.join(pin.requirement() for pin in missing)}")
    urls = ask_pip(missing, args.machine) if missing else {}
    for pin in missing:
        folder = args.cache / pin.sha256
        wheels[pin] = download(pin, urls[pin.name], folder) or download_with_pip(pin, folder, args.machine)
        note(f"{wheels[pin].name}: {wheels[pin].stat().st_size / 1e6:.1f} MB")
    print("\n".join(str(wheels[pin]) for pin in pins))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: '{' '.join(map(str, error.cmd[:4]))} ...' failed with exit code {error.returncode}")
