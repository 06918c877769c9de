#!/usr/bin/env bash
# Compares the memory model of `encode plan` with real runs on the CPU: eight models, three budgets of tokens and two types. Prints
# a table, and fails if an estimate is more than 10 % away from the measured peak of resident memory.
#
# usage: scripts/soak/memory_model.sh [MODEL...]       default: all eight; about 20 minutes on 2 cores
#
# It needs the demo model (scripts/models.sh), 4 GB of disk space in .deps, and 3 GB of memory.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  show_help
  exit
fi
WORK=${ENCODE_SOAK_DIR:-$DEPS/memory_model}
mkdir -p "$WORK"
"$PYTHON" "$ROOT/scripts/soak/memory_models.py" "$WORK/models"
exec "$PYTHON" "$ROOT/scripts/soak/memory_table.py" "$ROOT/build/bin/encode" "$WORK" "$DEPS/models/all-MiniLM-L6-v2" "$@"
