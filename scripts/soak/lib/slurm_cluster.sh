# shellcheck shell=bash
# A real Slurm cluster on this machine, for scripts/soak/slurm*.sh, which source this file after scripts/lib.sh.
#
# Each node is a slurmd with a network and a host name of its own. The caller sets NODES, the number of the nodes, and may set
#   NODE_CONF    what slurm.conf says of the nodes
#   MORE_CONF    lines for slurm.conf
#   GRES_CONF    the content of gres.conf
#   SYSTEM       the folder of another system (chroot), in which the cluster runs with its own Slurm
#   LOCAL_LOCKS  a folder of which each node gets a mount of its own, so that a lock of one node does not exclude another one
# It needs root, and installs slurm-wlm, munge and iproute2 of Debian 12, and bindfs for LOCAL_LOCKS.

STATE= # the folder of the cluster

install_slurm() { install_without_daemons slurm-wlm munge iproute2 ${LOCAL_LOCKS:+bindfs}; }

# The name of the network namespace of a node, or of the controller (ctl).
space() { printf 'encode-slurm-%s-%s' $$ "$1"; }

# at NODE COMMAND...: runs a command in the network and with the host name of a node.
at() {
  local node=$1
  shift
  # shellcheck disable=SC2016  # the inner shell expands it
  nsenter --net="/run/netns/$(space "$node")" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$node" \
    ${SYSTEM:+chroot "$SYSTEM"} "$@"
}

make_networks() {
  local i
  ip netns add "$(space ctl)"
  ip -n "$(space ctl)" link set lo up
  ip -n "$(space ctl)" link add bridge type bridge
  ip -n "$(space ctl)" address add 10.213.0.1/24 dev bridge
  ip -n "$(space ctl)" link set bridge up
  for ((i = 1; i <= NODES; ++i)); do
    ip netns add "$(space "n$i")"
    ip -n "$(space "n$i")" link set lo up
    ip -n "$(space ctl)" link add "to-n$i" type veth peer name eth0 netns "$(space "n$i")"
    ip -n "$(space ctl)" link set "to-n$i" master bridge up
    ip -n "$(space "n$i")" address add "10.213.0.$((100 + i))/24" dev eth0
    ip -n "$(space "n$i")" link set eth0 up
  done
}

write_slurm_conf() {
  cat >"$STATE/slurm.conf" <<CONF
ClusterName=soak
SlurmctldHost=ctl(10.213.0.1)
NodeName=n[1-$NODES] NodeAddr=10.213.0.[101-$((100 + NODES))] ${NODE_CONF:-CPUs=1 RealMemory=1000}
AuthInfo=socket=$STATE/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$STATE/ctl
SlurmdSpoolDir=$STATE/%n
SlurmctldPidFile=$STATE/ctl.pid
SlurmdPidFile=$STATE/%n.pid
SlurmctldLogFile=$STATE/ctl.log
SlurmdLogFile=$STATE/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,batch_sched_delay=0
SlurmdTimeout=10
ReturnToService=2
MailProg=/bin/true
${MORE_CONF:-PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE}
CONF
  printf 'CgroupPlugin=cgroup/v1\n' >"$STATE/cgroup.conf"
  if [[ ${GRES_CONF:-} ]]; then printf '%s\n' "$GRES_CONF" >"$STATE/gres.conf"; fi
}

start_node() { # NODE
  if [[ -z ${LOCAL_LOCKS:-} ]]; then
    at "$1" slurmd -D -N "$1" &>"$STATE/$1.out" &
  else
    # shellcheck disable=SC2016  # the inner shell expands it
    at "$1" unshare --mount sh -c 'bindfs "$1" "$1" && exec slurmd -D -N "$0"' \
      "$1" "$LOCAL_LOCKS" &>"$STATE/$1.out" &
  fi
}

start_cluster() {
  local i
  STATE=$(mktemp -d /tmp/encode-slurm.XXXXXX)
  chmod 755 "$STATE"
  mkdir "$STATE/ctl"
  if [[ ${SYSTEM:-} ]]; then
    mkdir -p "$SYSTEM$STATE"
    mount --bind "$STATE" "$SYSTEM$STATE"
  fi
  head -c 1024 /dev/urandom >"$STATE/munge.key"
  chmod 600 "$STATE/munge.key"
  munged --force --key-file="$STATE/munge.key" --socket="$STATE/munge.socket" --pid-file="$STATE/munged.pid" \
    --log-file="$STATE/munged.log" --seed-file="$STATE/munge.seed"
  make_networks
  write_slurm_conf
  export SLURM_CONF="$STATE/slurm.conf"
  at ctl slurmctld -c -D &>"$STATE/ctl.out" &
  for ((i = 1; i <= NODES; ++i)); do start_node "n$i"; done
  wait_until 60 "$NODES idle nodes" nodes_are_idle
}

nodes_are_idle() { [[ $(at ctl sinfo --noheader --states=idle --format=%n 2>/dev/null | sort -u | wc -l) == "$NODES" ]]; }

# The processes of a network namespace are those of its node, with all jobs.
stop_cluster() {
  local node pid
  for node in ctl $(seq -f 'n%.0f' "$NODES"); do
    ip netns list | grep -q "^$(space "$node")\b" || continue
    for pid in $(ip netns pids "$(space "$node")"); do kill -9 "$pid" 2>/dev/null || true; done
    ip netns delete "$(space "$node")"
  done
  if [[ -n $STATE && -e $STATE/munged.pid ]]; then
    pid=$(cat "$STATE/munged.pid")
    kill "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  fi
  wait
  cd /
  [[ -z ${SYSTEM:-} || -z $STATE ]] || umount "$SYSTEM$STATE"
  rm -rf "$STATE"
  STATE=
}

# wait_until SECONDS WHAT COMMAND...: waits until the command succeeds.
wait_until() {
  local limit=$((SECONDS + $1)) seconds=$1 what=$2
  shift 2
  until "$@"; do
    ((SECONDS < limit)) || die "not within $seconds s: $what; $(at ctl squeue --format='%i %T %r' 2>&1 | tr '\n' ';')"
    sleep 0.2
  done
}
