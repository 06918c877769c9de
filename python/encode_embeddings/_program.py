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
OTHER_WORKER = re.compile(r"encode-worker-(\d+\.\d+)$")
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


def ask(path: str, *words: str) -> Dict[str, Any]:
    """Returns the object that a command of `encode` prints as JSON.

    Raises:
        EncodeError: The program cannot be started, or is another one.
    """
    try:
        done = subprocess.run([path, *words], capture_output=True, check=True)
        return dict(json.loads(done.stdout))
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise EncodeError("the program does not answer as encode does", code="python.program", exit_code=71, where=path,
                          expected=f"the answer of `encode {' '.join(words)}`", found=str(error),
                          hint="name the right program in ENCODE_PROGRAM, or leave this variable unset") from error


@functools.lru_cache(maxsize=None)
def facts(path: str) -> Dict[str, Any]:
    """Returns what `encode version --json` prints. Raises what ask() raises."""
    return ask(path, "version", "--json")


def torch_version(folder: str) -> str:
    """Returns the version of the LibTorch in a folder, or "" if no file says it."""
    for name in VERSION_FILES:
        path = pathlib.Path(folder) / name
        match = VERSION.search(path.read_text(errors="replace")) if path.is_file() else None
        if match:
            return match[0]
    return ""


def series_of(version: str) -> str:
    """Returns "2.11" for "2.11.0+cpu". The releases of a series have the same binary interface."""
    return ".".join(version.split(".")[:2])


def other_workers(path: str) -> Dict[str, str]:
    """Returns the workers beside a program for other versions of torch: {"2.15": ".../lib/encode/encode-worker-2.15"}."""
    folder = pathlib.Path(path).resolve().parent.parent / "lib" / "encode"
    return {match[1]: str(each) for each in folder.glob("encode-worker-*") if (match := OTHER_WORKER.match(each.name))}


def choose_worker(path: str, variables: Dict[str, str]) -> Optional[EncodeError]:
    """Sets ENCODE_WORKER, unless it is set, if the LibTorch in TORCH_ROOT needs another worker than that of the program `path`.

    Returns:
        The error about a LibTorch for which there is no worker. A folder without a version file is left to encode-worker, which
        says what is missing there.
    """
    folder = variables.get("TORCH_ROOT")
    found = torch_version(folder) if folder else ""
    if not folder or not found or variables.get("ENCODE_WORKER"):
        return None
    own = series_of(facts(path)["libtorch"] or "")
    if series_of(found) == own:
        return None
    others = other_workers(path)
    if series_of(found) in others:
        variables["ENCODE_WORKER"] = others[series_of(found)]
        return None
    known = sorted({own, *others}, key=lambda series: [int(part) for part in series.split(".") if part])
    return EncodeError("this LibTorch has another version than those that encode was built with", code="python.torch",
                       exit_code=69, where=folder, expected=f"torch {' or '.join(filter(None, known))}", found=f"torch {found}",
                       hint=f"pip install 'torch=={known[-1]}.*', or set TORCH_ROOT to the folder of a LibTorch {known[-1]}")


def checked_environment(path: str) -> Dict[str, str]:
    """Returns the environment for a run of `path`.

    Raises:
        EncodeError: There is no worker for the LibTorch that the run would use.
    """
    result = environment() if path == str(BUNDLED) else dict(os.environ)
    problem = choose_worker(path, result)
    if problem:
        raise problem
    return result


def main() -> None:
    """Becomes the program `encode`, with the arguments of this process."""
    path = program()
    result = environment() if path == str(BUNDLED) else dict(os.environ)
    problem = choose_worker(path, result)
    if problem and "TORCH_ROOT" not in os.environ:
        # Commands that do not encode need no LibTorch, and the others say that it is missing.
        print(f"warning: {problem}", file=sys.stderr, flush=True)
        del result["TORCH_ROOT"]
    os.execve(path, [path, *sys.argv[1:]], result)
