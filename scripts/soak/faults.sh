#!/bin/sh
# Makes the device fail in every batch of a run of about 30 batches, with each of 13 faults: once, and in this batch of every
# worker. Makes 20 rows, one after the other, fail with each of 7 faults again and again, and gives the first, a middle and the
# last row wrong vectors. No vector may be wrong, the exit codes are those of docs/errors.md, the row is named, and the rest has
# the same bits as without a fault. The model is a tiny one, and the device is a CPU that fails on request (tests/faults).
#
# usage: scripts/soak/faults.sh       about 15 minutes on 2 cores
set -eu

case ${1:-} in
-h | --help)
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
  exit
  ;;
esac
program=$(dirname "$0")/../../build/bin/faults_test
if [ ! -x "$program" ]; then
  echo "faults.sh: $program is missing; run scripts/build.sh --all first" >&2
  exit 66
fi
FAULT_SOAK=1 "$program" --gtest_filter='*Once.*:*Always.*:*PoisonRow.*:*WrongVector.*' --gtest_brief=0
