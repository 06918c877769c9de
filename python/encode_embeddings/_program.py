"""Where the programs are, and the environment in which they find the torch and the pyarrow of this Python."""
import functools
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any, Dict, Optional

from ._errors import EncodeError

BUNDLED = pathlib.Path(__file__).parent / "tree" / "bin" / "encode"
# What names the version of a LibTorch: a file of the wheel, or one of the zip.
VERSION_FILES = ("version.py", "build-version")
VERSION = re.compile(r"\d+\.\d+\.\d+[^\s'\"]*")


def program() -> str:
    """Returns the path of `encode`: ENCODE_PROGRAM, the program of the wheel, or the one of PATH."""
    chosen = os.environ.get("ENCODE_PROGRAM")
    if chosen:
        return chosen
    if BUNDLED.exists():
        return str(BUNDLED)
    found = shutil.which("encode")
    if found is None:
        raise EncodeError("the program encode is missing", code="python.program", exit_code=71, where=str(BUNDLED),
                          expected="the program of the wheel, or encode in a folder of PATH", found="neither",
                          hint="install the wheel of encode (docs/install.md), or name the program in ENCODE_PROGRAM")
    return found


def environment() -> Dict[str, str]:
    """Returns the environment for the program of the wheel. What the user has set stays as it is."""
    result = dict(os.environ)
    for variable, package in (("TORCH_ROOT", "torch"), ("ARROW_ROOT", "pyarrow")):
        found = importlib.util.find_spec(package)  # does not import the package
        if found is not None and found.submodule_search_locations:
            result.setdefault(variable, found.submodule_search_locations[0])
    return result


@functools.lru_cache(maxsize=None)
def facts(path: str) -> Dict[str, Any]:
    """Returns what `encode version --json` prints."""
    done = subprocess.run([path, "version", "--json"], capture_output=True, check=True)
    return dict(json.loads(done.stdout))


def torch_problem(folder: str, needed: str) -> Optional[EncodeError]:
    """Returns the error about a LibTorch of another version than the one that the programs were built with, or None.

    A folder without a version file is left to encode-worker, which says what is missing there.
    """
    found = ""
    for name in VERSION_FILES:
        path = pathlib.Path(folder) / name
        if not found and path.is_file():
            match = VERSION.search(path.read_text(errors="replace"))
            found = match[0] if match else ""
    series = needed.rsplit(".", 1)[0]
    if not found or found.startswith(f"{series}."):
        return None
    return EncodeError("this LibTorch has another version than the one that encode was built with", code="python.torch",
                       exit_code=69, where=folder, expected=f"torch {series}", found=f"torch {found}",
                       hint=f"pip install 'torch=={series}.*', or set TORCH_ROOT to the folder of a LibTorch {series}")


def checked_environment(path: str) -> Dict[str, str]:
    """Returns the environment for a run of `path`.

    Raises:
        EncodeError: The LibTorch that the run would use has the wrong version.
    """
    result = environment() if path == str(BUNDLED) else dict(os.environ)
    if result.get("TORCH_ROOT"):
        problem = torch_problem(result["TORCH_ROOT"], facts(path)["libtorch"])
        if problem:
            raise problem
    return result


def main() -> None:
    """Becomes the program `encode`, with the arguments of this process."""
    path = program()
    result = environment() if path == str(BUNDLED) else dict(os.environ)
    if "TORCH_ROOT" in result and "TORCH_ROOT" not in os.environ:
        problem = torch_problem(result["TORCH_ROOT"], facts(path)["libtorch"])
        if problem:  # Commands that do not encode need no LibTorch, and the others say that it is missing.
            print(f"warning: {problem}", file=sys.stderr, flush=True)
            del result["TORCH_ROOT"]
    os.execve(path, [path, *sys.argv[1:]], result)
