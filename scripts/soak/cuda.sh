#!/usr/bin/env bash
# Runs encode on LibTorch's real CUDA library without a GPU: NVIDIA's libraries below it are the stand-in of
# tests/cuda/runtime_stand_in, in which kernels do nothing.
#
# usage: scripts/soak/cuda.sh                     both
#        scripts/soak/cuda.sh runtime [--write]   about ten minutes
#        scripts/soak/cuda.sh gpu_check           about fifteen minutes on two cores
#   --write   writes docs/cuda-kernels.md anew, after a change that has a reason
#
# `runtime` runs all reference models. Each model runs as float32, bfloat16, float16 and fp8 on devices of six compute
# capabilities. The kernels, the waits and the requests for memory of a batch must be those of docs/cuda-kernels.md. It needs the
# wheel of LibTorch with CUDA (530 MB), which setup.sh has in its cache, and nvcc.
#
# `gpu_check` runs the calls of scripts/gpu_check.sh that docs/gpu.md plans, also on the stand-in for the driver's NVML
# (tests/run_record/nvml), with --quick. The checks of numbers and of their speed fail; all other checks must pass: models are made,
# saved, loaded and encoded, chunks are resumed, memory is given back, and the peer runs. The peer, sentence-transformers, runs in
# the environment that parity.sh makes, or in ENCODE_REFERENCE_PYTHON. It takes 3 GB of memory and 10 GB in TMPDIR.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CAPABILITIES=(75 80 89 90 100 120)
TYPES=float32,bfloat16,float16,fp8
# The checks of numbers. Each must end with figures and fail: all vectors of encode are equal on the stand-in, the peer's vectors
# are zero, and CUPTI sees no kernel.
CHECKS_OF_NUMBERS=(gpu_kernels_test cuda_test memcheck racecheck {bert-tiny,qwen2-tiny,minilm,bert-base}' float32'
  {bert-tiny,qwen2-tiny,minilm,bert-base,qwen2-1.5b}' bfloat16' {minilm,bert-base,qwen2-1.5b}' fp8'
  'minilm 30' 'minilm 128' 'bert-base 512' 'qwen2-1.5b 30' 'qwen2-1.5b 512')
# The check that compares times with the time of kernels. It may fail, but only because of a percentage.
CHECK_OF_TIMES='chunks and batch_tokens'
TOO_SLOW='^FAIL: .* %$'
# What the report says in place of figures if a check could not run to its end.
NO_FIGURES='exit code|no result'

