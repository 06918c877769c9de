#!/usr/bin/env bash
# Checks a bundle on a machine with a GPU, in under ten minutes and without a network:
#   - the tests that need a GPU, and `encode preflight`;
#   - parity with sentence-transformers in float32 and bfloat16; if the GPU has 8-bit floats, also parity and speed of fp8;
#   - equal bits of chunked and standard mode, resume after SIGKILL, and the allocator cleared between chunks;
#   - the speed with and without the project's kernels;
#   - throughput beside sentence-transformers, the speed as a share of the device's peak, and the cost of chunks and batch sizes.
#
# usage: scripts/gpu_check.sh [--bundle DIR|ARCHIVE] [--output DIR] [--rows N] [--seconds N]
#   --bundle   the bundle of scripts/package.sh --gpu-tests (default: the newest out/encode-*)
#   --output   the folder for gpu_check.md (default: $OUT, or else ./gpu_check)
#   --rows N   the number of real texts for the long steps (default 12000)
#   --seconds N   after this time (default 510) the running step is stopped, and the report says which steps did not run
#
# It needs a python3 with torch 2.11 (CUDA), transformers and sentence-transformers. It makes its models, with random
# weights. Every check prints PASS or FAIL. The exit code is 0 if all checks have passed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Prints the newest folder of package.sh. Its archive is newer, but unpacking it needs zstd.
newest_bundle() {
  find "$ROOT/out" -maxdepth 1 -type d -name 'encode-*' -printf '%T@ %p\n' 2>/dev/null | sort -rn | head -1 | cut -d' ' -f2-
}

main() {
  local bundle="" output="${OUT:-gpu_check}" options=()
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --bundle) bundle=$2 && shift 2 ;;
      --output) output=$2 && shift 2 ;;
      --rows | --seconds) options+=("$1" "$2") && shift 2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  bundle=${bundle:-$(newest_bundle)}
  [[ -e $bundle ]] || die "no bundle: run scripts/package.sh --gpu-tests, or name one with --bundle"
  if [[ -f $bundle ]]; then
    command -v zstd >/dev/null || die "$bundle: unpacking needs zstd; name the unpacked folder with --bundle"
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
