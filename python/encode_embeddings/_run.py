"""run(): texts -> a matrix."""
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from ._arrow import has_content, write_texts
from ._child import Child
from ._errors import failure
from ._filter import filter_fields
from ._program import checked_environment, program
from ._progress import Progress, ProgressOption
from ._settings import known_keys, place, result_settings
from ._texts import TEXT, batches_of, files_of, hash_of_files

if TYPE_CHECKING:
    import numpy
    import pyarrow
    from encode_reader import Final

FORMAT = 1  # of the names of cache directories
TEXTS = "texts.arrow"
OWN_COLUMNS = ("row", "text")  # output.columns that are no fields of the input


def cache_folder() -> pathlib.Path:
    """Returns the folder of the cache directories that `run` makes: `encode/runs` in $XDG_CACHE_HOME or ~/.cache.

    Each directory in it has the texts and the matrix of one call, and can be deleted when no run uses it.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "encode" / "runs"


class _Call:
    """The arguments of run(), as the config and the files of a run."""

    def __init__(self, texts: Any, model: Any, field: Optional[str], settings: Dict[str, Any]):
        self.program = program()
        self.sections, self.unknown = place(settings, known_keys(self.program))
        for section in ("semantic", "input", "output"):
            self.sections.setdefault(section, {})
        model = os.fspath(model)
        self.sections["semantic"]["model"] = os.path.realpath(model) if os.path.isdir(model) else model
        if field is not None:
            self.sections["input"]["field"] = field
        self.texts = texts
        self.field = field
        self.template = self.sections["input"].get("text")

    def check(self) -> None:
        """Lets the program check the settings, before a text is read or written.

        Raises:
            EncodeError: A key is unknown, or a value is not valid.
        """
        if isinstance(self.texts, (str, os.PathLike)):
            texts = {"file": os.path.abspath(os.fspath(self.texts))}
            files_of(texts["file"])
        else:
            texts = {"file": TEXTS, "format": "arrow", **({} if self.template else {"field": TEXT})}
        trial = {**self.sections, "input": {**texts, **self.sections["input"]}}
        with tempfile.NamedTemporaryFile("w", prefix="settings.", suffix=".yaml") as config:
            config.write(json.dumps(trial, indent=1, ensure_ascii=False) + "\n")
            config.flush()
            done = subprocess.run([self.program, "config", "--config", config.name, *self.unknown], capture_output=True,
                                  text=True, check=False)
        if done.returncode:
            raise failure(done.stderr, done.returncode)

    def name(self, content: str) -> str:
        """Returns the name of the cache directory for texts with this hash."""
        facts = [FORMAT, content, result_settings(self.sections)]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    def prepare(self, cache_dir: Optional[str]) -> pathlib.Path:
        """Writes the texts, unless they are files already, and returns the cache directory."""
        root = cache_folder()
        if isinstance(self.texts, (str, os.PathLike)):
            pattern = os.path.abspath(os.fspath(self.texts))
            self.sections["input"]["file"] = pattern
            folder = pathlib.Path(cache_dir) if cache_dir else root / self.name(hash_of_files(pattern))
            folder.mkdir(parents=True, exist_ok=True)
            return folder
        # A column has the form NAME=FIELD or FIELD.
        columns = [str(each).split("=", 1)[-1] for each in self.sections["output"].get("columns") or []]
        batches = batches_of(self.texts, self.field, self.template, [each for each in columns if each not in OWN_COLUMNS],
                             filter_fields(self.sections["input"].get("where") or ""))
        (pathlib.Path(cache_dir) if cache_dir else root).mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(".partial", "texts.", cache_dir or root)
        os.close(handle)
        try:
            content, column = write_texts(batches, pathlib.Path(partial))
            if not self.template:
                self.sections["input"]["field"] = column
            folder = pathlib.Path(cache_dir) if cache_dir else root / self.name(content)
            folder.mkdir(exist_ok=True)
            # The hash is in the name also where the user chooses the directory, so that other texts are another file.
            path = folder / (TEXTS if not cache_dir else f"texts-{content[:16]}.arrow")
            if not has_content(path, content):
                os.replace(partial, path)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
        self.sections["input"].update(file=str(path), format="arrow")
        return folder


def _matrix_of(summary: Dict[str, Any]) -> "Final":
    from encode_reader import open_final
    matrix = summary["matrices"][-1]
    left_out = matrix["rejected"] + matrix["dropped"]
    if left_out:
        warnings.warn(f"{left_out} of {matrix['rows_in']} rows have no vector, so the rows of the matrix are not those of the "
                      f"texts; {matrix['rejected_path'] or matrix['path']} says which", stacklevel=4)
    return open_final(matrix["path"])


def run_final(texts: Any, *, model: Union[str, "os.PathLike[str]"], field: Optional[str] = None,
              output: Union[None, str, "os.PathLike[str]"] = None, cache_dir: Union[None, str, "os.PathLike[str]"] = None,
              progress: ProgressOption = None, **settings: Any) -> "Final":
    """Encodes texts as `run` does, and returns the matrix with its manifest and the files beside it.

    Args:
        texts, model, field, output, cache_dir, progress, **settings: As in `run`.

    Returns:
        An `encode_reader.Final`: its `matrix` is what `run` returns, and it has the offsets of token embeddings, the values
        behind quantized vectors, and the rows that were truncated or left out.

    Raises:
        As in `run`.
    """
    call = _Call(texts, model, field, settings)
    environment = checked_environment(call.program)
    if output is not None:
        call.sections["output"]["file"] = os.path.abspath(os.fspath(output))
    call.check()
    folder = call.prepare(os.path.abspath(os.fspath(cache_dir)) if cache_dir is not None else None)
    call.sections["semantic"]["cache_dir"] = str(folder)
    config = folder / "run.yaml"  # JSON is YAML
    config.write_text(json.dumps(call.sections, indent=1, ensure_ascii=False) + "\n")
    command: List[str] = [call.program, "run", "--config", str(config), "--json", *call.unknown]
    return _matrix_of(Child(command, environment, folder / "status.json", Progress(progress)).wait())


def run(texts: Any, *, model: Union[str, "os.PathLike[str]"], field: Optional[str] = None,
        output: Union[None, str, "os.PathLike[str]"] = None, cache_dir: Union[None, str, "os.PathLike[str]"] = None,
        progress: ProgressOption = None, **settings: Any) -> "Union[numpy.ndarray, pyarrow.Table]":
    """Encodes texts with the program `encode`, and returns their vectors.

    The vectors have the bits that the command `encode run` gives. A call that was interrupted or killed is continued by the
    same call: the same texts, model and settings lead to the same cache directory.

    Args:
        texts: A list, an iterator or another iterable of str (None: no text); a Series, DataFrame or LazyFrame of pandas or
            polars; an array, table, batch or reader of pyarrow; a Dataset or IterableDataset of datasets; any other object
            with `__arrow_c_stream__`; or the path of an input file of encode, a pattern or a folder. A str is always a path.
            Lists of int are token ids.
        model: The directory of a model, or its id on the Hugging Face Hub if the model is in the cache on this machine.
        field: The column of the texts. It may be left out if only one column has strings.
        output: The file of the matrix (.npy, .parquet, .arrow). None: it is in the cache directory.
        cache_dir: The directory of chunks and log. None: a directory in `cache_folder()`, named by a hash of the content.
        progress: None: the progress is shown on a terminal and in a notebook; True: always; False: never; or a function that
            gets the finished rows, all rows, and the seconds that are left (-1: not known).
        **settings: Keys of docs/config.md, such as pooling="mean", batch_size=16, device="cpu", bad_row="reject",
            output_format="parquet", or hardware={"threads": 2}.

    Returns:
        A read-only numpy.memmap with a row for each text; or, if the output is a table, a pyarrow.Table with the column
        `embedding` and the columns of `output.columns`.

    Raises:
        EncodeError: The run has failed. Its attributes are the parts of the error message.
        KeyboardInterrupt: Ctrl-C. The program has saved its work, and the same call continues the run.
        ImportError: A package is missing; the message has the command that installs it.
        TypeError, ValueError, KeyError, FileNotFoundError: The texts cannot be read.
    """
    final = run_final(texts, model=model, field=field, output=output, cache_dir=cache_dir, progress=progress, **settings)
    return _table_of(final.path) if "file" in final.manifest else final.matrix


def _table_of(path: pathlib.Path) -> "pyarrow.Table":
    import pyarrow
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet
        return pyarrow.parquet.read_table(path, memory_map=True)
    with pyarrow.memory_map(str(path)) as source, pyarrow.ipc.open_file(source) as reader:
        return reader.read_all()
