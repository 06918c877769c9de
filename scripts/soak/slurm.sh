#!/usr/bin/env bash
# Runs `encode slurm` on a real Slurm cluster of three nodes, which this script makes on this machine, and breaks things meanwhile.
#
# usage: scripts/soak/slurm.sh
#
# Eight shards of two streams are encoded by the tests' worker, which
# has no model and is slow. MaxArraySize is 6, so there are two arrays. Meanwhile
#   - the process of shard 0 is killed with SIGKILL;
#   - the node of shard 1 loses its network, while its processes live on;
#   - Slurm stops shard 5, whose job id is that of the whole array, with SIGTERM as before a time limit.
# Only these three shards may start again, no chunk may be encoded twice, and the merged rows must have the bytes of one run. Then a
# call with nothing left to do, calls while jobs are in the queue, and a call of which Slurm refuses the second job are checked.
#
# It needs root and build/bin/{encode,fake_worker}, installs slurm-wlm, munge and iproute2 of Debian 12, and takes about five minutes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib/slurm_cluster.sh
. "$(dirname "$0")/lib/slurm_cluster.sh"

readonly ENCODE="$ROOT/build/bin/encode"
readonly NODES=3 SHARDS=8 CHUNKS=40 # in a shard, of both streams
# shellcheck disable=SC2034  # lib/slurm_cluster.sh uses it
readonly MORE_CONF="PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
MaxArraySize=6"
LAB=                                # the folder that has the folder of the experiment

make_experiment() {
  local stream
  LAB=$(mktemp -d /tmp/encode-slurm-lab.XXXXXX)
  mkdir "$LAB/it's a lab"
  cd "$LAB/it's a lab"
  for stream in tc commit; do seq -f "{\"text\": \"$stream %.0f\"}" $((SHARDS * CHUNKS * 2)) >"$stream.jsonl"; done
  cat >run.yaml <<CONF
semantic: {model: $ROOT/tests/data/models/bert, chunk_size: 4, cache_dir: cache}
data: {streams: {tc: {field: text}, commit: {field: text}}, splits: {train: {tc: tc.jsonl, commit: commit.jsonl}}}
output: {combine: [tc, commit]}
CONF
  export ENCODE_WORKER="$ROOT/build/bin/fake_worker"
}

encode_slurm() { at ctl "$ENCODE" slurm --config run.yaml "$@"; }

# submit ARGUMENTS...: calls encode slurm and prints the numbers of the jobs.
submit() { encode_slurm --json "$@" | "$PYTHON" -c 'import json, sys
print(*[job["job"] for job in map(json.loads, sys.stdin) if job["event"] == "slurm_job"])'; }

# Succeeds if none of the jobs is in the queue.
have_ended() { ! at ctl squeue --noheader --jobs="$(IFS=,; echo "$*")" 2>/dev/null | grep -q .; }

# chunks SHARD: prints how many chunks the attempts at a shard have encoded.
chunks() { cat cache/shards/"$(printf %05d "$1")"/attempt-*/encoded_chunks 2>/dev/null | wc -l; }
has_chunks() { (($(chunks "$1") >= 4)); }

# process_of SHARD: prints the process of encode that encodes a shard.
process_of() {
  local node pid
  for node in $(seq -f 'n%.0f' "$NODES"); do
    for pid in $(ip netns pids "$(space "$node")"); do
      if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q "^$ENCODE run .*--shard $1/$SHARDS"; then echo "$pid"; fi
    done
  done
}

starts() { cat cache/slurm/shards-*.out | grep -c "^shard $1 on " || true; }

break_things() { # ARRAY: the job id of the first array
  local node
  wait_until 60 "chunks of shard 0" has_chunks 0
  wait_until 60 "chunks of shard 1" has_chunks 1
  kill -9 "$(process_of 0)"
  node=$(at ctl squeue --noheader --jobs="${1}_1" --format=%N)
  ip -n "$(space ctl)" link set "to-$node" down
  say "shard 0 was killed, and the network of $node was cut while it encoded shard 1"
  encode_slurm >/dev/null 2>"$STATE/err" && die "a second call has submitted jobs" || [[ $? == 75 ]] || die "$(cat "$STATE/err")"
  wait_until 120 "the part of the attempt that Slurm has lost" test -e cache/shards/00001/part.json
  say "the attempt at shard 1 has published its part without a network; starts of the shard: $(starts 1)"
  wait_until 120 "chunks of shard 5" has_chunks 5
  [[ $(at ctl squeue --noheader --jobs="${1}_5" --format=%A) == "$1" ]] || die "shard 5 does not have the job id of the array"
  at ctl scancel --batch --signal=TERM "${1}_5"
  say "shard 5, whose job id is that of the array, was told to stop"
}

check_result() {
  local shard expected name
  for ((shard = 0; shard < SHARDS; ++shard)); do
    expected=1
    case $shard in 0 | 1 | 5) expected=2 ;; esac
    [[ $(starts "$shard") == "$expected" ]] || die "shard $shard was started $(starts "$shard") times and not $expected times"
    [[ $(chunks "$shard") == "$CHUNKS" ]] || die "shard $shard: $(chunks "$shard") chunks were encoded and not $CHUNKS"
  done
  for name in tc commit combined; do
    "$ENCODE" verify "cache/train_${name}_embeddings.parts.json" >"$STATE/verify" || die "$(cat "$STATE/verify")"
  done
  "$ENCODE" run --config run.yaml --cache-dir whole --quiet
  for name in tc commit combined; do
    cmp <(tail --bytes=+129 "whole/train_${name}_embeddings.npy") \
      <(for part in "cache/train_${name}_embeddings"-*.npy; do tail --bytes=+129 "$part"; done)
  done
  say "shards 0, 1 and 5 were started twice and the others once; $((SHARDS * CHUNKS)) chunks, none twice; all bytes are equal"
}

