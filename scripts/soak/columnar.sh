#!/usr/bin/env bash
# Checks Parquet and Arrow files as inputs and as outputs.
#
# usage: scripts/soak/columnar.sh [ROWS]            inputs; default: 1000000
#        scripts/soak/columnar.sh million [ROWS]    outputs; default: 1000000
#
# The first one times the reading of the rows from Parquet and Arrow files, beside the same rows as JSONL, and shows the peak
# memory. First it checks that the rows of all formats are equal. It needs a Python 3.11 for the pyarrow of
# scripts/deps/arrow.txt. This pyarrow refuses the NumPy of Debian 12 and works without one, so the script uses the interpreter
# of .deps/venv.
#
# The second one encodes the rows of ten Parquet files (zstd) with all-MiniLM-L6-v2 to Parquet, kills the run three times, the
# last time while the Parquet file is written, and makes a .npy and an Arrow file of the same chunks. pyarrow and DuckDB compare
# vectors, order, ids and texts of all rows, and pandas, datasets and python/encode_reader those of the first ones. The memory
# of encode and the time for reading must be within limits. It installs its Python packages in a venv of its own.
#
# Both need a build with --all.
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

# The programs that read a table back.
install_readers() {
  [[ -e $WORK/venv/ready ]] && return
  "$PYTHON" -m venv "$WORK/venv"
  "$WORK/venv/bin/pip" install --quiet pyarrow==26.0.1 datasets==5.2.0 duckdb==2.0.1 numpy==2.4.6 pandas==3.1.1
  touch "$WORK/venv/ready"
}

million() {
  local folder=$WORK/million
  install_readers
  "$ROOT/scripts/models.sh"
  ninja -C "$ROOT/build" -j "$(job_count)" encode encode-worker encode_arrow_plugin text_benchmark
  rm -rf "$folder"
  mkdir -p "$folder"
  "$WORK/venv/bin/python" "$ROOT/scripts/soak/tables.py" "$ROOT/build/bin" "$folder" "$1" "$DEPS/models/all-MiniLM-L6-v2"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  mkdir -p "$WORK"
  if [[ ${1:-} == million ]]; then
    million "${2:-1000000}"
    return
  fi
  install_pyarrow
  ninja -C "$ROOT/build" -j "$(job_count)" encode encode_arrow_plugin text_benchmark
  PYTHONPATH="$WORK/site" "$DEPS/venv/bin/python" "$ROOT/scripts/soak/columnar.py" "$ROOT/build/bin" "$WORK" "${1:-1000000}"
}

main "$@"
