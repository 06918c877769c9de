#!/bin/bash
# The init process of the user-mode Linux that scripts/soak/nfs.sh starts: a server of NFS 4.2 and three clients, each with a network
# and a host name of its own, on which `encode` runs. Prints "== passed" at the end if all checks have passed. Its environment has
# ROOT (the repository), MODULES (a folder with lib/modules) and LEASE (seconds after which the server frees the locks of a client
# that is lost).
set -uo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
export ENCODE=$ROOT/build/bin/encode ENCODE_WORKER=$ROOT/build/bin/fake_worker
readonly CLIENTS=3 CHUNKS=40 ROWS=160 # of a shard
readonly LAB=lab                      # the folder of the experiment in the exported folder

die() {
  echo "FAIL: $*"
  sync
  poweroff -f
  sleep 60
}
say() { echo "   $(cut -d. -f1 /proc/uptime) s: $*"; }

mount_basics() {
  mount -t proc proc /proc
  [[ -e /dev/fd ]] || ln -s /proc/self/fd /dev/fd
  mount -t sysfs sys /sys
  mount -t tmpfs tmpfs /run
  mount -t tmpfs tmpfs /mnt
  mount -t tmpfs tmpfs /var/lib
  mkdir -p /run/netns /var/lib/nfs/{v4recovery,rpc_pipefs,sm,sm.bak} /mnt/{export,c1,c2,c3}
  touch /var/lib/nfs/{etab,rmtab,state}
}

load_modules() {
  local name
  printf '#!/bin/sh\nexec modprobe -d %s -S %s "$@"\n' "$MODULES" "$(uname -r)" >/run/modprobe
  chmod +x /run/modprobe
  echo /run/modprobe >/proc/sys/kernel/modprobe
  for name in nfsd nfs nfsv4 veth; do /run/modprobe "$name" || die "no module $name"; done
}

start_server() {
  local i
  ip link set lo up
  for ((i = 1; i <= CLIENTS; ++i)); do
    ip netns add "c$i"
    ip -n "c$i" link set lo up
    ip link add "v$i" type veth peer name eth0 netns "c$i"
    ip address add "10.9.$i.1/24" dev "v$i"
    ip link set "v$i" up
    ip -n "c$i" address add "10.9.$i.2/24" dev eth0
    ip -n "c$i" link set eth0 up
  done
  mount -t tmpfs tmpfs /mnt/export
  mount -t nfsd nfsd /proc/fs/nfsd
  mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
  echo "$LEASE" >/proc/fs/nfsd/nfsv4leasetime
  echo "$LEASE" >/proc/fs/nfsd/nfsv4gracetime
  rpcbind -w || rpcbind
  exportfs -o rw,no_root_squash,fsid=0,no_subtree_check,sync '*:/mnt/export'
  rpc.nfsd 4
  rpc.mountd
  sleep $((LEASE + 2)) # the server gives no locks before
}

mount_clients() {
  local i
  for ((i = 1; i <= CLIENTS; ++i)); do
    on "$i" mount -t nfs -o "vers=4.2,hard" "10.9.$i.1:/" "/mnt/c$i" || die "client $i cannot mount"
  done
  grep ' /mnt/c1 ' /proc/mounts | cut -c1-120
}

# on CLIENT COMMAND...: runs a command with the network and the host name of a client, in its view of the experiment if it is there.
on() {
  local client=$1
  shift
  # shellcheck disable=SC2016  # the inner shell expands it
  nsenter --net="/run/netns/c$client" unshare --uts sh -c \
    'hostname "client$0"; [ ! -d "/mnt/c$0/lab" ] || cd "/mnt/c$0/lab"; exec "$@"' "$client" "$@"
}

# encode_on CLIENT ARGUMENTS...: the output is in /run/out.CLIENT.
encode_on() {
  local client=$1
  shift
  on "$client" "$ENCODE" "$@" >"/run/out.$client" 2>&1
}

# shard CLIENT SHARD [CACHE]
shard() { encode_on "$1" run --config run.yaml --no-progress --shard "$2/4" --cache-dir "${3:-cache}"; }

# expect CODE WHAT COMMAND...
expect() {
  local code=$1 what=$2 found=0
  shift 2
  "$@" || found=$?
  [[ $found == "$code" ]] || die "$what: exit code $found and not $code: $(tail -n 12 /run/out.* 2>/dev/null)"
  say "$what: exit code $found"
}

