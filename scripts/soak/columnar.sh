#!/usr/bin/env bash
# Times the reading of a million rows from Parquet and Arrow files, beside the same rows as JSONL, and shows the peak memory.
# First it checks that the rows of all formats are equal.
#
# usage: scripts/soak/columnar.sh [ROWS]       default: 1000000
#
# It needs a build with --all, and a Python 3.11 for the pyarrow of scripts/deps/arrow.txt. This pyarrow refuses the NumPy of
# Debian 12 and works without one, so the script uses the interpreter of .deps/venv.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

WORK=${ENCODE_SOAK_DIR:-$DEPS/columnar}

# Unpacks the whole wheel; scripts/setup.sh needs only a part of it.
install_pyarrow() {
  local wheel
  [[ -d $WORK/site/pyarrow ]] && return
  wheel=$(fetch_wheels "$ROOT/scripts/deps/arrow.txt")
  unzip -q -o "$wheel" -d "$WORK/site"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  mkdir -p "$WORK"
  install_pyarrow
  ninja -C "$ROOT/build" -j "$(job_count)" encode encode_arrow_plugin text_benchmark
  PYTHONPATH="$WORK/site" "$DEPS/venv/bin/python" "$ROOT/scripts/soak/columnar.py" "$ROOT/build/bin" "$WORK" "${1:-1000000}"
}

main "$@"
