#!/usr/bin/env bash
# Sets up the machine, builds and runs every test.
#
# usage: scripts/test.sh [CTEST ARGUMENTS...]      for example: scripts/test.sh -R store
#
# With arguments, each TEST of a test program is a test of its own, so `-R Suite.Case` runs a single one. Without arguments, each
# program runs as a whole or in a few parts, which takes less than half of the time.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Prints what the output of CTest leaves out: why tests were skipped, with the number for each reason, and how many cases ran.
print_skipped() {
  local log="$ROOT/build/Testing/Temporary/LastTest.log"
  say "skipped cases"
  awk '/: Skipped$/ { getline; print } /^\[  SKIPPED \] ENCODE_/' "$log" | sort | uniq -c | sort -rn
  say "$(grep -oE '^\[==========\] [0-9]+ tests? .* ran' "$log" | awk '{ n += $2 } END { print n + 0 }') cases of GoogleTest ran"
}

main() {
  local left_out='^case$' failed=0
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  if (($#)); then left_out='^program$'; fi
  phase set-up "$ROOT/scripts/setup.sh"
  phase "demo model" "$ROOT/scripts/models.sh"
  phase build "$ROOT/scripts/build.sh" --all
  say "tests"
  ctest --test-dir "$ROOT/build" --output-on-failure --no-label-summary --parallel "$(nproc)" --label-exclude "$left_out" \
    "$@" || failed=$?
  print_skipped
  say "times"
  print_phases
  return "$failed"
}

main "$@"