expect_either() {
  local one=$1 other=$2 what=$3 found=0
  shift 3
  "$@" || found=$?
  [[ $found == "$one" || $found == "$other" ]] || die "$what: exit code $found: $(tail -n 12 /run/out.*)"
  say "$what: exit code $found"
}

chunks() { cat /mnt/export/$LAB/"${2:-cache}"/shards/0000"$1"/attempt-*/encoded_chunks 2>/dev/null | wc -l; }

wait_for_chunks() { # SHARD NUMBER [CACHE]
  local i
  for ((i = 0; i < 600; ++i)); do
    (($(chunks "$1" "${3:-cache}") >= $2)) && return
    sleep 0.1
  done
  die "shard $1 has $(chunks "$1" "${3:-cache}") chunks"
}

# processes_of CLIENT: prints the supervisor and the worker that run on a client.
processes_of() {
  local pid
  for pid in $(ip netns pids "c$1"); do
    if grep -qaE "^($ENCODE|$ENCODE_WORKER)" "/proc/$pid/cmdline"; then echo "$pid"; fi
  done
}

# shellcheck disable=SC2046  # numbers
signal_on() { kill "-$2" $(processes_of "$1") || true; } # CLIENT SIGNAL; one of them may end with the other

# The hashes of all files with public names, as the server has them.
public_files() { (cd /mnt/export/$LAB/cache && sha256sum -- *_embeddings*); }

make_experiment() {
  mkdir /mnt/export/$LAB
  cd /mnt/export/$LAB || die "no folder"
  seq -f 'row %.0f' $((4 * ROWS)) >texts.txt
  printf 'semantic: {model: %s, chunk_size: 4, cache_dir: cache}\ninput: {file: texts.txt}\n' "$ROOT/tests/data/models/bert" >run.yaml
  expect 0 "the plan" encode_on 2 shards plan --config run.yaml --shards 4
  cd /
}

check_locks() {
  shard 1 0 &
  wait_for_chunks 0 5
  expect 75 "client 2, while client 1 encodes the shard" shard 2 0
  grep -q 'store.locked' /run/out.2 || die "$(cat /run/out.2)"
  signal_on 1 KILL
  wait
  expect 0 "client 2, after the processes of client 1 were killed" shard 2 0
  (($(chunks 0) <= CHUNKS)) || die "$(chunks 0) chunks were encoded"
}

# Client 1 stands still, and client 3 loses its network.
check_old_writers() {
  local before second one=0 three=0
  shard 1 1 &
  one=$!
  shard 3 2 &
  three=$!
  wait_for_chunks 1 5
  wait_for_chunks 2 5
  signal_on 1 STOP
  ip link set v3 down
  second=$SECONDS
  expect 75 "client 2, while client 1 stands still" shard 2 1
  rm /mnt/c2/$LAB/cache/shards/00001/LOCK
  expect 0 "client 2, after the lock of client 1 was deleted" shard 2 1
  until shard 2 2; do
    ((SECONDS - second < 120)) || die "client 2 does not get the lock of client 3: $(cat /run/out.2)"
    sleep 1
  done
  say "client 2 has encoded the shard of client 3 $((SECONDS - second)) s after it had lost its network"
  expect 0 "client 2, the last shard" shard 2 3
  expect 0 "merge" encode_on 2 merge --config run.yaml
  before=$(public_files)
  signal_on 1 CONT
  ip link set v3 up
  wait $one
  say "client 1, which stood still: exit code $? $(grep -aoE '^error[^ ]*' /run/out.1)"
  wait $three
  say "client 3, which had no network: exit code $? $(grep -aoE '^error[^ ]*' /run/out.3)"
  [[ $(public_files) == "$before" ]] || die "an old writer has changed a public file"
  check_result
  say "the old writers have changed no public file"
}

check_result() {
  local folder=/run/whole.npy
  expect 0 "verify" encode_on 2 verify cache/embeddings_embeddings.parts.json
  expect 0 "merge once more" encode_on 2 merge --config run.yaml
  (cd /mnt/export/$LAB && FAKE_WORKER_SLOW_MS=0 "$ENCODE" run --config run.yaml --cache-dir /run/whole --output $folder --quiet) || die "one run"
  cmp <(tail --bytes=+129 $folder) <(for part in "/mnt/export/$LAB/cache/embeddings_embeddings"-*.npy; do tail --bytes=+129 "$part"; done) ||
    die "the parts have other bytes than one run"
}

