#!/usr/bin/env bash
# Breaks 30 things at random moments while a real Slurm cluster encodes an experiment in 40 shards.
#
# usage: scripts/soak/slurm_faults.sh [--faults N] [--seed N] [CHECK...]      the default is all checks
#
#   shared   all nodes see the locks of each other, as on NFS 4
#   local    each node sees only its own locks, as on Lustre with localflock: each has a mount of its own (bindfs)
#   kinds    one node computes like a processor with AVX2 alone; the merge says so, and strict_numerics refuses it
#
# The faults: SIGKILL of a worker and of a supervisor, SIGTERM, scontrol requeue, preemption, a full disk, and a third of them nodes that
# lose their network while their processes stand still, until the second attempt has published or until everything is merged. Slurm's
# two minutes before a task starts again are cut short, so that faults and second attempts overlap. Then
#   - only tasks that were hit have started again, and no chunk was encoded twice except beside such a node;
#   - a second `encode slurm` submits what the full disk has left, and a third one nothing;
#   - `encode verify` accepts the merged matrices, and they have the bytes of one run;
#   - attempts that publish after the merge change no public file.
#
# It needs root, 4 GB of memory, and build/bin/{encode,encode-worker,fake_worker}; each check takes about five minutes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib/slurm_cluster.sh
. "$(dirname "$0")/lib/slurm_cluster.sh"

export ENCODE="$ROOT/build/bin/encode" NODES=14
readonly SHARDS=40 CHUNKS=80 # in a shard, of both streams
readonly FULL_SHARD=2        # it has a file system of its own
FAULTS=30 SEED=34
LAB= # the folder of the experiment

make_experiment() { # MODEL
  local stream
  LAB=$(mktemp -d /tmp/encode-slurm-lab.XXXXXX)
  cd "$LAB"
  for stream in tc commit; do seq -f "{\"text\": \"$stream %.0f\"}" $((SHARDS * CHUNKS * 2)) >"$stream.jsonl"; done
  cat >run.yaml <<CONF
semantic: {model: $ROOT/tests/data/$1, chunk_size: 4, cache_dir: cache}
data: {streams: {tc: {field: text}, commit: {field: text}}, splits: {train: {tc: tc.jsonl, commit: commit.jsonl}}}
output: {combine: [tc, commit]}
CONF
}

clean_up() {
  stop_cluster
  [[ -n $LAB ]] || return 0
  umount -q "$LAB/cache/shards/"* || true
  rm -rf --one-file-system "$LAB"
  LAB=
}

check_faults() { # shared|local
  local full options=()
  MORE_CONF='PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE GraceTime=5
PartitionName=high Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF'
  export ENCODE_WORKER="$ROOT/build/bin/fake_worker" FAKE_WORKER_SLOW_MS=350
  make_experiment models/bert
  "$ENCODE" shards plan --config run.yaml --shards "$SHARDS" --quiet
  full="cache/shards/$(printf %05d "$FULL_SHARD")"
  cp "$full/scan.json" .
  mount -t tmpfs -o size=8m full "$full"
  mv scan.json "$full/"
  if [[ $1 == local ]]; then LOCAL_LOCKS=$LAB; else options=(--delete-locks); fi
  phase "cluster" start_cluster
  phase "faults, $1 locks" "$PYTHON" "$ROOT/scripts/soak/lib/slurm_faults.py" "$(space '')" --faults "$FAULTS" --seed "$SEED" \
    "${options[@]}"
  LOCAL_LOCKS=
  clean_up
}

# A prolog of Slurm sets a variable in the tasks of one node.
check_kinds() {
  local code=0 expected
  make_experiment sentence_transformers/every_module
  # shellcheck disable=SC2016  # the prolog expands it
  printf '#!/bin/sh\n[ "$SLURMD_NODENAME" != n2 ] || echo export ENCODE_CPU_CAPABILITY=avx2\n' >prolog
  chmod +x prolog
  MORE_CONF="PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
TaskProlog=$LAB/prolog"
  unset ENCODE_WORKER FAKE_WORKER_SLOW_MS
  NODES=3 SHARDS_OF_KINDS=12
  phase "cluster" start_cluster
  at ctl "$ENCODE" slurm --config run.yaml --shards "$SHARDS_OF_KINDS" --at-once "$NODES" -- --time=10 | cat
  wait_until 300 "the merge" queue_is_empty
  [[ -e cache/train_combined_embeddings.parts.json ]] || die "no merge: $(tail -n 5 cache/slurm/*.out)"
  expected=$(grep -l ' on n2,' cache/slurm/shards-*.out | wc -l)
  ((expected > 0 && expected < SHARDS_OF_KINDS)) || die "n2 has encoded $expected shards"
  "$PYTHON" "$ROOT/scripts/soak/lib/slurm_kinds.py" cache "$expected"
  "$ENCODE" verify cache/*.parts.json >verified || die "$(cat verified)"
  sha256sum cache/*_embeddings* >before
  "$ENCODE" merge --config run.yaml --set hardware.strict_numerics=true &>refused || code=$?
  [[ $code == 78 ]] || die "merge with strict_numerics ended with $code: $(cat refused)"
  grep -q 'shards were encoded on devices of different kinds' refused || die "$(cat refused)"
  sha256sum --check --quiet before || die "a merge that was refused has changed a file"
  cat refused
  [[ $(at ctl "$ENCODE" slurm --config run.yaml) == *"nothing to submit"* ]] || die "a repeated call has submitted something"
  say "$expected of $SHARDS_OF_KINDS shards were encoded with AVX2 alone; strict_numerics refuses the merge (78)"
  clean_up
}

queue_is_empty() { [[ -z $(at ctl squeue --noheader) ]]; }

main() {
  local check
  while [[ ${1:-} == -* ]]; do
    case $1 in
      -h | --help) show_help && return ;;
      --faults) FAULTS=$2 ;;
      --seed) SEED=$2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
    shift 2
  done
  [[ $(id -u) == 0 ]] || die "namespaces need root"
  [[ -x $ENCODE && -x $ROOT/build/bin/encode-worker && -x $ROOT/build/bin/fake_worker ]] ||
    die "run scripts/build.sh encode encode-worker fake_worker first"
  (($#)) || set -- shared local kinds
  trap clean_up EXIT
  LOCAL_LOCKS=/ phase "packages" install_slurm
  for check in "$@"; do
    case $check in
      shared | local) check_faults "$check" ;;
      kinds) check_kinds ;;
      *) die "unknown check '$check'; see --help" ;;
    esac
  done
  print_phases
}

main "$@"
