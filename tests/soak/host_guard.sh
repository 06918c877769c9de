#!/usr/bin/env bash
# Shows what the host guard does in a control group of 600 MB: 200,000 rows of 2.5 kB, cut to 8 tokens each, with
# all-MiniLM-L6-v2 on the CPU, and a prefetch_bytes, batch_tokens and chunk_size that are far too large for the group. The texts
# (500 MB) and the vectors (307 MB) would fit into one window of these settings.
#
#   free      no control group, usual settings: the rate to compare with
#   guarded   in the group: must finish with the bytes of `free`, below the limit and at 85 % of its rate or more
#   hog       in the group, where another program takes memory for a time: must finish, with the guard's actions in the log
#   control   in the group with the guard off: the kernel must kill a worker
#
# usage: tests/soak/host_guard.sh [ROWS]      default: 200000 rows; about 15 minutes on 2 cores; needs root and cgroups
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

readonly WORK=${ENCODE_SOAK_DIR:-$DEPS/host_guard}
readonly ENCODE=$ROOT/build/bin/encode
readonly LIMIT=600000000
readonly V1=/sys/fs/cgroup/memory V2=/sys/fs/cgroup

make_group() {
  if [[ -e $V1/memory.limit_in_bytes ]]; then
    GROUP=$V1/encode_soak_$$
    mkdir "$GROUP" && echo "$LIMIT" >"$GROUP/memory.limit_in_bytes"
  else
    GROUP=$V2/encode_soak_$$
    mkdir "$GROUP" && echo "$LIMIT" >"$GROUP/memory.max"
  fi
}

remove_group() {
  local i
  for ((i = 0; i < 100; ++i)); do
    rmdir "$GROUP" 2>/dev/null && return
    sleep 0.1
  done
}

# Prints the bytes that the group uses now, without the page cache that the kernel can free at once.
used_bytes() {
  local usage cache
  usage=$(cat "$GROUP/memory.usage_in_bytes" 2>/dev/null || cat "$GROUP/memory.current")
  cache=$(awk '$1 == "total_inactive_file" { v1 = $2 } $1 == "inactive_file" { v2 = $2 } END { print v1 ? v1 : v2 }' "$GROUP/memory.stat")
  echo $((usage - cache))
}

make_rows() {
  "$PYTHON" - "$1" >"$WORK/rows.txt" <<'PYTHON'
import random, sys
random.seed(7)
words = "the a run row test value file chunk model error time with from into reads writes returns checks adds removes fast slow old new".split()
text = " ".join(random.choices(words, k=20000))
for _ in range(int(sys.argv[1])):
    at = text.index(" ", random.randrange(len(text) - 3000)) + 1
    print(text[at:at + 2500])
PYTHON
}

write_config() { # NAME SEMANTIC HARDWARE: the last two are more keys of these sections
  cat >"$WORK/$1.yaml" <<YAML
input: {file: $WORK/rows.txt}
output: {file: $WORK/$1.npy}
semantic: {model: $DEPS/models/all-MiniLM-L6-v2, max_length: 8, cache_dir: $WORK/$1$2}
hardware: {device: cpu$3}
YAML
}

# Runs the config in the group and prints the highest use. The exit code of `encode` is in $WORK/NAME.rc.
run_in_group() { # NAME
  local pid peak=0 used
  (
    echo "$BASHPID" >"$GROUP/cgroup.procs"
    code=0
    "$ENCODE" --config "$WORK/$1.yaml" --no-progress >"$WORK/$1.log" 2>&1 || code=$?
    echo "$code" >"$WORK/$1.rc"
  ) &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    used=$(used_bytes 2>/dev/null || echo 0)
    ((used > peak)) && peak=$used
    sleep 0.2
  done
  wait "$pid" || true
  echo "$peak"
}

# Prints the tokens per second of the table in a log.
rate_of() { awk '$1 == "stream" { seen = 1; next } seen { print $NF; exit }' "$WORK/$1.log" | sed 's/k$/e3/'; }

# Takes memory in the group up to 90 % of the limit for 20 seconds, once the run has begun.
hog() {
  until grep -q 'samples' "$WORK/hog.log" 2>/dev/null; do sleep 0.2; done
  sleep 5
  (
    echo "$BASHPID" >"$GROUP/cgroup.procs"
    exec "$PYTHON" -c "
import sys, time
held = bytearray(int(sys.argv[1])); held[::4096] = b'x' * len(held[::4096]); time.sleep(20)" $((LIMIT * 90 / 100 - $(used_bytes)))
  )
}

check_guarded() { # PEAK
  [[ $(cat "$WORK/guarded.rc") == 0 ]] || die "the guarded run ended with $(cat "$WORK/guarded.rc")"
  cmp "$WORK/free.npy" "$WORK/guarded.npy" || die "the guarded run has other bytes"
  grep -q 'the settings ask for' "$WORK/guarded.log" || die "the log does not name the guard's windows"
  ! grep -q 'killed' "$WORK/guarded.log" || die "a worker was killed"
  (($1 < LIMIT)) || die "the peak is not below the limit"
  awk -v free="$(rate_of free)" -v guarded="$(rate_of guarded)" 'BEGIN { exit !(guarded >= 0.85 * free) }' ||
    die "the guarded run is more than 15 % slower"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  local rows=${1:-200000} peak
  local large=", chunk_size: 1000000000, batch_size: 0, batch_tokens: 2147483648" far=", prefetch_bytes: 1099511627776"
  rm -rf "$WORK" && mkdir -p "$WORK"
  make_rows "$rows"
  write_config free ", batch_size: 0" ""
  write_config guarded "$large" "$far"
  write_config hog "$large" "$far"
  write_config control "$large" "$far, memory_pressure_percent: 0"
  make_group || die "this user cannot make a control group"
  trap remove_group EXIT

  "$ENCODE" --config "$WORK/free.yaml" --no-progress >"$WORK/free.log" 2>&1
  say "free: $(rate_of free) tokens/s, $(grep 'peak memory' "$WORK/free.log")"

  peak=$(run_in_group guarded)
  say "guarded: $(rate_of guarded) tokens/s, highest use of the group $peak of $LIMIT bytes"
  grep -E 'settings ask|host memory' "$WORK/guarded.log"
  check_guarded "$peak"

  hog &
  peak=$(run_in_group hog)
  wait $!
  say "hog: $(rate_of hog) tokens/s, highest use of the group $peak bytes"
  grep -E 'settings ask|host memory' "$WORK/hog.log"
  [[ $(cat "$WORK/hog.rc") == 0 ]] || die "the run beside a hog failed"
  cmp "$WORK/free.npy" "$WORK/hog.npy" || die "the run beside a hog has other bytes"
  grep -q 'reading ahead stops' "$WORK/hog.log" || die "the log has no action of the guard"
  grep -q 'back to normal' "$WORK/hog.log" || die "the guard did not go back to normal"

  run_in_group control >/dev/null
  say "control: exit code $(cat "$WORK/control.rc"), $(grep -c 'the kernel killed encode-worker' "$WORK/control.log") lines about kills"
  grep -q 'the kernel killed encode-worker' "$WORK/control.log" || die "without the guard no worker was killed"
}

main "$@"
