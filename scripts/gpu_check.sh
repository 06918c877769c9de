#!/usr/bin/env bash
# Checks a bundle on a machine with a GPU, in under ten minutes and without a network: the tests that need a GPU, speed
# with and without the project's kernels and against the device's limit, parity with sentence-transformers (float32 and
# bfloat16; fp8, and its speed beside bfloat16, where the GPU has 8-bit floats), chunked = standard, resume after SIGKILL,
# the allocator cleared between chunks, throughput, what chunks and batch sizes cost.
#
# usage: scripts/gpu_check.sh [--bundle DIR|ARCHIVE] [--output DIR] [--rows N]
#   --bundle   what scripts/package.sh --gpu-tests made (default: the newest out/encode-*)
#   --output   where gpu_check.md goes (default: $OUT, else ./gpu_check)
#   --rows N   real texts for the long steps (default 12000)
#
# Needs a python3 with torch 2.11 (CUDA), transformers and sentence-transformers. The models have random weights and are
# made here. Every check prints PASS or FAIL; the exit code is 0 where all have passed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

newest_bundle() { find "$ROOT/out" -maxdepth 1 -name 'encode-*' -printf '%T@ %p\n' 2>/dev/null | sort -rn | head -1 | cut -d' ' -f2-; }

main() {
  local bundle="" output="${OUT:-gpu_check}" options=()
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --bundle) bundle=$2 && shift 2 ;;
      --output) output=$2 && shift 2 ;;
      --rows) options+=(--rows "$2") && shift 2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  bundle=${bundle:-$(newest_bundle)}
  [[ -e $bundle ]] || die "no bundle: run scripts/package.sh --gpu-tests, or name one with --bundle"
  if [[ -f $bundle ]]; then
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    tar -C "$WORK" --strip-components=1 -xf "$bundle"
    bundle=$WORK
  fi
  nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
  "$bundle/encode" --version
  python3 "$ROOT/scripts/gpu/gpu_check.py" --program "$bundle/encode" --output "$output" "${options[@]}"
}

main "$@"