check_later_calls() {
  local jobs
  [[ $(encode_slurm) == *"nothing to submit"* ]] || die "a call with nothing to do has submitted something"
  rm cache/shards/0000[37]/part.json
  read -ra jobs < <(submit --at-once 1)
  ((${#jobs[@]} == 3)) || die "two arrays and a merge were expected: ${jobs[*]}"
  wait_until 120 "the second merge" have_ended "${jobs[@]}"
  [[ $(encode_slurm) == *"nothing to submit"* ]] || die "the shards 3 and 7 are not encoded and merged again"
  if encode_slurm --cache-dir refused --shards 2 --cpu-option=--partition=all -- --partition=nosuch &>"$STATE/err"; then
    die "a partition that does not exist was accepted"
  fi
  grep -q 'has cancelled its jobs' "$STATE/err" || die "$(cat "$STATE/err")"
  wait_until 30 "an empty queue" test -z "$(at ctl squeue --noheader)"
  say "nothing was submitted twice, two shards were encoded again, and a refusal has left no job"
}

# A shard that fails for good must not leave a merge that waits for ever.
check_failure() {
  local jobs
  export FAKE_WORKER=exit78:0:9
  read -ra jobs < <(submit --cache-dir failing --shards 2)
  wait_until 120 "the end of jobs that fail" have_ended "${jobs[@]}"
  unset FAKE_WORKER
  [[ ! -e failing/train_tc_embeddings.parts.json ]] || die "shards that failed were merged"
  grep -q 'exit code 78' failing/slurm/shards-*.out || die "$(cat failing/slurm/shards-*.out)"
  say "after a shard that fails, the merge leaves the queue"
}

main() {
  local jobs
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then show_help && return; fi
  [[ $(id -u) == 0 ]] || die "namespaces need root"
  [[ -x $ENCODE && -x $ROOT/build/bin/fake_worker ]] || die "run scripts/build.sh encode fake_worker first"
  trap 'stop_cluster; rm -rf "$LAB"' EXIT
  phase "packages" install_slurm
  phase "cluster" start_cluster
  make_experiment
  export FAKE_WORKER_SLOW_MS=500
  read -ra jobs < <(submit --shards "$SHARDS" --at-once "$NODES" -- --time=10)
  ((${#jobs[@]} == 4)) || die "a plan, two arrays and a merge were expected: ${jobs[*]}"
  phase "faults" break_things "${jobs[1]}"
  phase "the rest" wait_until 600 "the merge" have_ended "${jobs[@]}"
  unset FAKE_WORKER_SLOW_MS
  phase "result" check_result
  phase "later calls" check_later_calls
  phase "failure" check_failure
  print_phases
}

main "$@"
