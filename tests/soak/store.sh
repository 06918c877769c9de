#!/bin/sh
# Repeats the torture tests of the store in their long form. One round cuts an image of the disk after every single system
# call (about 390 cuts), simulates 2,000 power losses, kills 2,000 random jobs, half of them twice, and fails every look at a
# file with five errors. It prints what each round has counted.
#
# usage: tests/soak/store.sh [MINUTES]       default: 10 minutes; the last round is always finished
#
# The cuts need root and loop mounts; without them the tests are skipped and the script prints this.
set -eu

case ${1:-} in
-h | --help)
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
  exit
  ;;
esac
minutes=${1:-10}
program=$(dirname "$0")/../../build/bin/store_torture
if [ ! -x "$program" ]; then
  echo "store.sh: $program is missing; run scripts/build.sh --all first" >&2
  exit 66
fi

end=$(($(date +%s) + minutes * 60))
round=0
while [ "$round" -eq 0 ] || [ "$(date +%s)" -lt "$end" ]; do
  round=$((round + 1))
  log=$(mktemp)
  if ! STORE_SOAK=$round "$program" --gtest_shuffle --gtest_random_seed=$((round % 99999 + 1)) >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "store.sh: round $round failed" >&2
    exit 70
  fi
  grep -E 'SKIPPED|^count: ' "$log" || true
  rm -f "$log"
  echo "store.sh: round $round passed"
done
