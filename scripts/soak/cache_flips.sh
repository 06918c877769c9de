#!/usr/bin/env bash
# Flips bits of embedding caches, and checks that damage costs nothing but the cache.
#
# usage: scripts/soak/cache_flips.sh [PART...]      the default is all parts: process programs runs
#
# process    every STEP-th bit (default: 1) of a small store, in process:
#            opening it, every walk, every lookup, adding rows and pruning
# programs   every STEP-th bit of the meta pages, of the headers and of the branches: `encode cache stats`, `verify` and `prune`
# runs       RUNS (default: 300) runs with one random bit flipped in a store that has all of their rows
#
# A flip fails if a step takes over 20 seconds or over 2 GiB of memory, gives a wrong row, or ends with another code than the
# documented ones (commands: 0 or 65; runs: 0, with the bytes of a run without the cache).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

readonly WORK=${ENCODE_SOAK_DIR:-/dev/shm}/encode_cache_flips
readonly FLIPS="$ROOT/build/bin/cache_flips"

process() {
  rm -rf "${WORK:?}/store"
  "$FLIPS" "$WORK/store" "0:${STEP:-1}" 2>/dev/null
}

main() {
  local part
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  (($# > 0)) || set -- process programs runs
  mkdir -p "$WORK"
  for part in "$@"; do
    say "== $part"
    case $part in
      process) process ;;
      programs | runs)
        rm -rf "${WORK:?}/$part"
        python3 "$ROOT/scripts/soak/cache_flips.py" "$part" --encode "$ROOT/build/bin/encode" --flips "$FLIPS" \
          --model "$DEPS/models/all-MiniLM-L6-v2" --work "$WORK/$part" --step "${STEP:-1}" --runs "${RUNS:-300}"
        ;;
      *) die "no part '$part': process, programs or runs" ;;
    esac
  done
  rm -rf "$WORK"
}

main "$@"
