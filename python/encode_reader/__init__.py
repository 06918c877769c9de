"""Reads what encode writes: final matrices, chunks of a run that goes on, and their manifests.

    from encode_reader import open_final
    final = open_final("cache/train_tc_embeddings.npy")
    final.matrix           # the matrix as it is on disk, memory-mapped
    final.floats(0, 1000)  # float32 vectors, whatever type the matrix has

read_batches("docs.parquet", columns=["id"]) reads a matrix of any format a batch at a time.
open_parts("cache/train_tc_embeddings.parts.json") opens a matrix that was encoded in shards and merged.

docs/store-format.md of encode describes the files. Nothing here writes a file, and everything works while a run goes on.
"""
from ._batches import Batch, read_batches
from ._chunks import Chunk, Chunks, open_chunks
from ._files import Damaged, SetAsideRow, TruncatedRow
from ._final import PASSAGE_COLUMNS, Final, open_final
from ._parts import Parts, open_parts

__all__ = ["Batch", "Chunk", "Chunks", "Damaged", "Final", "PASSAGE_COLUMNS", "Parts", "SetAsideRow", "TruncatedRow",
           "open_chunks", "open_final", "open_parts", "read_batches"]
