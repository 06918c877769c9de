#!/usr/bin/env bash
# Runs two workers through many faults: 50 random schedules of faults must give no wrong vector, and a run of 2,000 chunks with a
# fault in every 37th batch must finish without help, in constant memory.
#
# usage: scripts/soak/devices.sh [SCHEDULES [CHUNKS]]       default: 50 2000, which takes about 20 minutes on 2 cores
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  show_help
  exit
fi
ENCODE_SOAK_SCHEDULES=${1:-50} ENCODE_SOAK_CHUNKS=${2:-2000} "$ROOT/build/bin/faults_test" --gtest_filter='DevicesSoak.*'
