"""What a package of encode is made of: libraries of Debian, headers that are compiled in, and pinned wheels."""
import functools
import pathlib
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/deps"))
import fetch  # noqa: E402  (its folder is only now in the path)


@dataclass(frozen=True)
class DebianPackage:
    name: str
    version: str
    architecture: str
    homepage: str

    def notice(self):
        return pathlib.Path("/usr/share/doc") / self.name / "copyright"


def query(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@functools.cache
def debian_package(name):
    fields = query("dpkg-query", "-W", "-f=${Package}\t${Version}\t${Architecture}\t${Homepage}\n", name)
    return DebianPackage(*fields.splitlines()[0].split("\t"))


def package_of(library):
    """Returns the Debian package that owns the file."""
    real = pathlib.Path(library).resolve()
    # dpkg knows a file by the name in its package, which may be without /usr.
    for path in (real, pathlib.Path("/") / real.relative_to("/usr") if real.is_relative_to("/usr") else real):
        found = subprocess.run(["dpkg", "-S", str(path)], capture_output=True, text=True)
        if found.returncode == 0:
            return debian_package(found.stdout.split(":")[0])
    sys.exit(f"error: {library}: no Debian package has this file")


def packages_of(libraries):
    return sorted({package_of(library) for library in libraries}, key=lambda package: package.name)


def compiled_in():
    """Returns the packages whose headers or static parts may be inside the programs: the libraries of packages.txt."""
    text = (ROOT / "scripts/packages.txt").read_text()
    section = text.split("# libraries\n")[1].split("\n\n")[0]
    return [debian_package(name) for name in section.split()]


def pins(*names):
    return list(fetch.read_pins([ROOT / "scripts/deps" / f"{name}.txt" for name in names]))
