"""The programs of encode. The command `encode` starts them with the torch and the pyarrow of this environment."""
import importlib.util
import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "tree" / "bin" / "encode"


def environment():
    """Returns the environment for the program. What the user has set stays as it is."""
    result = dict(os.environ)
    for variable, package in (("TORCH_ROOT", "torch"), ("ARROW_ROOT", "pyarrow")):
        found = importlib.util.find_spec(package)  # does not import the package
        if found is not None and found.submodule_search_locations:
            result.setdefault(variable, found.submodule_search_locations[0])
    return result


def main():
    os.execve(PROGRAM, [str(PROGRAM), *sys.argv[1:]], environment())
