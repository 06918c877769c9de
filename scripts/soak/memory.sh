#!/usr/bin/env bash
# Compares the peak of resident memory for 500,000 short rows and for 50,000: they may differ by at most 50 MB.
#
# usage: scripts/soak/memory.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  show_help
  exit
fi
ENCODE_SOAK_ROWS=500000 "$ROOT/build/bin/end_to_end_test" --gtest_filter='RealWorker.PeakMemory*'
