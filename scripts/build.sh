#!/usr/bin/env bash
# Builds build/bin/encode and build/bin/encode-worker, the CUDA plugin if there is an nvcc, and the plugin for Parquet if there
# is Arrow C++ (scripts/setup.sh installs both).
#
# usage: scripts/build.sh [--all | --here | --dev | TARGET...]
#   --all    also builds the tests and benchmarks
#   --dev    builds everything with each source on its own (the preset dev, in build-dev/): this finds a source that needs an include
#            or a helper of its neighbour in the usual build
#   --here   compiles the CUDA plugin only for the NVIDIA cards that are here, and leaves it out if there is none. Without this
#            option the plugin runs on every card since Turing (compute capability 7.5). It needs no package of the tests.
#   TARGET   builds these targets of CMake instead
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

# Prints the value of CMAKE_CUDA_ARCHITECTURES for the cards of this machine, for example "89-real;90a-real". Prints nothing if
# it is not known: a container may have a card without nvidia-smi.
card_architectures() {
  command -v nvidia-smi >/dev/null || return 0
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader | tr -d . | sort -un |
    awk '$1 >= 75 { print ($1 == 90 ? "90a" : $1) "-real" }' | paste -sd';'
}

main() {
  local targets=(encode encode-worker encode_cuda encode_arrow_plugin encode_share)
  local cuda=(-DENCODE_CUDA=ON -UCMAKE_CUDA_ARCHITECTURES) tests=ON preset=release build=build architectures
  case ${1:-} in
    -h | --help) show_help && return ;;
    --all) targets=() ;;
    --dev) preset=dev build=build-dev targets=() ;;
    --here)
      tests=OFF
      architectures=$(if has_card; then card_architectures; fi)
      if [[ $architectures ]]; then
        cuda=(-DENCODE_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$architectures")
      elif ! has_card; then
        cuda=(-DENCODE_CUDA=OFF)
        say "CUDA plugin: left out, because this machine has no NVIDIA card"
      fi
      ;;
    '') ;;
    -*) die "unknown option '$1'; see --help" ;;
    *) targets=("$@") ;;
  esac
  [[ -e $(torch_root)/lib/libtorch_cpu.so ]] || die "no LibTorch in $(torch_root): run scripts/setup.sh first"
  cd "$ROOT"
  cmake --preset "$preset" --log-level=WARNING -DTORCH_ROOT="$(torch_root)" -DENCODE_TESTS="$tests" "${cuda[@]}"
  if ((${#targets[@]})); then mapfile -t targets < <(known_targets "${targets[@]}"); fi
  if [[ -t 1 ]]; then # ninja redraws one line then
    NINJA_STATUS='compiled %f of %t in %e s: ' ninja -C "$build" -j "$(job_count)" "${targets[@]}"
  else
    NINJA_STATUS='compiled %f of %t: ' watched build ninja -C "$build" -j "$(job_count)" "${targets[@]}"
  fi
}

main "$@"
