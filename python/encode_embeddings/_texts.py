"""Texts of any source as record batches of Arrow."""
import glob
import hashlib
import os
import pathlib
import re
import sys
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from ._arrow import BATCH_CHARACTERS, BATCH_ROWS, canonical, import_pyarrow, is_text, small_batches
from ._filter import comparable

TEXT = "text"  # the column of texts that come without a name


def wrong_row(rows: Sequence[Any], first: int) -> Optional[Exception]:
    """Returns the error about the first row that is no text."""
    for number, row in enumerate(rows, first):
        if row is None or row != row:  # NaN stands for a missing text
            continue
        if not isinstance(row, str):
            return TypeError(f"row {number} of the texts: expected a str, found {type(row).__name__}")
        try:
            row.encode()
        except UnicodeEncodeError as error:
            return ValueError(f"row {number} of the texts is not valid Unicode: {error}")
    return None


def from_rows(rows: Iterable[Any]) -> Iterator[Any]:
    """Makes record batches of texts, or of lists of token ids. None and NaN become null."""
    pa = import_pyarrow()
    source = iter(rows)
    first = 0
    kind = None
    while True:
        part: List[Any] = []
        size = 0
        for row in source:
            part.append(row)
            size += len(row) if hasattr(row, "__len__") else 0
            if len(part) == BATCH_ROWS or size > BATCH_CHARACTERS:
                break
        if not part and first:
            return
        if kind is None:
            ids = next((row for row in part if isinstance(row, (list, tuple, str))), "")
            kind = pa.large_string() if isinstance(ids, str) else pa.large_list(pa.int64())
        try:
            array = pa.array(part, kind, from_pandas=True)
        except (pa.ArrowInvalid, TypeError, UnicodeEncodeError) as error:
            if kind == pa.large_string():
                raise wrong_row(part, first) or error from error
            raise TypeError(f"rows {first} to {first + len(part) - 1} are not all lists of token ids: {error}") from error
        yield pa.record_batch([array], [TEXT])
        first += len(part)
        if not part:
            return


def loaded(name: str) -> Any:
    """Returns a module if something has imported it. An object of its classes can exist only then."""
    return sys.modules.get(name)


def isinstance_of(value: Any, module: str, *names: str) -> bool:
    found = loaded(module)
    return found is not None and isinstance(value, tuple(getattr(found, name) for name in names if hasattr(found, name)))


def text_column(columns: Dict[str, bool], field: Optional[str]) -> str:
    """Returns the column that has the texts. `columns` says for each column whether it has strings."""
    if field is not None:
        if field not in columns:
            raise KeyError(f"there is no column {field!r}; the columns are {', '.join(map(repr, columns))}")
        return field
    found = [name for name, strings in columns.items() if strings]
    if len(found) != 1:
        raise TypeError(f"name the column of the texts with field=; {len(found)} of the columns "
                        f"{', '.join(map(repr, columns))} have strings")
    return found[0]


class Frame:
    """A source with named columns: a pandas, polars or pyarrow table, a dataset, or anything with an Arrow stream."""

    def __init__(self, columns: Dict[str, bool], tables: Any):
        self.columns = columns  # whether each column has strings
        self.tables = tables  # a function: the wanted columns -> an iterator of pyarrow tables


def objects_type(column: Any) -> Any:
    """Returns the type of a pandas column of objects, of which a part may hold only None. None: Arrow has none for all of them."""
    pa = import_pyarrow()
    try:
        return pa.array(column, from_pandas=True).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def pandas_frame(frame: Any) -> Frame:
    pa = import_pyarrow()
    if not frame.columns.is_unique:
        raise TypeError("two columns of the DataFrame have the same name")
    strings = {name: bool(loaded("pandas").api.types.infer_dtype(frame[name].iloc[:BATCH_ROWS], skipna=True)
                          in ("string", "empty")) and frame[name].dtype.kind not in "iufbmM" for name in frame.columns}

    def tables(names: List[str]) -> Iterator[Any]:
        kinds = {name: pa.large_string() if strings[name] else objects_type(frame[name])
                 for name in names if frame[name].dtype == object}
        for begin in range(0, max(len(frame), 1), BATCH_ROWS):
            part = frame[names].iloc[begin:begin + BATCH_ROWS]
            arrays = []
            for name in names:
                try:
                    arrays.append(pa.array(part[name], kinds.get(name), from_pandas=True))
                except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
                    problem = wrong_row(list(part[name]), begin) or TypeError(error)
                    raise type(problem)(f"the column {name!r}: {problem}") from error
            yield pa.table([array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array for array in arrays],
                           names=names)

    return Frame(strings, tables)


def polars_frame(frame: Any) -> Frame:
    import_pyarrow()
    polars = loaded("polars")
    schema = frame.collect_schema()
    strings = {name: kind in (polars.String, polars.Categorical, polars.Enum) for name, kind in schema.items()}

    def tables(names: List[str]) -> Iterator[Any]:
        chosen = frame.select(names)
        yield (chosen.collect() if isinstance(chosen, polars.LazyFrame) else chosen).to_arrow()

    return Frame(strings, tables)


