#!/usr/bin/env bash
# Runs a large job on real input: 50,621 Python functions (stream tc) and 50,621 changelog entries (stream commit) with
# all-MiniLM-L6-v2 in float32 on the CPU. The first run is undisturbed. A second run is killed with SIGKILL at random moments
# and resumed. The matrices of both runs must have equal bytes, `encode verify` must pass, and a kill may cost at most the two
# chunks that were not committed yet.
#
# usage: tests/soak/main_job.sh [ROWS [KILLS]]       default: 50621 rows, 5 kills; about 40 minutes on 2 cores
#        tests/soak/main_job.sh --again [KILLS]      only the killed run, against the matrices of an earlier undisturbed run
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

readonly WORK=${ENCODE_SOAK_DIR:-$DEPS/main_job}
readonly ENCODE=$ROOT/build/bin/encode

write_config() { # NAME
  cat >"$WORK/$1.yaml" <<EOF
semantic:
  model: $DEPS/models/all-MiniLM-L6-v2
  cache_dir: $WORK/$1
  chunk_size: 1000
  keep_chunk_cache: true
output:
  combine: [tc, commit]
hardware:
  device: cpu
data:
  streams:
    tc: {field: text}
    commit: {field: text}
  splits:
    train:
      tc: $WORK/tests.jsonl
      commit: $WORK/changes.jsonl
EOF
}

# Prints the number of committed chunks. Before the first chunk there is no log, and the number is 0.
committed_chunks() { { cat "$WORK/killed"/*_chunks/chunks.log 2>/dev/null || true; } | wc -l; }

# Starts the run, kills all its processes after SECONDS seconds, and prints the number of committed
# chunks before and after.
kill_once() { # SECONDS
  local before pid
  before=$(committed_chunks)
  setsid "$ENCODE" --config "$WORK/killed.yaml" --no-progress >>"$WORK/killed.log" 2>&1 &
  pid=$!
  sleep "$1"
  kill -KILL -- "-$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  say "killed after $1 s: $before chunks before, $(committed_chunks) after"
}

# Fails if the kills cost more than two chunks each: it compares the chunks that were begun with the committed chunks.
check_recomputed() { # KILLS
  local begun recomputed
  begun=$(grep -cE 'chunk [0-9]+/[0-9]+ \(samples' "$WORK/killed.log")
  recomputed=$((begun - $(committed_chunks)))
  say "$begun chunks begun, $(committed_chunks) committed: $recomputed recomputed in $1 kills"
  ((recomputed <= 2 * $1)) || die "a kill cost more than two chunks"
}

check_numpy() {
  "$PYTHON" - "$WORK/reference" "$1" <<'EOF'
import sys
import numpy
for name, width in (("train_tc_embeddings", 384), ("train_commit_embeddings", 384), ("train_combined_embeddings", 768)):
    matrix = numpy.load(f"{sys.argv[1]}/{name}.npy", mmap_mode="r")
    print(name, matrix.shape, matrix.dtype)
    assert matrix.shape == (int(sys.argv[2]), width) and matrix.dtype == numpy.float32
EOF
}

run_undisturbed() { # ROWS
  local rows=$1
  rm -rf "$WORK"
  mkdir -p "$WORK"
  "$ROOT/scripts/models.sh"
  "$PYTHON" "$ROOT/scripts/make_corpus.py" tests --rows "$rows" --output "$WORK/tests.jsonl"
  "$PYTHON" "$ROOT/scripts/make_corpus.py" changes --rows "$rows" --output "$WORK/changes.jsonl"
  write_config reference
  "$ENCODE" --config "$WORK/reference.yaml" --no-progress
  "$ENCODE" verify --config "$WORK/reference.yaml"
  check_numpy "$rows"
}

run_killed() { # KILLS
  local kills=$1 name i
  rm -rf "$WORK/killed" "$WORK/killed.log"
  write_config killed
  for ((i = 0; i < kills; i++)); do kill_once $((10 + RANDOM % 120)); done
  "$ENCODE" --config "$WORK/killed.yaml" --no-progress >>"$WORK/killed.log" 2>&1
  for name in train_tc train_commit train_combined; do
    cmp "$WORK/reference/${name}_embeddings.npy" "$WORK/killed/${name}_embeddings.npy"
  done
  check_recomputed "$kills"
  say "the matrices of the killed run have the same bytes as the matrices of the undisturbed run"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  if [[ ${1:-} != --again ]]; then
    run_undisturbed "${1:-50621}"
  fi
  run_killed "${2:-5}"
}

main "$@"
