#!/usr/bin/env bash
# Runs encode_embeddings.run() in the cells of a real notebook without a browser, and looks at what the cells keep.
#
# usage: scripts/soak/notebook.sh
#
# A cell must have one output with the progress, however long the run takes, and it must say 100 %. A cell whose run is
# interrupted must end with KeyboardInterrupt, and the same cell must go on. The script makes a venv with the newest nbclient and
# ipykernel of PyPI (about 60 MB). It needs a build.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

main() {
  case ${1:-} in
    -h | --help) show_help && return ;;
    '') ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  [[ -x $ROOT/build/bin/encode-worker ]] || die "no build/bin/encode-worker: run scripts/build.sh first"
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
  "$PYTHON" -m venv "$WORK/venv"
  watched "a venv with nbclient" "$WORK/venv/bin/pip" install --quiet nbclient ipykernel numpy 'pyarrow==26.*'
  ENCODE_PROGRAM="$ROOT/build/bin/encode" PYTHONPATH="$ROOT/python" XDG_CACHE_HOME="$WORK/cache" \
    "$WORK/venv/bin/python" -B "$ROOT/scripts/soak/lib/notebook.py" "$ROOT/tests/data/models/bert"
}

main "$@"
