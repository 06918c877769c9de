#!/usr/bin/env bash
# Builds build/bin/encode and build/bin/encode-worker, the CUDA plugin if there is an nvcc, and the plugin for Parquet if there
# is Arrow C++ (scripts/setup.sh installs both).
#
# usage: scripts/build.sh [--all]
#   --all    also builds the tests and benchmarks
#
# TORCH_ROOT names the LibTorch to build against, and ARROW_ROOT the pyarrow. The defaults are those that scripts/setup.sh puts
# below .deps.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Prints the given targets that this configuration has. The target encode_cuda does not exist if
# there is no nvcc, and encode_arrow_plugin does not if there is no Arrow C++.
known_targets() {
  local all name
  all=$(ninja -C build -t targets all)
  for name in "$@"; do
    if grep -q "^$name: phony" <<<"$all"; then printf '%s\n' "$name"; fi
  done
}

main() {
  local targets=(encode encode-worker encode_cuda encode_arrow_plugin encode_share)
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
