#!/usr/bin/env python3
"""Helps scripts/soak/report.sh.

    report.py probe PAGE COPY      copies a page, and adds a script that writes what it finds into the page
    report.py matrix FOLDER ROWS   makes a run of ROWS x 384 float32 vectors (docs/store-format.md) with its texts and a config
"""
import json
import os
import pathlib
import sys

import numpy as np
import xxhash

# A phone has 390 pixels. Headless Chromium has no window below 500, so the body gets the width of a phone, and
# no node may be beyond it, except in a table that scrolls.
PROBE = """<script>
const faults = [];
addEventListener('error', (event) => faults.push('error: ' + event.message));
const limit = innerWidth < 720 ? 390 : innerWidth;
document.write('<style>body { width: ' + limit + 'px; }</style>');
addEventListener('load', () => setTimeout(() => {
  const canvases = [...document.querySelectorAll('canvas')];
  for (const canvas of canvases) {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    if (!pixels.some((value) => value !== 0)) faults.push('empty: ' + canvas.getAttribute('aria-label'));
  }
  for (const node of document.querySelectorAll('main *')) {
    const inside = node.parentElement.closest('.scroll, pre, canvas');
    if (!inside && node.getBoundingClientRect().right > limit + 0.5) faults.push('wide: ' + node.tagName + node.className);
  }
  const probe = document.createElement('p');
  probe.textContent = 'PROBE charts=' + canvases.length + ' faults=' + faults.length + faults.join(';') + ' END';
  document.body.append(probe);
}, 1500));
</script>"""


def probe(page, copy):
    text = pathlib.Path(page).read_text()
    pathlib.Path(copy).write_text(text.replace("<head>", "<head>" + PROBE, 1))


def matrix(folder, rows):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    name, dim = "big_tc", 384
    path = folder / f"{name}_embeddings.npy"
    random = np.random.default_rng(7)
    centres = random.normal(size=(20, dim))
    out = np.lib.format.open_memmap(path, mode="w+", dtype="<f4", shape=(rows, dim))
    for begin in range(0, rows, 50_000):
        size = min(50_000, rows - begin)
        block = centres[random.integers(0, 20, size)] + 1.5 * random.normal(size=(size, dim))
        out[begin:begin + size] = block / np.linalg.norm(block, axis=1, keepdims=True)
    out.flush()
    with open(folder / "texts.txt", "w") as file:
        file.writelines(f"text {row} </script> of a large run\n" for row in range(rows))
    ledger = folder / f"{name}_embeddings.truncated.jsonl"
    ledger.write_text("")
    digest = xxhash.xxh3_128()
    with open(path, "rb") as file:
        while block := file.read(1 << 24):
            digest.update(block)
    manifest = {
        "format": 3, "name": name, "rows": rows, "dim": dim, "fingerprint": {}, "dtype": "<f4", "output_dtype": "float32",
        "columns": dim, "ranges": None, "file_bytes": os.path.getsize(path), "xxh3_128": digest.hexdigest(),
        "stats": {"tokens": 5 * rows, "truncated_rows": 0, "lost_tokens": 0, "zero_token_rows": 0},
        "origins": [{"device": "cpu", "libtorch": "", "driver": "", "batch_tokens": 0}],
        "ledger": {"file_bytes": 0, "xxh3_128": xxhash.xxh3_128_hexdigest(b"")}, "offsets": None, "parts": []}
    body = json.dumps(manifest, indent=2, sort_keys=True)[1:].encode()
    checksum = xxhash.xxh3_128_hexdigest(body)
    pathlib.Path(f"{path}.manifest.json").write_bytes(f'{{"checksum":"{checksum}",'.encode() + body + b"\n")
    (folder / "config.yaml").write_text(
        f"semantic: {{model: .deps/models/all-MiniLM-L6-v2, cache_dir: {folder}}}\n"
        f"data: {{streams: {{tc: {{}}}}, splits: {{big: {{tc: {folder}/texts.txt}}}}}}\n")


if sys.argv[1] == "probe":
    probe(sys.argv[2], sys.argv[3])
else:
    matrix(sys.argv[2], int(sys.argv[3]))
