#!/usr/bin/env python3
"""Downloads pinned wheels and prints their paths, one on each line.

    fetch.py --cache DIR REQUIREMENTS...

A line of requirements is `name==version --hash=sha256:HEX`. The cache stores each wheel under its hash, and the hash is
checked at each use. pip finds the address of a wheel; it uses the index, the proxy and the certificates that this machine
has configured. curl fetches the wheel and resumes an earlier attempt of this run or of another. If curl cannot fetch it,
for example because the index needs a login, pip downloads the wheel.
"""
import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import time
from dataclasses import dataclass

PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})$")
# The hashes belong to the wheels of this target. The Python that runs this file does not matter, because LibTorch is the
# same in the wheels for all Python versions.
TARGET = ["--only-binary=:all:", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311", "--abi", "none",
          "--platform", "manylinux2014_x86_64"]
TARGET += [word for minor in range(5, 29) for word in ("--platform", f"manylinux_2_{minor}_x86_64")]
ATTEMPTS = 8
STALLED_SECONDS = 60


@dataclass(frozen=True)
class Pin:
    name: str
    version: str
    sha256: str

    def requirement(self):
        return f"{self.name}=={self.version}"


def read_pins(paths):
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            match = PIN.match(line)
            if not match:
                sys.exit(f"error: {path}:{number}: expected 'name==version --hash=sha256:HEX', found '{line}'")
            yield Pin(**match.groupdict())


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


def ask_pip(pins):
    """Returns {name: address} of the wheels. `--dry-run` with a report reads only metadata and downloads no wheel."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps",
               "--target", "unused", "--report", "-", *TARGET, *(pin.requirement() for pin in pins)]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {item["metadata"]["name"].lower().replace("_", "-"): item["download_info"]["url"]
            for item in report["install"]}


def curl(url, partial):
    progress = ["--progress-bar"] if sys.stderr.isatty() else ["--no-progress-meter"]
    command = ["curl", "--fail", "--location", "--continue-at", "-", "--connect-timeout", "30",
               "--speed-limit", "1024", "--speed-time", str(STALLED_SECONDS), *progress, "--output", str(partial), url]
    return subprocess.run(command, stdout=sys.stderr).returncode


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


def download_with_pip(pin, folder):
    note(f"{pin.requirement()}: downloading with pip")
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{pin.requirement()} --hash=sha256:{pin.sha256}\n")
    subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", *TARGET,
                    "--dest", str(folder), "-r", str(requirement)], check=True, stdout=sys.stderr)
    requirement.unlink()
    return next(folder.glob("*.whl"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("requirements", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    pins = list(read_pins(args.requirements))
    wheels = {pin: cached(args.cache, pin) for pin in pins}
    missing = [pin for pin in pins if not wheels[pin]]
    urls = ask_pip(missing) if missing else {}
    for pin in missing:
        folder = args.cache / pin.sha256
        wheels[pin] = download(pin, urls[pin.name], folder) or download_with_pip(pin, folder)
        note(f"{wheels[pin].name}: {wheels[pin].stat().st_size / 1e6:.1f} MB")
    print("\n".join(str(wheels[pin]) for pin in pins))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: '{' '.join(map(str, error.cmd[:4]))} ...' failed with exit code {error.returncode}")
