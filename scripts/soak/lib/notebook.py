"""Runs the cells of scripts/soak/notebook.sh, and checks their outputs.

    notebook.py MODEL
"""
import collections
import json
import os
import signal
import sys

import nbformat
from nbclient import NotebookClient

ROWS = 160000
CALL = (f'encode_embeddings.run(rows, model="{sys.argv[1]}", pooling="mean", device="cpu", threads=1, chunk_size=50)')
CELLS = ("import encode_embeddings\n"
         f"rows = [[(7 * row + token) % 100 + 1 for token in range(row % 20 + 20)] for row in range({ROWS})]",
         CALL, f"{CALL}.shape", f"{CALL}.shape")


def progress_of(cell):
    """Returns the outputs of a cell that are lines of the progress."""
    return [output["data"]["text/plain"] for output in cell.outputs
            if output.output_type == "display_data" and output["data"]["text/plain"].startswith("encode [")]


class Client(NotebookClient):
    """Interrupts the second cell once its progress has been updated, and counts the messages of each cell."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.messages = collections.defaultdict(collections.Counter)

    def process_message(self, msg, cell, cell_index):
        self.messages[cell_index][msg["msg_type"]] += 1
        if cell_index == 1 and self.messages[1]["update_display_data"] == 2:
            self.messages[1]["update_display_data"] += 1
            os.kill(self.km.provisioner.pid, signal.SIGINT)  # what the stop button of a notebook does
        return super().process_message(msg, cell, cell_index)


def main():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    client = Client(notebook, timeout=600, allow_errors=True)
    client.execute()
    _, interrupted, finished, again = notebook.cells
    for number, cell in enumerate(notebook.cells[1:], 1):
        print(f"cell {number}: {len(cell.outputs)} outputs, {len(json.dumps(cell.outputs)):,} bytes, "
              f"messages {dict(client.messages[number])}, progress {progress_of(cell)}")
    errors = [output["ename"] for output in interrupted.outputs if output.output_type == "error"]
    shapes = [output["data"]["text/plain"] for cell in (finished, again) for output in cell.outputs
              if output.output_type == "execute_result"]
    good = (errors == ["KeyboardInterrupt"] and shapes == [f"({ROWS}, 64)"] * 2
            and len(progress_of(interrupted)) == len(progress_of(finished)) == 1 and progress_of(again) == []
            and f" 100% {ROWS:,}/{ROWS:,} rows" in progress_of(finished)[0]
            and len(interrupted.outputs) <= 5 and len(finished.outputs) <= 3 and len(again.outputs) <= 3)
    print("right" if good else "WRONG")
    sys.exit(not good)


if __name__ == "__main__":
    main()
