#!/usr/bin/env bash
# Runs all reference models on LibTorch's real CUDA library without a GPU: NVIDIA's libraries below it are the stand-in of
# tests/cuda/runtime_stand_in, in which kernels do nothing. Each model runs as float32, bfloat16, float16 and fp8 on devices of
# six compute capabilities. The kernels, the waits and the requests for memory of a batch must be those of docs/cuda-kernels.md.
#
# usage: scripts/soak/cuda_runtime.sh [--write]
#   --write   writes docs/cuda-kernels.md anew, after a change that has a reason
#
# It needs the wheel of LibTorch with CUDA (530 MB), which setup.sh has in its cache, and nvcc. It takes about ten minutes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CAPABILITIES=(75 80 89 90 100 120)
TYPES=float32,bfloat16,float16,fp8

# Prints a folder with the lib/ of LibTorch's wheel with CUDA. It keeps the folder in the cache.
cuda_torch() {
  local wheels wheel folder
  wheels=$(fetch_wheels "$ROOT/scripts/deps/torch-cpu.txt")
  wheel=$(head -1 <<<"$wheels") # the first pin is torch; its wheel has the CUDA libraries too
  folder=$CACHE/torch-cuda/$(basename "$(dirname "$wheel")")
  if [[ ! -d $folder ]]; then
    rm -rf "$folder.partial"
    mkdir -p "$folder.partial"
    unzip -q -o "$wheel" 'torch/lib/*.so*' -x '*libtorch_python*' -d "$folder.partial"
    mv "$folder.partial" "$folder"
  fi
  printf '%s\n' "$folder/torch"
}

build_programs() {
  cd "$ROOT"
  cmake --preset release --log-level=WARNING -DTORCH_ROOT="$(torch_root)"
  grep -q '^encode_launches: phony' <(ninja -C build -t targets all) || die "this build has no nvcc: run scripts/setup.sh"
  ninja -C build -j "$(job_count)" encode_cuda encode_launches runtime_stand_in_{cuda,cudart,cublas,cublasLt}
}

main() {
  local action=--check torch capability
  case ${1:-} in
    -h | --help) show_help && return ;;
    --write) action=--write ;;
    '') ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  torch=$(cuda_torch)
  phase "building the stand-in" build_programs
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
  "$PYTHON" "$ROOT/scripts/gpu/runtime_stand_in.py" --archives "$ROOT/build/runtime_stand_in" --torch "$torch" \
    --user "$ROOT/build/lib/libencode_cuda.so" --output "$WORK/cuda"
  # The program finds its kernels in the folder lib/ beside its own folder.
  mkdir "$WORK/bin" "$WORK/lib"
  cp "$ROOT/build/runtime_stand_in/bin/encode_launches" "$WORK/bin/"
  ln -s "$ROOT/build/lib/libencode_cuda.so" "$WORK/lib/"
  for capability in "${CAPABILITIES[@]}"; do
    phase "compute capability ${capability:0:-1}.${capability: -1}" env LD_LIBRARY_PATH="$WORK/cuda/torch/lib" \
      RUNTIME_STAND_IN_CAPABILITY="$capability" RUNTIME_STAND_IN_LOG="$WORK/record.$capability" \
      "$WORK/bin/encode_launches" "$TYPES" "$ROOT"/tests/data/models/*
  done
  "$PYTHON" "$ROOT/scripts/gpu/kernel_table.py" "$action" "$ROOT/docs/cuda-kernels.md" "$WORK"/record.*
  print_phases
}

main "$@"
