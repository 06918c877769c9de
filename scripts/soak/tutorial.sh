#!/usr/bin/env bash
# Runs every code block of the tutorial and of the how-to pages, also those that need FAISS and sqlite-vec. CTest runs the
# other blocks (scripts_test.pages).
#
# It needs the programs and the demo model: scripts/build.sh and scripts/models.sh.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

# Prints an interpreter that has the packages of [tutorial] in scripts/deps/pins.txt.
tutorial_python() {
  local folder wheels
  folder="$CACHE/tutorial-$(pins tutorial | sha256sum | cut -c1-12)"
  if [[ ! -d $folder ]]; then
    wheels=$(fetch_wheels tutorial)
    "$PYTHON" -m venv --clear "$folder.partial" >&2
    xargs "$folder.partial/bin/python" -m pip install --quiet --no-deps --no-index <<<"$wheels" >&2
    mv "$folder.partial" "$folder"
  fi
  printf '%s\n' "$folder/bin/python"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  "$(tutorial_python)" -B "$ROOT/tests/scripts/check_pages.py" --with faiss --with sqlite-vec \
    "$ROOT/docs/tutorial.md" "$ROOT"/docs/howto/*.md
}

main "$@"
