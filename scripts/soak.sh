#!/usr/bin/env bash
# Runs the checks that take too long for continuous integration, one after the other: the programs of scripts/soak, which install
# another machine, environment or build for themselves, and the tests of CTest that tests/soak/CMakeLists.txt names.
#
# usage: scripts/soak.sh [NAME...]      NAME stands for scripts/soak/NAME.sh or for the test soak.NAME; the default is all of them
#        scripts/soak.sh --list         prints the names
#
# The tests need scripts/build.sh --all. Each program of scripts/soak and tests/soak can also run alone; --help describes it. If a
# check fails, the others still run, and the exit code is 1.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

soak_ctest() { ctest --test-dir "$ROOT/build" -C soak -L '^soak$' "$@"; }

# Prints the names of all checks.
list_checks() {
  local program
  for program in "$ROOT"/scripts/soak/*.sh; do basename "$program" .sh; done
  soak_ctest -N | sed -n 's/^ *Test *#[0-9]*: soak[.]//p'
}

run_check() {
  local program="$ROOT/scripts/soak/$1.sh"
  if [[ -x $program ]]; then
    "$program"
  else
    soak_ctest -R "^soak[.]$1\$" --no-tests=error --verbose
  fi
}

main() {
  local name names failed=()
  case ${1:-} in
    -h | --help) show_help && return ;;
    --list) list_checks && return ;;
  esac
  [[ -e $ROOT/build/CTestTestfile.cmake ]] || die "there is no build: run scripts/build.sh --all first"
  names=$(list_checks)
  # shellcheck disable=SC2086  # names have no spaces
  if (($# == 0)); then set -- $names; fi
  for name in "$@"; do
    grep -qx -e "$name" <<<"$names" || die "no check '$name': scripts/soak.sh --list prints the names"
  done
  for name in "$@"; do
    say "$name"
    run_check "$name" || failed+=("$name")
  done
  ((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
  say "all passed: $*"
}

main "$@"
