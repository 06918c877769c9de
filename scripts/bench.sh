#!/usr/bin/env bash
# Times `encode run` against its peers: same rows, same truncation, same threads, turn by turn, outputs compared. Prints a
# Markdown table with the medians and their ratios, and what was timed.
#
# usage: scripts/bench.sh tokenizers [--rows N] [--runs N] [--min-ratio R] [TOKENIZER.json ..]
#   times the tokenizers alone against Hugging Face `tokenizers`, one thread against one and two against two; default
#   rows 20000, default vocabulary that of the demo model
#
# usage: scripts/bench.sh [--rows N] [--corpus C] [--runs N] [--threads N] [--model DIR] [--dtype T] [--peers P]
#                         [--min-ratio R]
#   --rows N        default 2000
#   --corpus C      functions, changelogs, or mixed: half of each (default mixed)
#   --runs N        turns (default 3)
#   --threads N     of all (default: the cores of this machine)
#   --dtype T       ours: float32, bfloat16, or both with a comma (default both)
#   --peers P       st, st-bf16 (sentence-transformers), ort (ONNX Runtime, its transformer optimizer), ct2, ct2-int8
#                   (CTranslate2), with commas (default st,st-bf16,ort,ct2-int8)
#   --min-ratio R   exit with 1 where ours is not R times as fast as every peer, PEER=R: as that one; may be repeated
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
  local rows=2000 corpus=mixed model="$DEPS/models/all-MiniLM-L6-v2" threads python input options=()
  threads=$(nproc)
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --rows) rows=$2 && shift 2 ;;
      --corpus) corpus=$2 && shift 2 ;;
      --threads) threads=$2 && shift 2 ;;
      --model) model=$2 && shift 2 ;;
      --runs | --dtype | --peers | --min-ratio) options+=("$1" "$2") && shift 2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  [[ -x $ROOT/build/bin/encode ]] || die "no build/bin/encode: run scripts/build.sh first"
  "$ROOT/scripts/models.sh"
  python=$(reference_python)
  input=$(real_rows "$rows" "$corpus")
  "$python" "$ROOT/scripts/bench/compare_speed.py" --encode "$ROOT/build/bin/encode" --model "$model" \
    --input "$input" --work "$DEPS/bench/peers" --threads "$threads" "${options[@]}"
}

main "$@"