# The server forgets the files that a run has open.
check_stale() {
  local run
  expect 0 "a plan for stale handles" encode_on 2 shards plan --config run.yaml --shards 4 --cache-dir stale
  shard 1 0 stale &
  run=$!
  wait_for_chunks 0 5 stale
  rm /mnt/export/$LAB/stale/shards/00000/attempt-*/*_chunks/chunks.log
  expect 0 "client 1, whose open log was deleted on the server: another worker begins it again" wait $run
  grep -q 'Stale file handle' /run/out.1 || die "$(cat /run/out.1)"
  FAKE_WORKER_SLOW_MS=1000 shard 1 1 "/mnt/c1/$LAB/stale" &
  run=$!
  wait_for_chunks 1 5 stale
  signal_on 1 STOP
  cp -a /mnt/export/$LAB/stale /mnt/export/$LAB/copy
  mv /mnt/export/$LAB/stale /mnt/export/$LAB/old
  mv /mnt/export/$LAB/copy /mnt/export/$LAB/stale
  rm -r /mnt/export/$LAB/old
  signal_on 1 CONT
  expect_either 0 75 "client 1, whose cache directory was restored from a copy on the server" wait $run
  grep -qE 'Stale file handle|No such file or directory' /run/out.1 || die "$(cat /run/out.1)"
  expect 0 "client 1, the same command" shard 1 1 "/mnt/c1/$LAB/stale"
  expect 0 "verify of both shards" encode_on 2 verify /mnt/c2/$LAB/stale/shards/0000[01]/attempt-*/*_embeddings.npy
}

# The server starts again and has forgotten all open files and locks; the clients tell it.
check_restart() {
  local run
  shard 1 2 stale &
  run=$!
  wait_for_chunks 2 5 stale
  rpc.nfsd 0
  rpc.nfsd 4
  expect 0 "client 1, whose server was started again" wait $run
}

# whole CLIENT: a run without shards. Each client gives other vectors.
whole() { FAKE_WORKER_SLOW_MS=100 FAKE_WORKER_SHIFT=$1 encode_on "$1" run --config run.yaml --no-progress --cache-dir whole; }

whole_files() { (cd /mnt/export/$LAB/whole && sha256sum -- *_embeddings*); }

# A run without shards loses its network, and goes on after another one has published.
check_whole_runs() {
  local i before second three
  export FAKE_WORKER_RECORDS=/run/records
  mkdir -p $FAKE_WORKER_RECORDS
  whole 3 &
  three=$!
  for ((i = 0; i < 600; ++i)); do
    if [[ -e $FAKE_WORKER_RECORDS/encoded_chunks ]] && (($(wc -l <$FAKE_WORKER_RECORDS/encoded_chunks) >= 5)); then break; fi
    sleep 0.1
  done
  expect 75 "client 2, while client 3 encodes without shards" whole 2
  ip link set v3 down
  second=$SECONDS
  until whole 2; do
    ((SECONDS - second < 150)) || die "client 2 does not finish: $(cat /run/out.2)"
    sleep 1
  done
  grep -q 'is on NFS' /run/out.2 || die "client 2 does not work in an attempt: $(cat /run/out.2)"
  say "client 2 has encoded and published $((SECONDS - second)) s after client 3 had lost its network"
  expect 0 "verify" encode_on 2 verify --config run.yaml --cache-dir whole
  before=$(whole_files)
  ip link set v3 up
  expect_either 0 75 "client 3, which had no network" wait $three
  say "client 3: $(grep -aoE '^error[^ ]*|nother run has published[^;]*' /run/out.3 | tail -1)"
  [[ $(whole_files) == "$before" ]] || die "client 3 has changed what client 2 had published"
  expect 0 "verify, after client 3 has ended" encode_on 2 verify --config run.yaml --cache-dir whole
  [[ ! -e /mnt/export/$LAB/whole/attempts ]] || say "left: $(ls /mnt/export/$LAB/whole/attempts/*)"
  unset FAKE_WORKER_RECORDS
}

mount_basics
load_modules
start_server
mount_clients
export FAKE_WORKER_SLOW_MS=300
make_experiment
check_stale
check_restart
check_locks
check_old_writers
check_whole_runs
echo "== passed"
sync
poweroff -f
sleep 60
