#!/usr/bin/env bash
# Encodes the same real rows with all-MiniLM-L6-v2 in float32 five times: with chunks of 1, 7, 1,000 and all rows, and in
# standard mode. The five matrices must have equal bytes.
#
# usage: tests/soak/chunk_sizes.sh [ROWS]       default: 2000 rows, which take about 4 minutes on 2 cores
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

readonly WORK=${ENCODE_SOAK_DIR:-$DEPS/chunk_sizes}

encode_as() { # NAME FLAG...
  local name=$1
  shift
  "$ROOT/build/bin/encode" run --model "$DEPS/models/all-MiniLM-L6-v2" --input "$INPUT" --field text --device cpu \
    --output "$WORK/$name.npy" --quiet --no-progress "$@"
  say "$name: $(sha256sum <"$WORK/$name.npy" | cut -c1-16)"
}

main() {
  local rows=${1:-2000} name size
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  rm -rf "$WORK"
  mkdir -p "$WORK"
  "$ROOT/scripts/models.sh"
  INPUT=$(real_rows "$rows")
  encode_as standard --standard
  for size in 1 7 1000 "$rows"; do
    encode_as "chunks-of-$size" --chunk-size "$size"
  done
  for name in "$WORK"/chunks-of-*.npy; do
    cmp "$WORK/standard.npy" "$name"
  done
  say "$rows rows in five ways: the bytes are equal"
}

main "$@"
