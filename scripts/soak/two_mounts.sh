#!/usr/bin/env bash
# Runs the same config twice on a directory that is mounted twice, so that neither run sees the locks of the other one (bindfs), and lets
# the first run stand still for a random time while the second one publishes.
#
# usage: scripts/soak/two_mounts.sh [ROUNDS]    the default is 20
#
# Each run must end with 0 or 75. What the second run has published when it ends with 0 must be whole then, and must be the same bytes
# after the first run has gone on. The two runs have other vectors, as those of two kinds of devices, so a mixture would be seen.
#
# With CONTROL=1 a library tells the runs that the directory is on a local disk, so they work in it as there; then damage is expected.
#
# It needs bindfs (Debian: apt-get install bindfs), /dev/fuse and build/bin/{encode,fake_worker}.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

readonly LOCAL=0xEF53 # the magic of ext4

encode() { # MOUNT WORD...
  local mount=$1
  shift
  if [[ ${CONTROL:-} ]]; then
    local -x LD_PRELOAD=$ROOT/build/lib/libencode_fault.so FAULT_ROOT=$WORK/$mount FAULT_FILE_SYSTEM=$LOCAL FAULT_LOCK_MAY_GO=1
  fi
  exec "$ROOT/build/bin/encode" "$@" --config "$WORK/$mount.yaml"
}

# Prints the hashes of the published files.
published() { (cd "$WORK/back/cache" && find . -maxdepth 1 -name '*_embeddings.*' -type f -exec sha256sum {} + | sort); }

verified() { (encode two verify >"$WORK/verify.out" 2>&1); }

one_round() {
  local first second=0 late=0 before
  rm -rf --one-file-system "$WORK/back/cache"
  (FAKE_WORKER_SHIFT=1 encode one run --no-progress >"$WORK/first.log" 2>&1) &
  first=$!
  sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
  sleep "0.$((RANDOM % 10))"
  kill -STOP "$first" 2>/dev/null || true
  (FAKE_WORKER_SHIFT=2 encode two run --no-progress >"$WORK/second.log" 2>&1) || second=$?
  before=$(published)
  if ((second == 0)) && ! verified; then bad "the second run ended with 0, and its result is damaged"; fi
  kill -CONT "$first" 2>/dev/null || true
  wait "$first" || late=$?
  [[ $late == 0 || $late == 75 ]] || bad "the first run ended with $late"
  [[ $second == 0 || $second == 75 ]] || bad "the second run ended with $second"
  if ((second == 0)) && { ! verified || [[ $(published) != "$before" ]]; }; then
    bad "the first run has changed what the second one had published"
  fi
  (encode two run --no-progress >"$WORK/third.log" 2>&1) || bad "the next run failed"
  verified || bad "verify fails after the next run"
  CODES+=" $late,$second"
}

bad() {
  BAD=$((BAD + 1))
  say "round $ROUND: $*"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then show_help && return; fi
  command -v bindfs >/dev/null || die "this needs bindfs"
  [[ -x $ROOT/build/bin/encode && -x $ROOT/build/bin/fake_worker ]] || die "run scripts/build.sh encode fake_worker first"
  WORK=$(mktemp -d) BAD=0 CODES=
  trap 'for mount in one two; do fusermount -u "$WORK/$mount" || true; done; rm -rf --one-file-system "$WORK"' EXIT
  mkdir "$WORK"/{back,one,two,records}
  seq 1 30000 >"$WORK/texts.txt"
  local mount
  for mount in one two; do
    bindfs "$WORK/back" "$WORK/$mount"
    printf 'semantic: {model: %s, chunk_size: 1000, cache_dir: %s}\ninput: {file: %s}\n' \
      "$ROOT/tests/data/models/bert" "$WORK/$mount/cache" "$WORK/texts.txt" >"$WORK/$mount.yaml"
  done
  export ENCODE_WORKER=$ROOT/build/bin/fake_worker FAKE_WORKER_RECORDS=$WORK/records FAKE_WORKER_SLOW_MS=0
  for ((ROUND = 1; ROUND <= ${1:-20}; ++ROUND)); do one_round; done
  say "exit codes of the first and of the second run:$CODES"
  say "$BAD bad"
  if [[ ${CONTROL:-} ]]; then ((BAD > 0)); else ((BAD == 0)); fi
}

main "$@"
