"""Finished matrices -> vector stores. docs/howto/vector-stores.md of encode describes the export."""
from ._command import main
from ._export import Report, export

__all__ = ["Report", "export", "main"]
