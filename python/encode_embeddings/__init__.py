"""Texts to embedding matrices: the programs of encode, and functions that call them.

    import encode_embeddings
    vectors = encode_embeddings.run(["a text", "another"], model="models/all-MiniLM-L6-v2")

`run` returns a memory-mapped NumPy array, or a pyarrow.Table if the output is a Parquet or Arrow file. docs/howto/python.md of
encode has examples, and `python -m encode_embeddings export --help` describes the export to vector stores.

The command `encode` of the wheel is `main`. It needs nothing but the standard library.
"""
from ._errors import EncodeError
from ._program import main
from ._run import cache_folder, run, run_final

__all__ = ["EncodeError", "cache_folder", "main", "run", "run_final"]
