#!/bin/sh
# Sends stop signals and SIGKILL at random moments to runs with a worker that computes slowly and without a model, half of them on
# a slow disk. Each run must end as docs/errors.md says, within its grace and with no process left. No committed chunk may be
# encoded again, and the result must have the bytes of an undisturbed run. Then the clock of the day jumps by ten years in 20 runs
# for each of three ways (ahead, back, at each look): the bytes must be the same, and no timeout may fire.
#
# usage: scripts/soak/signals.sh [SIGNALS]       default: 200 signals, about 7 minutes
set -eu

case ${1:-} in
-h | --help)
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
  exit
  ;;
esac
program=$(dirname "$0")/../../build/bin/cli_test
if [ ! -x "$program" ]; then
  echo "signals.sh: $program is missing; run scripts/build.sh --all first" >&2
  exit 66
fi
SIGNAL_SOAK=${1:-200} CLOCK_SOAK=20 "$program" --gtest_filter='AnyMoment.*:Clock/MovedClock.*'