# Prints a folder with the lib/ of LibTorch's wheel with CUDA. It keeps the folder in the cache.
cuda_torch() {
  local wheels wheel folder
  wheels=$(fetch_wheels torch-cpu)
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

# build_programs TARGET...: builds the targets, the plugin and the stand-in.
build_programs() {
  "$ROOT/scripts/build.sh" encode_cuda runtime_stand_in_{cuda,cudart,cublas,cublasLt} "$@"
  [[ -e $ROOT/build/lib/libencode_cuda.so ]] || die "this build has no nvcc: run scripts/setup.sh"
}

# link_stand_in TORCH: puts the stand-in and this LibTorch into $WORK/cuda.
link_stand_in() {
  "$PYTHON" "$ROOT/tests/cuda/runtime_stand_in/link.py" --archives "$ROOT/build/runtime_stand_in" --torch "$1" \
    --user "$ROOT/build/lib/libencode_cuda.so" --output "$WORK/cuda"
}

run_models() {
  local action=--check torch capability
  case ${1:-} in
    --write) action=--write ;;
    '') ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  torch=$(cuda_torch)
  phase "building the stand-in" build_programs encode_launches
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
  link_stand_in "$torch"
  # The program finds its kernels in the folder lib/ beside its own folder.
  mkdir "$WORK/bin" "$WORK/lib"
  cp "$ROOT/build/runtime_stand_in/bin/encode_launches" "$WORK/bin/"
  ln -s "$ROOT/build/lib/libencode_cuda.so" "$WORK/lib/"
  for capability in "${CAPABILITIES[@]}"; do
    phase "compute capability ${capability:0:-1}.${capability: -1}" env LD_LIBRARY_PATH="$WORK/cuda/torch/lib" \
      RUNTIME_STAND_IN_CAPABILITY="$capability" RUNTIME_STAND_IN_LOG="$WORK/record.$capability" \
      "$WORK/bin/encode_launches" "$TYPES" "$ROOT"/tests/data/models/*
  done
  "$PYTHON" "$ROOT/tests/cuda/runtime_stand_in/kernel_table.py" "$action" "$ROOT/docs/cuda-kernels.md" "$WORK"/record.*
  print_phases
}

# Makes a copy of the package torch in $WORK/cuda. It consists of links, and the stand-in lies beside it.
make_torch() {
  local python=$1 torch entry
  torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
  link_stand_in "$torch"
  for entry in "$torch"/*; do
    [[ $(basename "$entry") == lib ]] || ln -s "$entry" "$WORK/cuda/torch/"
  done
}

# Puts a python3 that finds this torch, an nvidia-smi, and a compute-sanitizer that finds no errors into $WORK/bin.
make_commands() {
  mkdir "$WORK/bin"
  printf '#!/bin/sh\nexport PYTHONPATH="%s"\nexec "%s" "$@"\n' "$WORK/cuda" "$1" >"$WORK/bin/python3"
  cat >"$WORK/bin/nvidia-smi" <<'PROGRAM'
#!/bin/sh
case $* in
  *compute_cap*) echo 9.0 ;;
  *-lms*) while echo "1980, 2619, 650.00, 55, 0x0000000000000000"; do sleep 0.25; done ;;
  *) echo "the stand-in for the CUDA runtime" ;;
esac
PROGRAM
  cat >"$WORK/bin/compute-sanitizer" <<'PROGRAM'
#!/bin/sh
if [ "$1" = --version ]; then echo "the stand-in for compute-sanitizer" && exit; fi
while [ "${1#-}" != "$1" ]; do shift 2; done
"$@"
code=$?
echo "========= ERROR SUMMARY: 0 errors"
exit $code
PROGRAM
  chmod +x "$WORK"/bin/*
}

# Succeeds if all checks of numbers failed and no other check did, except that of times. A report has the failed checks, and the
# steps that did not run to their end, in the rows with "| FAIL |".
only_kernels_failed() {
  local failed expected name figures bad=0
  for name in "${CHECKS_OF_NUMBERS[@]}"; do
    if ! grep -qF "| $name | FAIL |" "$@"; then warn "did not run, or passed without a kernel: $name" && bad=1; fi
  done
  while IFS='|' read -r name figures; do
    expected=0
    for failed in "${CHECKS_OF_NUMBERS[@]}"; do
      if [[ $name == "$failed" && ! $figures =~ $NO_FIGURES ]]; then expected=1; fi
    done
    if [[ $name == "$CHECK_OF_TIMES" && $figures =~ $TOO_SLOW ]]; then expected=1; fi
    if ((!expected)); then warn "failed: $name: $figures" && bad=1; fi
  done < <(sed -n 's/^| \(.*\) | FAIL | \(.*\) |$/\1|\2/p' "$@")
  return "$bad"
}

# Prints the steps of each call that docs/gpu.md plans.
planned_calls() { sed -n 's/^scripts\/gpu_check.sh .*--steps \([a-z0-9_,]*\).*/\1/p' "$ROOT/docs/gpu.md"; }

# run_call STEPS OUTPUT: one call of gpu_check.sh.
run_call() {
  local archive
  archive=$(find "$ROOT/out" -name 'encode-*.tar.zst' -printf '%T@ %p\n' | sort -rn | head -1 | cut -d' ' -f2-)
  PATH=$WORK/bin:$PATH LD_LIBRARY_PATH=$ROOT/build/nvml_stand_in scripts/gpu_check.sh --bundle "$archive" --steps "$1" \
    --work "$WORK/work" --output "$2" --quick --limit-scale 30 --budget 7200 || say "checks of numbers failed, as they must here"
  cat "$2/report.md"
  tail -1 "$2/report.md" | grep -q ' s in all$' || die "gpu_check.sh did not reach its end"
}

run_gpu_check() {
  local python steps number=0
  python=$(reference_python)
  phase "building the programs" build_programs encode encode-worker gpu_kernels_test cuda_test nvml_stand_in
  cd "$ROOT"
  scripts/package.sh --gpu-tests
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
  make_torch "$python"
  make_commands "$python"
  while read -r steps; do
    number=$((number + 1))
    phase "call $number: $steps" run_call "$steps" "$WORK/report_$number"
  done < <(planned_calls)
  print_phases
  grep -q '% MFU' "$WORK"/report_*/report.md || die "no step has printed the MFU"
  only_kernels_failed "$WORK"/report_*/report.md || die "checks failed that need no kernel"
  say "all checks passed that need no kernel"
}

main() {
  local failed=0
  case ${1:-} in
    -h | --help) show_help ;;
    runtime) run_models "${@:2}" ;;
    gpu_check) run_gpu_check ;;
    '')
      "$0" runtime || failed=1
      "$0" gpu_check || failed=1
      return "$failed"
      ;;
    *) die "unknown check '$1'; see --help" ;;
  esac
}

main "$@"
