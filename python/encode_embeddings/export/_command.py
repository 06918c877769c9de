"""The command line of the export."""
import argparse
import dataclasses
import json
import sys
from typing import List, Optional

from .._errors import PARTS, EncodeError
from ._export import STORES, Report, export

DESCRIPTION = """Send the rows of a finished matrix into a vector store. Rows that the store has already are not sent, so the same
command continues an export that was interrupted, and sends what is new."""


def parse(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m encode_embeddings export", description=DESCRIPTION)
    parser.add_argument("source", metavar="SOURCE", help="matrix (.npy, .parquet, .arrow), or x.parts.json of a merged one")
    parser.add_argument("--to", required=True, choices=STORES, help="the store")
    parser.add_argument("--into", required=True, metavar="TARGET",
                        help="pgvector: a connection string, '' for the PG... variables; lance: a folder or an address; faiss: a file; "
                             "hf-dataset: a folder")
    parser.add_argument("--table", metavar="NAME", help="pgvector: the table (default: embeddings)")
    parser.add_argument("--metric", choices=("ip", "l2"), help="faiss: inner product or Euclidean distance (default: ip)")
    parser.add_argument("--id", metavar="COLUMN", help="column of the ids (default: the numbers of the rows)")
    parser.add_argument("--text", metavar="COLUMN", help="column of the texts; '': no texts (default: text, if there is one)")
    parser.add_argument("--batch-rows", type=int, default=0, metavar="N",
                        help="rows that are sent together (default: about 64 MiB of vectors)")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    return parser.parse_args(arguments)


def print_error(error: EncodeError, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"event": "error", "code": error.code, "exit_code": error.exit_code, "message": error.message,
                          **{name: getattr(error, name) for name in PARTS}}))
    else:
        print(f"error{error}", file=sys.stderr)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command, and returns its exit code."""
    options = parse(arguments)

    def show(report: Report) -> None:
        print(f"\r\033[K{report.rows:,} rows, {report.new + report.changed:,} sent", end="", file=sys.stderr, flush=True)

    live = sys.stderr.isatty() and not options.quiet
    try:
        report = export(options.source, to=options.to, into=options.into, id_column=options.id, text_column=options.text,
                        batch_rows=options.batch_rows, progress=show if live else None, table=options.table, metric=options.metric)
    except EncodeError as error:
        print_error(error, options.json)
        return error.exit_code
    except (ImportError, FileNotFoundError, TypeError, KeyError) as error:
        print_error(EncodeError(str(error.args[0] if isinstance(error, KeyError) else error), code="export.failed",
                                exit_code=66 if isinstance(error, FileNotFoundError) else 69), options.json)
        return 66 if isinstance(error, FileNotFoundError) else 69
    if live:
        print("\r\033[K", end="", file=sys.stderr)
    if options.json:
        print(json.dumps({"event": "exported", "rows": report.rows, **dataclasses.asdict(report)}))
    else:
        print(f"{report.rows:,} rows: {report.new:,} new, {report.changed:,} changed, {report.unchanged:,} unchanged "
              f"({report.seconds:.1f} s)")
    return 0
