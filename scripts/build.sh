#!/usr/bin/env bash
# Builds build/bin/encode and build/bin/encode-worker, and the CUDA plugin if there is an nvcc.
#
# usage: scripts/build.sh [--all]
#   --all    also builds the tests and benchmarks
#
# TORCH_ROOT names the LibTorch to build against. The default is the LibTorch that scripts/setup.sh puts below .deps.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Prints the given targets that this configuration has. The target encode_cuda does not exist if
# there is no nvcc.
known_targets() {
  local all name
  all=$(ninja -C build -t targets all)
  for name in "$@"; do
    if grep -q "^$name: phony" <<<"$all"; then printf '%s\n' "$name"; fi
  done
}

main() {
  local targets=(encode encode-worker encode_cuda)
  case ${1:-} in
    -h | --help) show_help && return ;;
    --all) targets=() ;;
    '') ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  [[ -e $(torch_root)/lib/libtorch_cpu.so ]] || die "no LibTorch in $(torch_root): run scripts/setup.sh first"
  cd "$ROOT"
  # Paths in the compiler cache are relative to the root of the clone, so that several clones share objects.
  export CCACHE_BASEDIR="$ROOT" CCACHE_NOHASHDIR=1
  cmake --preset release --log-level=WARNING -DTORCH_ROOT="$(torch_root)"
  if ((${#targets[@]})); then mapfile -t targets < <(known_targets "${targets[@]}"); fi
  ninja -C build -j "$(job_count)" "${targets[@]}"
}

main "$@"
