#!/bin/sh
# The long form of the store's torture tests: an image cut after every single system call, and the whole suite again and
# again until the time is up. Usage: scripts/soak/store.sh [MINUTES], default 10. Root and loop mounts for the cuts.
set -eu

minutes=${1:-10}
program=$(dirname "$0")/../../build/bin/store_torture
if [ ! -x "$program" ]; then
  echo "store.sh: $program is missing; run scripts/build.sh first" >&2
  exit 66
fi

end=$(($(date +%s) + minutes * 60))
round=0
while [ "$(date +%s)" -lt "$end" ]; do
  round=$((round + 1))
  log=$(mktemp)
  if ! STORE_SOAK=$round "$program" --gtest_shuffle --gtest_random_seed=$((round % 99999 + 1)) >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "store.sh: round $round failed" >&2
    exit 70
  fi
  grep -E 'SKIPPED' "$log" | sort -u || true
  rm -f "$log"
  echo "store.sh: round $round passed"
done
