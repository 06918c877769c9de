#!/usr/bin/env bash
# Runs scripts/gpu_check.sh from its first line to its last without a GPU, on the stand-in for NVIDIA's libraries below LibTorch's
# real CUDA library (tests/cuda/runtime_stand_in) and for the driver's NVML (tests/nvml). Kernels do nothing there, so the checks
# of numbers and of their speed fail; all other checks must pass: models are made, saved, loaded and encoded, chunks are resumed,
# memory is given back, and the peer runs.
#
# usage: scripts/soak/gpu_check.sh
#
# The peer, sentence-transformers, runs in the environment that parity.sh makes, or in ENCODE_REFERENCE_PYTHON. It takes about
# ten to fifteen minutes on two cores, 3 GB of memory and 10 GB in TMPDIR.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=../bench/common.sh
. "$ROOT/scripts/bench/common.sh"

# The checks of numbers. Each must end with figures and fail: all vectors of encode are equal on the stand-in, and the peer's
# vectors are zero.
CHECKS_OF_NUMBERS=(gpu_kernels_test cuda_test {bert-tiny,qwen2-tiny,minilm,bert-base}' float32'
  {bert-tiny,qwen2-tiny,minilm,bert-base,qwen2-1.5b}' bfloat16' {minilm,bert-base,qwen2-1.5b}' fp8')
# The check that compares times with the time of kernels. It may fail, but only because of a percentage.
CHECK_OF_TIMES='chunks and batch_tokens'
TOO_SLOW='^FAIL: .* %$'
# What the report says in place of figures if a check could not run to its end.
NO_FIGURES='exit code|no result'

# Makes a copy of the package torch in $WORK/cuda. It consists of links, and the stand-in lies beside it.
make_torch() {
  local python=$1 torch entry
  torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
  "$PYTHON" "$ROOT/scripts/gpu/runtime_stand_in.py" --archives "$ROOT/build/runtime_stand_in" --torch "$torch" \
    --user "$ROOT/build/lib/libencode_cuda.so" --output "$WORK/cuda"
  for entry in "$torch"/*; do
    [[ $(basename "$entry") == lib ]] || ln -s "$entry" "$WORK/cuda/torch/"
  done
}

# Puts a python3 that finds this torch, and an nvidia-smi, into $WORK/bin.
make_commands() {
  mkdir "$WORK/bin"
  printf '#!/bin/sh\nexport PYTHONPATH="%s"\nexec "%s" "$@"\n' "$WORK/cuda" "$1" >"$WORK/bin/python3"
  printf '#!/bin/sh\necho "the stand-in for the CUDA runtime"\n' >"$WORK/bin/nvidia-smi"
  chmod +x "$WORK"/bin/*
}

# Succeeds if all checks of numbers failed and no other check did, except that of times. The report has the failed checks in the
# rows with "| FAIL |".
only_kernels_failed() {
  local failed expected name figures bad=0
  for name in "${CHECKS_OF_NUMBERS[@]}"; do
    if ! grep -qF "| $name | FAIL |" "$1"; then warn "did not run, or passed without a kernel: $name" && bad=1; fi
  done
  while IFS='|' read -r name figures; do
    expected=0
    for failed in "${CHECKS_OF_NUMBERS[@]}"; do
      if [[ $name == "$failed" && ! $figures =~ $NO_FIGURES ]]; then expected=1; fi
    done
    if [[ $name == "$CHECK_OF_TIMES" && $figures =~ $TOO_SLOW ]]; then expected=1; fi
    if ((!expected)); then warn "failed: $name: $figures" && bad=1; fi
  done < <(sed -n 's/^| \(.*\) | FAIL | \(.*\) |$/\1|\2/p' "$1")
  return "$bad"
}

main() {
  local python
  case ${1:-} in
    -h | --help) show_help && return ;;
    '') ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  python=$(reference_python)
  cd "$ROOT"
  ninja -C build -j "$(job_count)" encode encode-worker encode_cuda gpu_kernels_test gpu_attention_test cuda_test \
    nvml_stand_in runtime_stand_in_{cuda,cudart,cublas,cublasLt}
  scripts/package.sh --gpu-tests
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
  make_torch "$python"
  make_commands "$python"
  PATH=$WORK/bin:$PATH LD_LIBRARY_PATH=$ROOT/build/nvml_stand_in \
    scripts/gpu_check.sh --rows 600 --seconds 7200 --output "$WORK/report" ||
    say "checks of numbers failed, as they must here"
  cat "$WORK/report/gpu_check.md"
  tail -1 "$WORK/report/gpu_check.md" | grep -q ' s in all$' || die "gpu_check.sh did not reach its end"
  only_kernels_failed "$WORK/report/gpu_check.md" || die "checks failed that need no kernel"
  say "all checks passed that need no kernel"
}

main "$@"
