#!/usr/bin/env bash
# Runs the scripts of the README in a bare Debian 12.
#
# usage: scripts/soak/bare_debian.sh [cuda]
#        scripts/soak/bare_debian.sh quickstart [COMMIT]
#
#   cuda         runs scripts/setup.sh --cuda without an NVIDIA driver, and then build/bin/encode with the libraries that it has
#                installed. LibTorch's CUDA libraries must open; --device cuda must end with device.absent and its hint, and
#                --device auto must use the CPU. It needs a built encode of Debian 12 and 12 GB in TMPDIR; it downloads 2.7 GB
#                and takes about five minutes.
#   quickstart   runs scripts/quickstart.sh of a commit (default: HEAD) and prints the time of each step. It needs 8 GB in
#                TMPDIR. Nothing is shared with this machine: all downloads and all compiled objects are new.
#
# It needs root and debootstrap.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

make_debian() {
  debootstrap --variant=minbase bookworm "$DEBIAN" >"$WORK/debootstrap.log" 2>&1 || die "$(tail -3 "$WORK/debootstrap.log")"
  # Machines that reach the network through a proxy have certificates of their own.
  mkdir -p "$DEBIAN/encode/.deps/models" "$DEBIAN/etc/ssl/host"
  cp /etc/ssl/certs/ca-certificates.crt "$DEBIAN/etc/ssl/host/"
  cp /etc/resolv.conf "$DEBIAN/etc/"
  mount -t proc proc "$DEBIAN/proc"
  mount --bind /dev "$DEBIAN/dev"
}

# in_debian COMMAND...: runs a command in /encode of the bare Debian.
in_debian() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/encode/home LD_LIBRARY_PATH="${LIBRARIES:-}" \
    PIP_CERT=/etc/ssl/host/ca-certificates.crt CURL_CA_BUNDLE=/etc/ssl/host/ca-certificates.crt \
    chroot "$DEBIAN" sh -c 'cd /encode && exec "$@"' sh "$@"
}

encode_on() { # DEVICE: prints the output and the exit code
  in_debian build/bin/encode run --model model --input texts.txt --output "$1.npy" --device "$1" --no-progress 2>&1 ||
    printf 'exit code %s\n' $?
}

check_programs() {
  local found line
  mkdir -p "$DEBIAN/encode/build/bin" "$DEBIAN/encode/build/lib"
  cp "$ROOT"/build/bin/encode{,-worker} "$DEBIAN/encode/build/bin/"
  cp "$ROOT/build/lib/libencode_cuda.so" "$DEBIAN/encode/build/lib/"
  cp -r "$ROOT/tests/data/sentence_transformers/static_embedding" "$DEBIAN/encode/model"
  printf 'one\ntwo\n' >"$DEBIAN/encode/texts.txt"
  LIBRARIES=/encode/.deps/torch/torch/lib
  found=$(encode_on cuda)
  for line in '^error\[device.absent\]' 'found *no NVIDIA driver on this machine' 'hint *use a machine with an NVIDIA GPU' '^exit code 69'; do
    grep -q "$line" <<<"$found" || die "--device cuda: no line '$line' in: $found"
  done
  found=$(in_debian build/bin/encode preflight --device cuda 2>&1 || true)
  grep -q 'found 0 CUDA devices' <<<"$found" || die "LibTorch's CUDA libraries do not open: $found"
  found=$(encode_on auto)
  grep -q 'model loaded on cpu' <<<"$found" || die "--device auto: $found"
}

check_cuda() {
  [[ -x $ROOT/build/bin/encode-worker ]] || die "no build/bin/encode-worker: run scripts/build.sh first"
  git -C "$ROOT" ls-files -z scripts | tar -C "$ROOT" -c --null -T - | tar -C "$DEBIAN/encode" -x
  phase "setup.sh --cuda" in_debian scripts/setup.sh --cuda
  check_programs
  say "downloads and what is on disk:"
  du -sh "$DEBIAN"/encode/{home/.cache/encode,.deps/torch,.deps/cuda}
}

# A bare Debian has no git, so the commit comes as an archive.
check_quickstart() {
  git -C "$ROOT" archive "$1" | tar -C "$DEBIAN/encode" -x
  phase "quickstart.sh" in_debian scripts/quickstart.sh
  du -sh "$DEBIAN"/encode/{home/.cache/encode,.deps,build}
}

main() {
  local work
  case ${1:-cuda} in
    -h | --help) show_help && return ;;
    cuda) work=(check_cuda) ;;
    quickstart) work=(check_quickstart "${2:-HEAD}") ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  [[ $(id -u) == 0 ]] || die "chroot needs root"
  command -v debootstrap >/dev/null || die "no debootstrap: apt-get install debootstrap"
  WORK=$(mktemp -d)
  DEBIAN=$WORK/debian
  trap 'umount -q "$DEBIAN/proc" "$DEBIAN/dev" || true; rm -rf --one-file-system "$WORK"' EXIT
  phase "debootstrap" make_debian
  "${work[@]}"
  print_phases
}

main "$@"
