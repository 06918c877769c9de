#!/usr/bin/env bash
# Checks a bundle on a machine with a GPU, without a network. Each step runs in a process of its own, with a limit of time, so a
# step that fails or hangs does not end the others. These are the steps in their order:
#   facts         the machine, the card, versions, `encode preflight`
#   models        makes the models and the rows of the next steps, several at once
#   kernels       the tests that need a GPU
#   parity        vectors beside sentence-transformers in float32 and bfloat16
#   device_time   which kernels take the device's time, and how much of the time the device works
#   attention     the plugin's attention of short rows beside FlashAttention-2
#   throughput    tokens/s and MFU (the share of the card's peak) with 30, 128 and 512 tokens in a row
#   peers         the same rows with sentence-transformers (SDPA) and with packed FlashAttention-2 in PyTorch
#   more_peers    the same with torch.compile, in float16, and with a large model
#   chunks        chunked = standard = resumed mode to the bit, the allocator, and what chunks cost
#   retirement    workers that are replaced during a run
#   limits        `encode bench`: the speed beside the matrix products alone
#   fp8           parity and speed of 8-bit floats
#   sanitizer     memcheck and racecheck of compute-sanitizer on the kernels
#   kernel_gain   the speed with and without the project's kernels
#
# usage: scripts/gpu_check.sh [--bundle DIR|ARCHIVE] [--output DIR] [--work DIR] [--steps LIST] [--budget SECONDS]
#                             [--limit-scale N] [--quick]
#   --bundle   the bundle of scripts/package.sh --gpu-tests (default: the newest out/encode-*)
#   --output   the folder for report.md, report.json and the log of each step (default: $OUT, or else ./gpu_check)
#   --work     a folder for the models and the rows, which a later call uses again (default: a temporary folder)
#   --steps    the steps to run, such as facts,throughput (default: all)
#   --budget   the seconds for the steps together (default 570). A step that no longer fits is reported as "not run"
#   --limit-scale   multiplies the limit of each step, for a slow machine
#   --quick    short timings and few rows, to test this script
#
# The models have random weights and are made with torch 2.11 (CUDA) and transformers, which python3 must have. Without
# sentence-transformers the figures of peers are missing, and without compute-sanitizer its step is skipped. The exit code is 0
# if all steps passed or were skipped. docs/gpu.md plans the calls for a machine that is lent for ten minutes at a time.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Prints the newest folder of package.sh. Its archive is newer, but unpacking it needs zstd.
newest_bundle() {
  find "$ROOT/out" -maxdepth 1 -type d -name 'encode-*' -printf '%T@ %p\n' 2>/dev/null | sort -rn | head -1 | cut -d' ' -f2-
}

# unpack ARCHIVE FOLDER: the archive of package.sh, or the same folder in an archive that tar can read.
unpack() {
  case $1 in
    *.zst) command -v zstd >/dev/null || die "$1: unpacking needs zstd; name the unpacked folder with --bundle" ;;
  esac
  tar -C "$2" --strip-components=1 -xf "$1"
}

main() {
  local bundle="" output="${OUT:-gpu_check}" options=()
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --bundle) bundle=$2 && shift 2 ;;
      --output) output=$2 && shift 2 ;;
      --work | --steps | --budget | --limit-scale) options+=("$1" "$2") && shift 2 ;;
      --quick) options+=("$1") && shift ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  bundle=${bundle:-$(newest_bundle)}
  [[ -e $bundle ]] || die "no bundle: run scripts/package.sh --gpu-tests, or name one with --bundle"
  if [[ -f $bundle ]]; then
    UNPACKED=$(mktemp -d)
    trap 'rm -rf "$UNPACKED"' EXIT
    unpack "$bundle" "$UNPACKED"
    bundle=$UNPACKED
  fi
  python3 "$ROOT/scripts/gpu/gpu_check.py" --program "$bundle/encode" --output "$output" "${options[@]}"
}

main "$@"
