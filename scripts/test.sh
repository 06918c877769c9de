#!/usr/bin/env bash
# Sets up the machine, builds, lints and runs every test. Continuous integration runs this script.
#
# usage: scripts/test.sh [CTEST ARGUMENTS...]      for example: scripts/test.sh -R store
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  phase set-up "$ROOT/scripts/setup.sh"
  phase "demo model" "$ROOT/scripts/models.sh"
  # The build of quickstart.sh compiles other units. It comes first, so that the tests run what the second one makes.
  phase "build of quickstart" "$ROOT/scripts/build.sh" --here
  phase build "$ROOT/scripts/build.sh" --all
  phase lint "$ROOT/scripts/lint.sh"
  say "times"
  print_phases
  # ctest runs last, so that the last line of the output has the result.
  exec ctest --test-dir "$ROOT/build" --output-on-failure --no-label-summary --parallel "$(nproc)" "$@"
}

main "$@"
