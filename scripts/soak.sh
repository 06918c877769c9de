#!/usr/bin/env bash
# Long checks that continuous integration has no time for: every scripts/soak/*.sh, one after the other.
#
# usage: scripts/soak.sh [NAME...]      the names of scripts/soak/NAME.sh; without one, all of them
#
# Each runs by itself too, and has a --help. Exits with 1 where one fails, after the others have run.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

main() {
  local script name failed=()
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  if (($# == 0)); then
    for script in "$ROOT"/scripts/soak/*.sh; do set -- "$@" "$(basename "$script" .sh)"; done
  fi
  for name in "$@"; do
    script="$ROOT/scripts/soak/$name.sh"
    [[ -x $script ]] || die "no $script"
    say "$name"
    "$script" || failed+=("$name")
  done
  ((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
  say "all passed: $*"
}

main "$@"
