"""Runs `encode plan --profile` for each model, budget and type, and prints estimated and measured peaks as a table.

usage: memory_table.py ENCODE WORK_FOLDER MINILM_FOLDER [MODEL...]
"""
import json
import os
import pathlib
import random
import subprocess
import sys

MODELS = ["bert (2 layers, 64 wide)", "all-MiniLM-L6-v2", "distilbert-base", "bert-base", "modernbert-base", "xlm-roberta-base",
          "bert-large", "qwen2-0.5b"]
BUDGETS = [64, 256, 512]
TYPES = ["float32", "bfloat16"]
TOLERANCE = 0.10
ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_rows(path, longest, vocabulary=100):
    """Writes token ids. The rows fill several batches of each of two threads, whatever the budget is."""
    random.seed(7)
    lengths = [longest] * 4 + [random.randrange(1, longest // 3) for _ in range(8)] * (512 // max(longest, 64))
    path.write_text("".join(json.dumps({"text": [random.randrange(1, vocabulary) for _ in range(n)]}) + "\n" for n in lengths))


def folder_of(name, work, minilm):
    if name == "all-MiniLM-L6-v2":
        return minilm
    return ROOT / "tests/data/models/bert" if name.startswith("bert (") else work / "models" / name


def measure(encode, work, folder, budget, dtype):
    longest = 40 if folder.name == "bert" else 512
    rows = work / "rows.jsonl"
    # A row has at most as many tokens as the budget: a longer one would get a batch of its own size.
    write_rows(rows, min(longest, budget))
    home = work / "profiles"
    (home / "encode/memory_profiles.json").unlink(missing_ok=True)
    command = [encode, "plan", "--model", folder, "--input", rows, "--field", "text", "--output", work / "out.npy",
               "--device", "cpu", "--dtype", dtype, "--batch-tokens", str(budget), "--json", "--profile"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": str(home)})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    profile = json.loads(done.stdout)["profile"]
    return profile["estimated_bytes"], profile["measured_bytes"]


def main():
    encode, work, minilm = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    chosen = sys.argv[4:] or MODELS
    print("| model | type | tokens in a batch | estimated | measured | difference |\n|---|---|---|---|---|---|")
    worst = 0.0
    for name in chosen:
        for dtype in TYPES:
            for budget in BUDGETS:
                estimated, measured = measure(encode, work, folder_of(name, work, minilm), budget, dtype)
                difference = estimated / measured - 1
                worst = max(worst, abs(difference))
                print(f"| {name} | {dtype} | {budget} | {estimated / 1e6:,.0f} MB | {measured / 1e6:,.0f} MB | "
                      f"{100 * difference:+.1f} % |", flush=True)
    print(f"\nlargest difference: {100 * worst:.1f} %")
    if worst > TOLERANCE:
        sys.exit(1)


if __name__ == "__main__":
    main()
