#!/usr/bin/env bash
# Shows that the tests of the store and of the model directory can fail. It copies the sources, plants one defect after the other
# (scripts/soak/planted_defects.py lists them), builds the test programs and demands that a named test fails.
#
# usage: scripts/soak/planted_defects.sh [NAME...]       default: all defects; about 5 minutes on 2 cores
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  show_help
  exit
fi
export ENCODE_SOAK_DIR=${ENCODE_SOAK_DIR:-$DEPS/planted_defects}
"$PYTHON" "$ROOT/scripts/soak/planted_defects.py" "$@"
