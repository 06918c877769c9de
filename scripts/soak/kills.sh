#!/usr/bin/env bash
# Kills real runs (encode and encode-worker with all-MiniLM-L6-v2 on the CPU) at random moments and resumes them, each with random
# settings. The matrices must have the bytes of an undisturbed run. Then it sends stop signals at random moments; the runs must end
# as docs/errors.md says, with no process left. scripts/soak/kills.py does the work.
#
# usage: scripts/soak/kills.sh [KILLS [DOUBLE [SIGNALS]]]       default: 200 50 20; about 25 minutes on 2 cores
#
# KILLS runs are killed once, DOUBLE runs a second time while they are resumed, and SIGNALS signals are sent. ENCODE_BIN names the
# folder of the two programs, if it is not build/bin.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  show_help
  exit
fi
"$ROOT/scripts/models.sh"
"$PYTHON" "$ROOT/scripts/soak/kills.py" --kills "${1:-200}" --double "${2:-50}" --signals "${3:-20}"
