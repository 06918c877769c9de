#!/usr/bin/env bash
# Compares `encode run` with sentence-transformers on real rows: float32 on the CPU, all-MiniLM-L6-v2.
#
# usage: scripts/parity.sh [--rows N] [--model DIR] [--max-difference D]
#   --rows N             half functions, half changelog entries (default 2000)
#   --model DIR          a sentence-transformers directory (default: the demo model)
#   --max-difference D   largest allowed |difference| of two elements (default 1e-5)
#
# The reference environment is made in .deps/reference (about 3 GB); ENCODE_REFERENCE_PYTHON names an interpreter that
# has sentence-transformers already.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=bench/common.sh
. "$ROOT/scripts/bench/common.sh"

main() {
  local rows=2000 model="$DEPS/models/all-MiniLM-L6-v2" limit=1e-5 python input
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --rows) rows=$2 && shift 2 ;;
      --model) model=$2 && shift 2 ;;
      --max-difference) limit=$2 && shift 2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  [[ -x $ROOT/build/bin/encode ]] || die "no build/bin/encode: run scripts/build.sh first"
  "$ROOT/scripts/models.sh"
  python=$(reference_python)
  input=$(real_rows "$rows")
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
  phase "encode" "$ROOT/build/bin/encode" run --model "$model" --input "$input" --field text --device cpu \
    --dtype float32 --cache-dir "$WORK/cache" --output "$WORK/ours.npy"
  phase "sentence-transformers" "$python" "$ROOT/scripts/bench/peer_sentence_transformers.py" \
    --model "$model" --input "$input" --output "$WORK/reference.npy"
  "$python" "$ROOT/scripts/bench/compare_embeddings.py" "$WORK/ours.npy" "$WORK/reference.npy" --max-difference "$limit"
}

main "$@"
