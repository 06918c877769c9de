#!/usr/bin/python3
"""Checks the page of `encode report` in Chromium: no error, marks in every chart, nothing wider than a phone, light and dark.

usage: tests/soak/report.py [ROWS]         default: 1000000
       tests/soak/report.py large [ROWS]   encodes ROWS short texts into 16 numbers each, and reports on them;
                                             default: 50000000, which take 7 GB of the disk for the time of the check

One of the runs replaces its worker after every window, so that its record has a sample every second. Then the program times
the report of a million rows of 384 numbers, and checks that its memory does not depend on the size of the matrix.

It needs a build and the run of scripts/quickstart.sh. It installs Chromium if it is missing. The screenshots are in
.deps/report, or in the folder that ENCODE_SOAK_DIR names.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = ROOT / "build/bin/encode"
WORK = pathlib.Path(os.environ.get("ENCODE_SOAK_DIR", ROOT / ".deps/report"))
MOST_MB = 100  # for the report of any matrix
TIMELINE = """semantic: {{model: .deps/models/all-MiniLM-L6-v2, cache_dir: {work}/timeline, chunk_size: 50}}
hardware: {{device: cpu, worker_chunks: 1}}
data:
  streams: {{tc: {{field: text}}, commit: {{field: text}}}}
  splits: {{demo: {{tc: .deps/quickstart/tests.jsonl, commit: .deps/quickstart/changes.jsonl}}}}
"""

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


def say(text):
    print(f"== {text}", flush=True)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, cwd=ROOT, **options)


def helper(*words):
    """Runs a step of this program in a process of its own, whose memory is not that of the other steps."""
    run(sys.executable, __file__, *words)


def timed(name, step, *words):
    started = time.monotonic()
    step(*words)
    say(f"{name}: {time.monotonic() - started:.1f} s")


def browse(page, *options, **more):
    with open(WORK / "chromium.log", "a") as log:
        return run("timeout", "120", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   f"--user-data-dir={WORK}/profile", "--virtual-time-budget=5000", *options, f"file://{page}", stderr=log, **more)


def probe_page(page, width, key=None):
    """Returns what a script finds in a copy of the page. With `key` the samples of the run lose this number, so that its chart has
    no marks."""
    text = page.read_text()
    copy = pathlib.Path(f"{page}.probe.html")
    copy.write_text((without(text, key) if key else text).replace("<head>", "<head>" + PROBE, 1))
    dump = browse(copy, f"--window-size={width},2000", "--dump-dom", stdout=subprocess.PIPE, text=True).stdout
    return (re.findall("PROBE[^<]*END", dump) or ["no answer"])[-1]


def check_page(page, *labels):
    """Expects that the page has no fault, and that it has charts with these labels."""
    for width in (390, 1120):
        found = probe_page(page, width)
        say(f"{page.name}, {width} pixels: {found}")
        if not re.fullmatch("PROBE charts=.* faults=0 END", found):
            sys.exit(f"error: the page has a fault; see {WORK}")
        for label in labels:
            if not re.search(rf"[( ]{re.escape(label)}[,)]", found):
                sys.exit(f"error: the page has no chart '{label}'")
    browse(page, "--window-size=1120,3000", f"--screenshot={page}.light.png")
    browse(page, "--window-size=1120,3000", "--blink-settings=preferredColorScheme=0", f"--screenshot={page}.dark.png")
    browse(f"{page}.probe.html", "--window-size=500,3000", f"--screenshot={page}.phone.png")


def check_charts_over_time():
    """A run whose worker is replaced after every window: each leaves a sample."""
    config, page = WORK / "timeline.yaml", WORK / "timeline.html"
    config.write_text(TIMELINE.format(work=WORK))
    run(ENCODE, "--config", config, "--fresh", "--no-progress", "--log-level", "warning")
    run(ENCODE, "report", "--config", config, "--output", page)
    check_page(page, "throughput over time", "memory over time", "stages", "stages over time")
    # Without a number the chart has no marks: the check finds that.
    found = probe_page(page, 1120, "tokens_per_second")
    say(f"without the rates: {found}")
    if "no marks: throughput over time" not in found:
        sys.exit("error: the check does not find an empty chart")


def report_of(name):
    """Makes the page of the run in WORK/name, and returns its path."""
    control = subprocess.run([sys.executable, __file__, "measure", "1", ENCODE, "--version"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    if control.returncode == 0:
        sys.exit("error: the measurement of the memory does not work")
    page = WORK / f"{name}.html"
    timed(f"report, {name}", helper, "measure", MOST_MB, ENCODE, "report", "--config", WORK / name / "config.yaml", "--output", page)
    return page


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
    digest = xxhash.xxh3_128()
    with open(path, "rb") as file:
        while block := file.read(1 << 24):
            digest.update(block)
    manifest = {
        "format": 3, "name": name, "rows": rows, "dim": dim, "fingerprint": {}, "dtype": "<f4", "output_dtype": "float32",
        "columns": dim, "ranges": None, "file_bytes": os.path.getsize(path), "xxh3_128": digest.hexdigest(),
        "stats": {"tokens": 5 * rows, "truncated_rows": 0, "lost_tokens": 0, "zero_token_rows": 0},
        "origins": [{"device": "cpu", "libtorch": "", "driver": "", "batch_tokens": 0}],
        "ledger": None, "offsets": None, "parts": []}
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


def encode_and_report(rows):
    free_mb = shutil.disk_usage(WORK).free // 2**20
    if free_mb <= rows // 5000:
        sys.exit(f"error: {rows} rows need {rows // 5000} MB in {WORK}, and {free_mb} MB are free")
    folder = WORK / "static"
    folder.mkdir(exist_ok=True)
    try:
        timed("texts", helper, "static", folder, rows)
        timed("encode", run, ENCODE, "--config", folder / "config.yaml", "--no-progress", "--log-level", "warning")
        run("du", "-sm", folder)
        check_page(report_of("static"), "stages")
    finally:
        shutil.rmtree(folder)


def check_reports(rows):
    page = WORK / "quickstart.html"
    run(ENCODE, "report", "--config", "configs/quickstart.yaml", "--output", page)
    check_page(page, "stages")
    check_charts_over_time()
    helper("matrix", WORK / "matrix", rows)
    check_page(report_of("matrix"))


STEPS = {"measure": measure,
         "matrix": lambda folder, rows: matrix(pathlib.Path(folder), int(rows)),
         "static": lambda folder, rows: static(pathlib.Path(folder), int(rows))}


def main():
    words = sys.argv[1:]
    if "-h" in words or "--help" in words:
        print(__doc__)
        return
    if words and words[0] in STEPS:
        STEPS[words[0]](*words[1:])
        return
    WORK.mkdir(parents=True, exist_ok=True)
    if not shutil.which("chromium"):
        run("apt-get", "install", "-qq", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core")
    if words[:1] == ["large"]:
        encode_and_report(int(words[1]) if len(words) > 1 else 50_000_000)
    else:
        check_reports(int(words[0]) if words else 1_000_000)


if __name__ == "__main__":
    main()
