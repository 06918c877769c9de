#!/usr/bin/env bash
# Times `encode run` against sentence-transformers: same rows, same truncation, same threads, turn by turn. Prints a
# Markdown table with the medians and their ratio.
#
# usage: scripts/bench.sh tokenizers [--rows N] [--runs N] [--min-ratio R] [TOKENIZER.json ..]
#   times the tokenizers alone against Hugging Face `tokenizers`, one thread against one and two against two; default
#   rows 20000, default vocabulary that of the demo model
#
# usage: scripts/bench.sh [--rows N] [--runs N] [--threads N] [--model DIR] [--dtype T] [--min-ratio R]
#   --rows N        half functions, half changelog entries (default 2000)
#   --runs N        turns (default 3)
#   --threads N     of both (default: the cores of this machine)
#   --dtype T       float32 or bfloat16 (default float32)
#   --min-ratio R   exit with 1 where ours is not R times as fast
#
# ENCODE_REFERENCE_PYTHON as for scripts/parity.sh.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=bench/common.sh
. "$ROOT/scripts/bench/common.sh"

bench_tokenizers() {
  local rows=20000 python input options=() files=()
  while (($#)); do
    case $1 in
      --rows) rows=$2 && shift 2 ;;
      --runs | --min-ratio) options+=("$1" "$2") && shift 2 ;;
      -*) die "unknown option '$1'; see --help" ;;
      *) files+=("$1") && shift ;;
    esac
  done
  [[ -x $ROOT/build/bin/tokenize_lines ]] || die "no build/bin/tokenize_lines: run scripts/build.sh --all first"
  if ((${#files[@]} == 0)); then
    "$ROOT/scripts/models.sh"
    files=("$DEPS/models/all-MiniLM-L6-v2/tokenizer.json")
  fi
  python=$(reference_python)
  input=$(real_rows "$rows")
  "$python" "$ROOT/scripts/bench/compare_tokenizers.py" --tool "$ROOT/build/bin/tokenize_lines" --input "$input" \
    "${options[@]}" "${files[@]}"
}

main() {
  if [[ ${1:-} == tokenizers ]]; then
    shift
    bench_tokenizers "$@"
    return
  fi
  local rows=2000 model="$DEPS/models/all-MiniLM-L6-v2" threads python input options=()
  threads=$(nproc)
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --rows) rows=$2 && shift 2 ;;
      --threads) threads=$2 && shift 2 ;;
      --model) model=$2 && shift 2 ;;
      --runs | --dtype | --min-ratio) options+=("$1" "$2") && shift 2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  [[ -x $ROOT/build/bin/encode ]] || die "no build/bin/encode: run scripts/build.sh first"
  "$ROOT/scripts/models.sh"
  python=$(reference_python)
  input=$(real_rows "$rows")
  "$python" "$ROOT/scripts/bench/compare_speed.py" --encode "$ROOT/build/bin/encode" --model "$model" \
    --input "$input" --threads "$threads" "${options[@]}"
}

main "$@"
