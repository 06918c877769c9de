#!/usr/bin/env bash
# Compares `encode run` with sentence-transformers on real rows in float32 on the CPU: poolings and their concatenations,
# token vectors, prompts, truncate_dim, int8, uint8, binary, ubinary.
#
# usage: scripts/parity.sh [--rows N] [--model DIR] [--input FILE] [--prompt-rows N] [--max-difference D]
#   --rows N             the number of rows, half functions and half changelog entries (default 2000)
#   --model DIR          a sentence-transformers directory (default: all-MiniLM-L6-v2 and all-mpnet-base-v2, which
#                        scripts/models.sh downloads)
#   --input FILE         a JSONL file of {"text": ...} that replaces these rows
#   --prompt-rows N      rows for the prompts; each prompt takes another pass of the reference (default: all; 200 for MPNet)
#   --max-difference D   the largest |difference| of two elements that is allowed (default 1e-5)
#
# The script makes the reference environment in .deps/reference (about 3 GB). If you have an interpreter with
# sentence-transformers, name it in ENCODE_REFERENCE_PYTHON.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

check() { # MODEL PROMPT_ROWS
  phase "$(basename "$1")" "$REFERENCE" "$ROOT/scripts/reference/check_directory.py" --model "$1" --input "$INPUT" \
    --prompt-rows "$2" --max-difference "$LIMIT"
}

main() {
  local rows=2000 model='' input='' prompt_rows=''
  LIMIT=1e-5
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --rows) rows=$2 && shift 2 ;;
      --model) model=$2 && shift 2 ;;
      --input) input=$2 && shift 2 ;;
      --prompt-rows) prompt_rows=$2 && shift 2 ;;
      --max-difference) LIMIT=$2 && shift 2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  [[ -x $ROOT/build/bin/encode ]] || die "no build/bin/encode: run scripts/build.sh first"
  REFERENCE=$(reference_python)
  INPUT=${input:-$(real_rows "$rows")}
  if [[ -n $model ]]; then
    check "$model" "${prompt_rows:-0}"
  else
    "$ROOT/scripts/models.sh" --mpnet
    check "$DEPS/models/all-MiniLM-L6-v2" "${prompt_rows:-0}"
    check "$DEPS/models/all-mpnet-base-v2" "${prompt_rows:-200}"
  fi
}

main "$@"
