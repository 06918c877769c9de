#!/usr/bin/env bash
# Runs the checks that take too long for continuous integration, one after the other: the programs of scripts/soak.
#
# usage: scripts/soak.sh [NAME...]      NAME stands for scripts/soak/NAME.sh or NAME.py; the default is all of them
#
# Each program can also run alone; --help describes it. If one fails, the others still run, and the exit code is 1.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

main() {
  local program name failed=()
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  if (($# == 0)); then
    for program in "$ROOT"/scripts/soak/*.*; do
      name=$(basename "$program")
      if [[ -x $program ]]; then set -- "$@" "${name%.*}"; fi
    done
  fi
  for name in "$@"; do
    program="$ROOT/scripts/soak/$name.sh"
    [[ -x $program ]] || program="$ROOT/scripts/soak/$name.py"
    [[ -x $program ]] || die "no $ROOT/scripts/soak/$name.sh and no $program"
    say "$name"
    "$program" || failed+=("$name")
  done
  ((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
  say "all passed: $*"
}

main "$@"
