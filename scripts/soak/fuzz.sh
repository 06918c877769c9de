#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz with clang, runs each for some minutes and prints how many inputs it has tried. A finding ends
# the script; the input is then .deps/fuzz/NAME.found.*. The inputs that reach new code stay in .deps/fuzz/NAME, so a later run
# goes on from there.
#
# usage: scripts/soak/fuzz.sh [MINUTES [NAME...]]       default: 30 minutes for each fuzzer; the build takes 10 minutes on 2 cores
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

readonly WORK=${ENCODE_SOAK_DIR:-$DEPS/fuzz}
readonly ALL=(fuzz_text fuzz_columnar fuzz_config fuzz_safetensors fuzz_torch_weights fuzz_model_dir_json fuzz_tokenizer_load
  fuzz_tokenizer_encode fuzz_passages fuzz_slow_tokenizer fuzz_store fuzz_messages)

# Fills the corpus with real files, each behind the bytes with which the fuzzer chooses.
seed_corpus() { # NAME FOLDER
  "$PYTHON" "$ROOT/tests/fuzz/seeds.py" "$1" "$2"
}

fuzz() { # NAME MINUTES
  local corpus=$WORK/$1 log=$WORK/$1.log max_bytes=16384
  [[ $1 != fuzz_tokenizer_load ]] || max_bytes=65536 # a small tokenizer.json
  [[ $1 != fuzz_text ]] || max_bytes=4096
  mkdir -p "$corpus"
  seed_corpus "$1" "$corpus"
  if ! "$ROOT/build-fuzz/bin/$1" -max_total_time=$(($2 * 60)) -timeout=10 -rss_limit_mb=2048 -max_len=$max_bytes \
    -artifact_prefix="$WORK/$1.found." -print_final_stats=1 "$corpus" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    die "$1 found something: $WORK/$1.found.*"
  fi
  say "$1: $2 minutes, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, \
$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1), 0 findings"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  local minutes=${1:-30} name
  shift || true
  (($# > 0)) || set -- "${ALL[@]}"
  cd "$ROOT"
  cmake --preset fuzz --log-level=WARNING "-DTORCH_ROOT=$(torch_root)"
  ninja -C build-fuzz -j "$(job_count)" "$@"
  for name in "$@"; do fuzz "$name" "$minutes"; done
}

main "$@"
