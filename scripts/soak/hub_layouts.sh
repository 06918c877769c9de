#!/usr/bin/env bash
# Compares encode with transformers 4 and 5 on directories that have the layouts of well-known repositories of the hub.
#
# usage: scripts/soak/hub_layouts.sh [NAME...]      parts of names of repositories; default: all of them (10 minutes)
#
# scripts/check_hub_layouts.py says what is compared. It needs a build. This script installs the two environments of the
# references from the package index, once.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

WORK=${ENCODE_SOAK_DIR:-$DEPS/hub_layouts}
SHARED=(torch==2.11.0 numpy==2.4.6 sentencepiece==0.2.3 protobuf==7.36.2 einops==0.8.2)

# usage: install_reference NAME PACKAGE...
install_reference() {
  local folder=$WORK/$1
  shift
  [[ -e $folder/ready ]] && return
  "$PYTHON" -m venv "$folder"
  "$folder/bin/pip" install --quiet "${SHARED[@]}" "$@"
  touch "$folder/ready"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  mkdir -p "$WORK"
  install_reference 4 transformers==4.57.6 sentence-transformers==5.1.2
  install_reference 5 transformers==5.17.0 sentence-transformers==6.0.1
  "$WORK/5/bin/python" "$ROOT/scripts/check_hub_layouts.py" --python4 "$WORK/4/bin/python" --python5 "$WORK/5/bin/python" \
    --encode "$ROOT/build/bin/encode" --only "$@"
}

main "$@"
