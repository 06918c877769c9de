#!/usr/bin/env bash
# Runs the checks that take too long for continuous integration: scripts/soak/*.sh, one after the other.
#
# usage: scripts/soak.sh [NAME...]      NAME stands for scripts/soak/NAME.sh; the default is all of them
#
# Each script can also run alone; --help describes it. If one fails, the others still run, and the exit code is 1.
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
