#!/usr/bin/env bash
# Runs shards, and one experiment without shards, on three clients of an NFS 4.2 server, and lets old attempts wake up after new ones
# have published.
#
# usage: scripts/soak/nfs.sh
#
# Server and clients are in a user-mode Linux, because a kernel of a container often has no NFS. Each client has a network and a host name
# of its own.
#   - A client that encodes a shard keeps a second client from it (75); when it is killed, the second one goes on with its chunks.
#   - One client stands still (SIGSTOP), another one loses its network. A third client encodes their shards and merges all. Then the
#     two go on: no public file changes, `encode verify` accepts the result, and it has the bytes of one run.
#   - A run whose open log was deleted on the server (a stale handle), or whose cache directory was replaced by a copy, begins it again
#     with another worker. A run whose server is started again goes on.
#   - A run without shards loses its network and goes on after another one has published: nothing that is published changes.
#
# It installs user-mode-linux, nfs-kernel-server, nfs-common, rpcbind, iproute2 and kmod of Debian 12. It needs root and
# build/bin/{encode,fake_worker}, and takes about six minutes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

run_machine() {
  local version
  version=$(ls /usr/lib/uml/modules)
  mkdir -p "$WORK/modules/lib/modules"
  cp -r "/usr/lib/uml/modules/$version" "$WORK/modules/lib/modules/"
  depmod -b "$WORK/modules" "$version"
  TMPDIR=$WORK timeout --foreground 900 linux.uml mem=800M root=/dev/root rootfstype=hostfs rootflags=/ ro con=null con0=null,fd:1 quiet \
    init="$ROOT/scripts/soak/lib/nfs_init.sh" ROOT="$ROOT" MODULES="$WORK/modules" LEASE=15 </dev/null 2>"$WORK/err" |
    tee "$WORK/out" || true
  grep -q '^== passed' "$WORK/out" || die "the checks have not passed"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then show_help && return; fi
  [[ $(id -u) == 0 ]] || die "this needs root"
  [[ -x $ROOT/build/bin/encode && -x $ROOT/build/bin/fake_worker ]] || die "run scripts/build.sh encode fake_worker first"
  WORK=$(mktemp -d)
  trap 'rm -rf --one-file-system "$WORK"' EXIT
  phase "packages" install_without_daemons user-mode-linux nfs-kernel-server nfs-common rpcbind iproute2 kmod
  phase "checks" run_machine
  print_phases
}

main "$@"
