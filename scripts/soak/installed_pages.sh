#!/usr/bin/env bash
# Follows docs/scale.md and docs/howto/slurm.md on a bare Debian 12 in which encode is installed from its packages.
#
# usage: scripts/soak/installed_pages.sh [--debian DIR] [--packages DIR]
#
# The packages are made (scripts/package.sh deb libtorch), and installed as docs/install.md says. The blocks of the pages run in the
# Debian as tests/scripts/check_pages.py does it. There is no clone: `encode pull` gets the model from a stand-in for the Hugging Face Hub.
# Then Slurm is installed in the Debian too, and a cluster of one node runs what the page can only show: its `encode slurm` command, for 8
# shards, twice; and its batch script, which is stopped once as before a time limit.
#
# --debian names a bare Debian that debootstrap made before; it is copied. --packages names a folder with the two packages. It needs root,
# debootstrap, the demo model (scripts/models.sh), a build and 3 GB in TMPDIR, and takes about six minutes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib/debian.sh
. "$(dirname "$0")/lib/debian.sh"
# shellcheck source-path=SCRIPTDIR source=lib/slurm_cluster.sh
. "$(dirname "$0")/lib/slurm_cluster.sh"

readonly MODEL=sentence-transformers/all-MiniLM-L6-v2 PAGE="$ROOT/docs/howto/slurm.md"
# What lib/slurm_cluster.sh uses: as many processors, GPUs and as much memory as the page's command asks for.
# shellcheck disable=SC2034
readonly NODES=1 NODE_CONF="CPUs=64 RealMemory=300000 Gres=gpu:8" GRES_CONF="NodeName=n1 Name=gpu File=/srv/gpu[0-7]"
# shellcheck disable=SC2034
readonly MORE_CONF="GresTypes=gpu
SlurmdParameters=config_overrides
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE"
PACKAGES="$ROOT/out"
HUB= # the process of the stand-in for the hub

install_encode() {
  cp "$PACKAGES"/encode_*.deb "$PACKAGES"/encode-libtorch_*.deb "$DEBIAN/srv/"
  watched "apt-get update" in_debian apt-get update
  watched "apt install" in_debian sh -c 'apt-get install --yes ./encode_*.deb ./encode-libtorch_*.deb'
}

start_hub() {
  "$PYTHON" -B "$ROOT/tests/hub/server.py" "$DEPS/models/${MODEL#*/}" "$MODEL" >"$WORK/address" &
  HUB=$!
  until [[ -s $WORK/address ]]; do sleep 0.1; done
  HF_ENDPOINT=$(cat "$WORK/address")
  export HF_ENDPOINT no_proxy=127.0.0.1
}

follow_pages() { "$PYTHON" -B "$ROOT/tests/scripts/check_pages.py" --installed "$DEBIAN" "$ROOT/docs/scale.md" "$PAGE"; }

install_slurm_inside() {
  printf '#!/bin/sh\nexit 101\n' >"$DEBIAN/usr/sbin/policy-rc.d"
  chmod +x "$DEBIAN/usr/sbin/policy-rc.d"
  watched "apt install slurm-wlm" in_debian apt-get install --yes --no-install-recommends slurm-wlm munge
}

# in_lab COMMAND...: runs a command of the controller in the folder of the experiment.
in_lab() {
  # shellcheck disable=SC2016  # the inner shell expands it
  at ctl env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root SLURM_CONF="$SLURM_CONF" sh -c 'cd /srv/lab && exec "$@"' sh "$@"
}

queue_is_empty() { [[ -z $(in_lab squeue --noheader) ]]; }
has_saved() { grep -qs saved "$DEBIAN/srv/lab/single/encode.log"; }
is_requeued() { in_lab scontrol show job "$1" | grep -q 'Restarts=1 '; }
# Slurm waits two minutes before it starts a job again; this cuts it short.
queue_is_empty_after() { in_lab scontrol update "JobId=$1" StartTime=now 2>/dev/null; queue_is_empty; }

# shellcheck disable=SC2016  # the shell of the Debian expands it
make_lab() {
  local lab="$DEBIAN/srv/lab" gpu
  mkdir "$lab"
  for gpu in {0..7}; do mknod "$DEBIAN/srv/gpu$gpu" c 1 3; done # Slurm only looks whether they are there
  VARIABLES+=(HF_ENDPOINT="$HF_ENDPOINT" no_proxy=127.0.0.1)
  in_debian sh -c 'ln -s "$(encode pull "$0")" lab/model' "$MODEL"
  seq -f 'This is text number %.0f of a long list.' 1 4000 >"$lab/texts.txt"
  printf 'semantic: {model: model, chunk_size: 250, cache_dir: cache}\ninput: {file: texts.txt}\n' >"$lab/run.yaml"
  sed -n "/^cat >encode.sbatch <<'END'/,/^END/{//!p}" "$PAGE" | sed 's|--config run.yaml|& --cache-dir single|' >"$lab/encode.sbatch"
}

check_many_nodes() {
  local command
  command=$(grep -m1 '^encode slurm --config run.yaml --shards 64' "$PAGE" | sed 's/--shards 64/--shards 8/')
  say "$command"
  in_lab sh -c "$command"
  wait_until 300 "the merge" queue_is_empty
  in_lab encode verify cache/embeddings_embeddings.parts.json | tail -1
  [[ $(in_lab sh -c "$command") == *"nothing to submit"* ]] || die "the same command again has submitted something"
  in_lab encode status --config run.yaml
}

check_batch_script() {
  local job
  job=$(in_lab sbatch --parsable --output=single.out encode.sbatch)
  wait_until 120 "a chunk of the batch script" has_saved
  in_lab scancel --batch --signal=TERM "$job"
  wait_until 60 "the requeue" is_requeued "$job"
  wait_until 240 "the end of the job" queue_is_empty_after "$job"
  grep -h 'exit code' "$DEBIAN/srv/lab/single.out"
  [[ $(grep -c 'exit code 75' "$DEBIAN/srv/lab/single.out") == 1 ]] && grep -q 'exit code 0' "$DEBIAN/srv/lab/single.out"
  in_lab encode status single
}

clean_up() {
  [[ -z $HUB ]] || kill "$HUB"
  HUB=
  [[ -z $STATE ]] || stop_cluster
  remove_debian
}

main() {
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --debian) GIVEN=$2 ;; # lib/debian.sh uses it
      --packages) PACKAGES=$2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
    shift 2
  done
  [[ $(id -u) == 0 ]] || die "chroot and namespaces need root"
  install_slurm
  [[ $PACKAGES != "$ROOT/out" ]] || phase "packages" "$ROOT/scripts/package.sh" deb libtorch
  WORK=$(mktemp -d)
  DEBIAN=$WORK/debian FOLDER=/srv VARIABLES=(HOME=/root DEBIAN_FRONTEND=noninteractive)
  trap clean_up EXIT
  phase "bare Debian" make_debian
  phase "apt install" install_encode
  start_hub
  phase "pages" follow_pages
  phase "Slurm inside" install_slurm_inside
  make_lab
  SYSTEM=$DEBIAN
  phase "cluster" start_cluster
  phase "one experiment on many nodes" check_many_nodes
  phase "the batch script" check_batch_script
  print_phases
}

main "$@"
