#!/usr/bin/env python3
"""Helps scripts/soak/report.sh.

    report.py probe PAGE COPY [KEY]      copies a page, and adds a script that writes what it finds into the page. With KEY
                                         the samples of the run lose this number, so that its chart has no marks
    report.py measure LIMIT_MB COMMAND   runs a command, prints its time and its largest resident memory, and fails above the limit
    report.py matrix FOLDER ROWS         makes a run of ROWS x 384 float32 vectors (docs/store-format.md) with its texts and a config
    report.py static FOLDER ROWS         makes a model of 16 dimensions that is as quick as reading, ROWS texts and a config
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

# A phone has 390 pixels. Headless Chromium has no window below 500, so the body gets the width of a phone, and
# no node may be beyond it, except in a table that scrolls.
#
# A chart has marks if each of its datasets has a mark inside the axes, and if the canvas has the colour of the dataset there.
PROBE = """<script>
const faults = [];
addEventListener('error', (event) => faults.push('error: ' + event.message));
addEventListener('unhandledrejection', (event) => faults.push('rejection: ' + event.reason));
addEventListener('securitypolicyviolation', (event) => faults.push('load: ' + event.blockedURI));
for (const kind of ['error', 'warn']) console[kind] = (...words) => faults.push('console.' + kind + ': ' + words.join(' '));
const limit = innerWidth < 720 ? 390 : innerWidth;
document.write('<style>body { width: ' + limit + 'px; }</style>');
function inside(mark, area) {
  return !mark.skip && mark.x >= area.left - 1 && mark.x <= area.right + 1 && mark.y >= area.top - 1 && mark.y <= area.bottom + 1;
}
function hasInk(canvas, mark) {
  const ratio = canvas.width / canvas.clientWidth;
  const drawing = canvas.getContext('2d');
  const name = mark.options.backgroundColor;  // #rrggbb or #rrggbbaa
  const wanted = [1, 3, 5].map((at) => parseInt(name.slice(at, at + 2), 16));
  const x = Math.max(0, Math.round(mark.x * ratio) - 4), y = Math.max(0, Math.round(mark.y * ratio) - 4);
  const pixels = drawing.getImageData(x, y, 9, 9).data;
  for (let at = 0; at < pixels.length; at += 4) {
    if (pixels[at + 3] > 90 && wanted.every((value, i) => Math.abs(pixels[at + i] - value) < 60)) return true;
  }
  return false;
}
addEventListener('load', () => setTimeout(() => {
  const canvases = [...document.querySelectorAll('canvas')];
  for (const canvas of canvases) {
    const label = canvas.getAttribute('aria-label'), chart = Chart.getChart(canvas);
    if (!chart || chart.data.datasets.length === 0) { faults.push('no chart: ' + label); continue; }
    chart.data.datasets.forEach((dataset, i) => {
      const marks = chart.getDatasetMeta(i).data.filter((mark) => inside(mark, chart.chartArea));
      if (!marks.some((mark) => hasInk(canvas, mark))) faults.push('no marks: ' + label + ', ' + (dataset.label || ''));
    });
  }
  for (const node of document.querySelectorAll('main *')) {
    const within = node.parentElement.closest('.scroll, pre, canvas');
    if (!within && node.getBoundingClientRect().right > limit + 0.5) faults.push('wide: ' + node.tagName + node.className);
  }
  const labels = canvases.map((canvas) => canvas.getAttribute('aria-label')).join(', ');
  const probe = document.createElement('p');
  probe.textContent = 'PROBE charts=' + canvases.length + ' (' + labels + ') faults=' + faults.length + faults.join(';') + ' END';
  document.body.append(probe);
}, 1500));
</script>"""


def without(text, key):
    """Returns the page without the number `key` in the samples of its run."""
    head = '<script id="data" type="application/json">'
    begin = text.index(head) + len(head)
    end = text.index("</script>", begin)
    report = json.loads(text[begin:end])
    for sample in report["timeline"]:
        sample[key] = None
    return text[:begin] + json.dumps(report).replace("<", "\\u003c") + text[end:]


def probe(page, copy, key=None):
    text = pathlib.Path(page).read_text()
    if key:
        text = without(text, key)
    pathlib.Path(copy).write_text(text.replace("<head>", "<head>" + PROBE, 1))


def measure(limit_mb, *command):
    start = time.monotonic()
    subprocess.run(command, check=True)
    seconds = time.monotonic() - start
    # The largest process that has ended: the command, because this one is smaller.
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    print(f"   {seconds:.1f} s, largest resident memory {peak_mb:.0f} MB", flush=True)
    if peak_mb > float(limit_mb):
        sys.exit(f"error: more than {limit_mb} MB")


def write_config(folder, semantic, model):
    (folder / "config.yaml").write_text(
        f"semantic: {{model: {model}, cache_dir: {folder}, {semantic}}}\n"
        f"data: {{streams: {{tc: {{}}}}, splits: {{big: {{tc: {folder}/texts.txt}}}}}}\n")


def matrix(folder, rows):
    import numpy as np
    import xxhash
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
    write_config(folder, "dtype: float32", ".deps/models/all-MiniLM-L6-v2")


def static_model(folder, numbers):
    """A StaticEmbedding of sentence-transformers with a token for each number below `numbers`, and random vectors."""
    import numpy as np
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {"[UNK]": 0} | {str(number): number + 1 for number in range(numbers)}
    (folder / "modules.json").write_text(json.dumps(
        [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}]))
    (folder / "tokenizer.json").write_text(json.dumps(
        {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
         "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
         "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}}))
    vectors = np.random.default_rng(7).normal(size=(len(vocabulary), 16)).astype("<f4").tobytes()
    header = json.dumps({"embedding.weight": {"dtype": "F32", "shape": [len(vocabulary), 16],
                                              "data_offsets": [0, len(vectors)]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + vectors)


def static(folder, rows):
    static_model(folder / "model", 1000)
    endings = [f"{number // 1000} {number % 1000}\n" for number in range(1_000_000)]
    with open(folder / "texts.txt", "w") as file:
        for begin in range(0, rows, len(endings)):
            million = f"{begin // len(endings)} "
            file.write("".join(million + ending for ending in endings[:rows - begin]))
    write_config(folder, "chunk_size: 1000000", folder / "model")


COMMANDS = {"probe": probe, "measure": measure,
            "matrix": lambda folder, rows: matrix(pathlib.Path(folder), int(rows)),
            "static": lambda folder, rows: static(pathlib.Path(folder), int(rows))}
COMMANDS[sys.argv[1]](*sys.argv[2:])
