#!/usr/bin/env bash
# Compares the ids of random directories of tokenizers with transformers 4 and 5 (scripts/check_auto_tokenizer.py).
#
# usage: scripts/soak/auto_tokenizer.sh [COUNT]      directories; default: 6000
#
# It installs each version of transformers in a venv of its own, which takes 600 MB. It needs a build with --all. 6000
# directories take an hour. The directories with other ids stay in .deps/auto_tokenizer/found.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

WORK=${ENCODE_SOAK_DIR:-$DEPS/auto_tokenizer}

install_transformers() {
  local venv="$WORK/$1"
  [[ -e $venv/ready ]] && return
  "$PYTHON" -m venv "$venv"
  "$venv/bin/pip" install --quiet "transformers==$1" sentencepiece protobuf
  touch "$venv/ready"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  [[ -x $ROOT/build/bin/tokenize_lines ]] || die "no build/bin/tokenize_lines: run scripts/build.sh --all first"
  install_transformers 4.57.6
  install_transformers 5.17.0
  # The script writes .model files with the package sentencepiece, which the venv has.
  "$WORK/5.17.0/bin/python" "$ROOT/scripts/check_auto_tokenizer.py" --python4 "$WORK/4.57.6/bin/python" --python5 "$WORK/5.17.0/bin/python" \
    --tool "$ROOT/build/bin/tokenize_lines" --count "${1:-6000}" --keep "$WORK/found"
}

main "$@"
