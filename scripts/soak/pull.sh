#!/usr/bin/env bash
# Shows that Python tools read what `encode pull` writes, and that both can write one cache at the same time.
#
# usage: scripts/soak/pull.sh [PART...]      the default is all parts: kills python both
#
# kills    PULL_KILLS downloads (default 100) are killed at random moments; after each kill the cache must be as huggingface_hub
#          makes it, and the last download must complete it
# python   huggingface_hub, transformers and sentence-transformers load the model offline, and encode the same vectors
# both     encode and huggingface_hub download the same files into one cache at the same time
#
# A server on this machine has all-MiniLM-L6-v2. The reference environment is that of scripts/parity.sh: ENCODE_REFERENCE_PYTHON
# names an interpreter that has it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

readonly WORK=${ENCODE_SOAK_DIR:-$DEPS/pull}
readonly MODEL=sentence-transformers/all-MiniLM-L6-v2
readonly ENCODE="$ROOT/build/bin/encode"

SERVER=
# Ends the server of this script, if there is one.
end_server() {
  if [[ -n $SERVER ]]; then
    kill "$SERVER" 2>/dev/null || true
    wait "$SERVER" 2>/dev/null || true
  fi
  SERVER=
}

# serve BYTES_PER_SECOND: starts the server and names it in HF_ENDPOINT. 0: as fast as it can.
serve() {
  local file="$WORK/address"
  end_server
  : >"$file"
  "$PYTHON" -B "$ROOT/tests/hub/server.py" "$DEPS/models/all-MiniLM-L6-v2" "$MODEL" "$1" >"$file" &
  SERVER=$!
  until [[ -s $file ]]; do sleep 0.1; done
  HF_ENDPOINT=$(cat "$file")
  export HF_ENDPOINT
}

check_layout() { "$PYTHON" -B "$ROOT/tests/hub/layout.py" "$HF_HOME/hub"; }

fresh_cache() {
  export HF_HOME="$WORK/$1"
  rm -rf "$HF_HOME"
  mkdir -p "$HF_HOME"
}

kills() {
  local n pid
  fresh_cache kills
  serve 40000000
  for ((n = 0; n < ${PULL_KILLS:-100}; ++n)); do
    "$ENCODE" pull $MODEL >/dev/null 2>&1 &
    pid=$!
    sleep "$((RANDOM % 2)).$(printf %03d $((RANDOM % 1000)))"
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    if [[ -d $HF_HOME/hub ]]; then check_layout; fi
    # Every fifth time the download begins again.
    if ((n % 5 == 4)); then rm -rf "$HF_HOME/hub"; fi
  done
  "$ENCODE" pull $MODEL
  check_layout
}

python() {
  fresh_cache python
  serve 0
  "$ENCODE" pull $MODEL
  head -n 50 "$ROOT/tests/data/minilm/texts.jsonl" >"$WORK/texts.jsonl"
  "$ENCODE" run --model $MODEL --device cpu --input "$WORK/texts.jsonl" --field text --cache-dir "$WORK/run" --fresh \
    --overwrite --output "$WORK/ours.npy" --no-progress >/dev/null
  HF_HUB_OFFLINE=1 "$(reference_python)" - "$MODEL" "$WORK" <<'PYTHON'
import json, sys
import numpy as np
from huggingface_hub import scan_cache_dir, snapshot_download
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer
name, work = sys.argv[1:]
cache = scan_cache_dir()
assert not cache.warnings, cache.warnings
assert [repo.repo_id for repo in cache.repos] == [name] and len(next(iter(cache.repos)).revisions) == 1
print("snapshot", snapshot_download(name))
AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name)
texts = [json.loads(line)["text"] for line in open(f"{work}/texts.jsonl")]
np.save(f"{work}/theirs.npy", SentenceTransformer(name, device="cpu").encode(texts))
PYTHON
  "$PYTHON" "$ROOT/scripts/bench/compare.py" matrices "$WORK/ours.npy" "$WORK/theirs.npy"
}

both() {
  local reference pid n
  reference=$(reference_python)
  serve 60000000
  for ((n = 0; n < 5; ++n)); do
    fresh_cache both
    HF_HUB_DISABLE_PROGRESS_BARS=1 "$reference" - "$MODEL" <<'PYTHON' &
import sys
from huggingface_hub import hf_hub_download
for file in ("model.safetensors", "tokenizer.json", "config.json", "modules.json"):
    hf_hub_download(sys.argv[1], file)
PYTHON
    pid=$!
    # Python needs about a second to start.
    sleep "$((RANDOM % 2)).$(printf %03d $((RANDOM % 1000)))"
    "$ENCODE" pull $MODEL 2>&1 | grep -E 'waiting|fetched in'
    wait $pid
    check_layout
  done
}

main() {
  local part
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  (($#)) || set -- kills python both
  [[ -x $ENCODE ]] || die "no build/bin/encode: run scripts/build.sh first"
  "$ROOT/scripts/models.sh"
  mkdir -p "$WORK"
  export no_proxy=127.0.0.1
  unset HF_TOKEN HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_HUB_OFFLINE TRANSFORMERS_OFFLINE
  trap end_server EXIT
  for part in "$@"; do phase "$part" "$part"; done
  print_phases
}

main "$@"
