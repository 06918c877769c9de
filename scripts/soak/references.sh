#!/usr/bin/env bash
# Compares encode with transformers 4 and 5 on random directories of tokenizers, and on directories that have the layouts of
# well-known repositories of the hub. scripts/reference/check_auto_tokenizer.py and scripts/reference/hub_layouts/check.py say what is
# compared.
#
# usage: scripts/soak/references.sh                      both
#        scripts/soak/references.sh tokenizers [COUNT]   directories; default: 6000, which take an hour
#        scripts/soak/references.sh layouts [NAME...]    parts of names of repositories; default: all of them (10 minutes)
#
# It needs a build with --all. It installs the two environments of each comparison from the package index, once; those of the
# tokenizers take 600 MB. The directories with other ids stay in .deps/auto_tokenizer/found.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

SHARED=(torch==2.11.0 numpy==2.4.6 sentencepiece==0.2.3 protobuf==7.36.2 einops==0.8.2)

# install_reference FOLDER PACKAGE...: makes a venv with the packages.
install_reference() {
  local folder=$1
  shift
  [[ -e $folder/ready ]] && return
  "$PYTHON" -m venv "$folder"
  "$folder/bin/pip" install --quiet "$@"
  touch "$folder/ready"
}

compare_tokenizers() {
  local work=${ENCODE_SOAK_DIR:-$DEPS/auto_tokenizer} version
  [[ -x $ROOT/build/bin/tokenize_lines ]] || die "no build/bin/tokenize_lines: run scripts/build.sh --all first"
  for version in 4.57.6 5.17.0; do install_reference "$work/$version" "transformers==$version" sentencepiece protobuf; done
  # The script writes .model files with the package sentencepiece, which the venv has.
  "$work/5.17.0/bin/python" "$ROOT/scripts/reference/check_auto_tokenizer.py" --python4 "$work/4.57.6/bin/python" \
    --python5 "$work/5.17.0/bin/python" --tool "$ROOT/build/bin/tokenize_lines" --count "${1:-6000}" --keep "$work/found"
}

compare_layouts() {
  local work=${ENCODE_SOAK_DIR:-$DEPS/hub_layouts}
  mkdir -p "$work"
  install_reference "$work/4" "${SHARED[@]}" transformers==4.57.6 sentence-transformers==5.1.2
  install_reference "$work/5" "${SHARED[@]}" transformers==5.17.0 sentence-transformers==6.0.1
  "$work/5/bin/python" "$ROOT/scripts/reference/hub_layouts/check.py" --python4 "$work/4/bin/python" --python5 "$work/5/bin/python" \
    --encode "$ROOT/build/bin/encode" --only "$@"
}

main() {
  local failed=0
  case ${1:-} in
    -h | --help) show_help ;;
    tokenizers) compare_tokenizers "${@:2}" ;;
    layouts) compare_layouts "${@:2}" ;;
    '')
      "$0" tokenizers || failed=1
      "$0" layouts || failed=1
      return "$failed"
      ;;
    *) die "unknown comparison '$1'; see --help" ;;
  esac
}

main "$@"