def dataset_frame(dataset: Any) -> Frame:
    import_pyarrow()
    if not dataset.column_names:
        raise TypeError("this dataset does not say which columns it has: give it features, or its texts alone")
    features = dataset.features or {}
    strings = {name: getattr(features.get(name), "dtype", "") in ("string", "large_string") for name in dataset.column_names}

    def tables(names: List[str]) -> Iterator[Any]:
        yield from dataset.select_columns(names).with_format("arrow").iter(batch_size=BATCH_ROWS)

    return Frame(strings, tables)


def arrow_frame(source: Any) -> Frame:
    pa = import_pyarrow()
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if not isinstance(source, pa.Table):
        source = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)

    def tables(names: List[str]) -> Iterator[Any]:
        if isinstance(source, pa.Table):
            yield source.select(names)
        else:
            for batch in source:
                yield pa.Table.from_batches([batch]).select(names)

    return Frame({field.name: is_text(field.type) for field in source.schema}, tables)


def frame_of(texts: Any) -> Optional[Frame]:
    """Returns the columns of a source, or None if it is a sequence or an iterator of texts."""
    if isinstance_of(texts, "datasets", "DatasetDict", "IterableDatasetDict"):
        raise TypeError(f"this is a dataset of several splits; give one of them: {', '.join(map(repr, texts))}")
    if isinstance_of(texts, "pandas", "DataFrame"):
        return pandas_frame(texts)
    if isinstance_of(texts, "polars", "DataFrame", "LazyFrame"):
        return polars_frame(texts)
    if isinstance_of(texts, "datasets", "Dataset", "IterableDataset"):
        return dataset_frame(texts)
    if isinstance_of(texts, "pyarrow", "Table", "RecordBatch", "RecordBatchReader"):
        return arrow_frame(texts)
    single = isinstance_of(texts, "pandas", "Series") or isinstance_of(texts, "polars", "Series") or \
        isinstance_of(texts, "pyarrow", "Array", "ChunkedArray")
    return arrow_frame(texts) if hasattr(texts, "__arrow_c_stream__") and not single else None


def template_fields(template: str) -> List[str]:
    """Returns the fields of the key `text` of a config. The program checks the template."""
    return re.findall(r"\{([^{}]+)\}", template.replace("{{", "").replace("}}", ""))


def batches_of(texts: Any, field: Optional[str], template: Optional[str], columns: Sequence[str],
               compared: Sequence[str] = ()) -> Iterator[Any]:
    """Yields record batches with the column of the texts, or those of the template, and the columns that the output is to have.

    `compared` are the columns of the filter.

    Raises:
        TypeError: The object has no texts that encode knows.
    """
    pa = import_pyarrow()
    frame = frame_of(texts)
    if frame is not None:
        wanted = template_fields(template) if template else [text_column(frame.columns, field)]
        names = list(dict.fromkeys([*wanted, *columns, *compared]))
        missing = [each for each in names if each not in frame.columns]
        if missing:
            raise KeyError(f"there is no column {missing[0]!r}; the columns are {', '.join(map(repr, frame.columns))}")
        tables = frame.tables(names)
    else:
        tables = tables_of_rows(texts, template, compared)
    none = True
    for table in tables:
        text = table.schema.field(0)
        if not template and not is_text(text.type) and not pa.types.is_nested(text.type) and not pa.types.is_null(text.type):
            raise TypeError(f"the column {text.name!r} is {text.type}, not strings: convert it first")
        # A source without rows has a schema, too.
        for batch in small_batches(table) if len(table) or not none else [pa.RecordBatch.from_pylist([], table.schema)]:
            none = False
            yield pa.record_batch([(comparable if name in compared else canonical)(array, name)
                                   for array, name in zip(batch.columns, table.column_names)], table.column_names)


def tables_of_rows(texts: Any, template: Optional[str], compared: Sequence[str]) -> Iterator[Any]:
    """Returns tables with the column TEXT, for a source without named columns."""
    pa = import_pyarrow()
    setting = f"text={template!r}" if template else next((f"where= with {each!r}" for each in compared if each != TEXT), None)
    if setting:
        raise TypeError(f"{setting} needs named columns, as a table has them; found {type(texts).__name__}")
    if isinstance_of(texts, "pyarrow", "Array", "ChunkedArray"):
        return iter([pa.table({TEXT: texts})])
    if isinstance_of(texts, "polars", "Series"):
        return iter([pa.table({TEXT: texts.to_arrow()})])
    if isinstance(texts, (bytes, dict)) or not hasattr(texts, "__iter__"):
        raise TypeError(f"expected texts, a table, a dataset or the path of a file, found {type(texts).__name__}")
    return (pa.Table.from_batches([batch]) for batch in from_rows(texts))


def files_of(pattern: str) -> List[pathlib.Path]:
    """Returns the files that an input names: a file, the files in a folder, or those that match a pattern."""
    path = pathlib.Path(pattern)
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file())
    found = [path] if path.is_file() else sorted(map(pathlib.Path, glob.glob(pattern, recursive=True)))
    if not found:
        raise FileNotFoundError(f"there is no file {pattern[:300]!r}. A str is the path of an input; to encode one text, give "
                                "a list with it")
    return found


def hash_of_files(pattern: str) -> str:
    whole = hashlib.sha256()
    for path in files_of(pattern):
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        whole.update(digest.digest())
    return whole.hexdigest()
