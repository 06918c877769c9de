#!/usr/bin/env bash
# Builds everything with each source on its own (the preset dev), so a source that needs an include or a helper of its neighbour
# in the usual build is found. It compiles in build-dev/.
#
# usage: scripts/soak/dev_build.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

main() {
  case ${1:-} in
    -h | --help) show_help && return ;;
    '') ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  cd "$ROOT"
  cmake --preset dev --log-level=WARNING -DTORCH_ROOT="$(torch_root)"
  ninja -C build-dev -j "$(job_count)"
}

main "$@"
