#!/usr/bin/env bash
# Installs what this machine needs to build and run encode: Debian packages (scripts/packages.txt), and in .deps/ LibTorch
# 2.11.0, Arrow C++ 26 (for the plugin that reads Parquet) and cuobjdump (for a test). If the system has no nvcc 13, it puts one
# there too, so that every build compiles the CUDA plugin.
#
# usage: scripts/setup.sh [--cuda | --cpu] [--here]
#   --cuda   installs all of LibTorch and the NVIDIA libraries that it needs; the default if there is an NVIDIA driver
#   --cpu    installs only what the CPU needs (about 500 MB on disk); the default otherwise
#   --here   installs what `scripts/build.sh --here` needs: nothing that only tests and checks need, and no nvcc if there is no
#            NVIDIA driver
#
# It runs on Debian 12 and Debian 13, as root or with sudo. Run it as often as you like: it installs only what is missing.
# If TORCH_ROOT names a folder with the include/ and lib/ of a LibTorch 2.11 (from pip or from the zip), it uses this one and
# does not download another. ARROW_ROOT may name a pyarrow in the same way. Downloads are kept in
# ${XDG_CACHE_HOME:-~/.cache}/encode. A download that was cut off is resumed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

TORCH_VERSION=2.11

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "installing packages needs root or sudo; missing: ${missing[*]}"
  fi
}

installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

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

# quiet COMMAND...: runs a command and prints its output only if it fails.
quiet() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "this command failed: $*"
  fi
  rm -f "$log"
}

# install_packages WITH_CHECKS: see find_missing.
install_packages() {
  local missing names=() entry
  command -v apt-get >/dev/null || die "this machine has no apt-get: Debian 12 or Debian 13 is needed"
  find_missing "$1"
  if ((${#missing[@]} == 0)); then
    say "packages: all are installed"
    return
  fi
  say "packages: installing ${#missing[@]} and what they need; this takes a minute or two"
  quiet as_root apt-get update -q -o DPkg::Lock::Timeout=300
  for entry in "${missing[@]}"; do names+=("$(first_available "$entry")"); done
  quiet as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends \
    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "${names[@]}"
}

# LibTorch from pip has its version in version.py; LibTorch from the zip has it in build-version.
torch_version() { cat "$1/build-version" "$1/version.py" 2>/dev/null | grep -oE -m1 '[0-9]+\.[0-9]+\.[0-9]+[^ '\'']*' || true; }

check_torch_root() {
  local version
  [[ -e $TORCH_ROOT/lib/libtorch_cpu.so && -d $TORCH_ROOT/include/ATen ]] ||
    die "TORCH_ROOT=$TORCH_ROOT: this folder does not have lib/libtorch_cpu.so and include/ATen"
  version=$(torch_version "$TORCH_ROOT")
  [[ $version == "$TORCH_VERSION".* ]] ||
    die "TORCH_ROOT=$TORCH_ROOT: expected LibTorch $TORCH_VERSION, found '${version:-no version file}'"
  say "LibTorch: $version in $TORCH_ROOT"
}

# extract_torch cpu|cuda FOLDER WHEEL...: unpacks the needed files of the wheels into FOLDER.
extract_torch() {
  local variant=$1 folder=$2 wheel libraries=('torch/lib/libtorch_cpu.so' 'torch/lib/libc10*.so' 'torch/lib/libgomp*')
  shift 2
  if [[ $variant == cuda ]]; then libraries=('torch/lib/*.so*' -x '*libtorch_python*'); fi
  mkdir -p "$folder"
  for wheel in "$@"; do
    case ${wheel##*/} in
      torch-*) unzip -q -o "$wheel" torch/version.py 'torch/include/*' "${libraries[@]}" -d "$folder" ;;
      *) unzip -q -o "$wheel" 'nvidia/*/lib/*.so*' -d "$folder" ;;
    esac
  done
}

install_torch() {
  local variant=$1 deps="$ROOT/scripts/deps" pins stamp wheels there
  pins=("$deps/torch-cpu.txt")
  if [[ $variant == cuda ]]; then pins+=("$deps/torch-cuda.txt"); fi
  # The stamp covers the pins of both variants, so an installed CUDA variant also counts as a CPU variant.
  stamp=$(cat "$deps"/torch-*.txt | sha256sum | cut -c1-64)
  there=$(cat "$DEPS/torch/stamp" 2>/dev/null || true)
  if [[ $there == "$variant $stamp" || $there == "cuda $stamp" ]]; then
    say "LibTorch: $(torch_version "$DEPS/torch/torch"), the ${there%% *} variant, is already in .deps"
    return
  fi
  say "LibTorch: fetching the $variant variant"
  wheels=$(fetch_wheels "${pins[@]}")
  rm -rf "$DEPS/torch" "$DEPS/torch.partial"
  mapfile -t wheels <<<"$wheels"
  extract_torch "$variant" "$DEPS/torch.partial" "${wheels[@]}"
  printf '%s\n' "$variant $stamp" >"$DEPS/torch.partial/stamp"
  mv "$DEPS/torch.partial" "$DEPS/torch"
  say "LibTorch: $(torch_version "$DEPS/torch/torch"), the $variant variant, $(du -sh "$DEPS/torch" | cut -f1) on disk"
}

# unpack_wheels NAME LIST FOLDER [PATTERN...]: unpacks the files that match a pattern from the wheels that scripts/deps/LIST pins.
unpack_wheels() {
  local name=$1 list="$ROOT/scripts/deps/$2" folder=$3 stamp fetched wheel
  shift 3
  stamp=$(sha256sum <"$list" | cut -c1-64)
  if [[ $(cat "$folder/stamp" 2>/dev/null) == "$stamp" ]]; then
    say "$name: already in .deps"
    return
  fi
  say "$name: fetching"
  fetched=$(fetch_wheels "$list")
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
  unpack_wheels Arrow arrow.txt "$DEPS/arrow" 'pyarrow/include/*' 'pyarrow/libarrow.so.*' 'pyarrow/libparquet.so.*'
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
  unpack_wheels "nvcc 13.0" nvcc.txt "$DEPS/cuda" 'nvidia/cu13/*'
  # The library libnvvm is not needed, because nvcc runs the program cicc, which contains it.
  rm -rf "$folder"/{lib/libnvvm*,.metadata}
  ln -sfn lib "$folder/lib64"
  ln -sf libcudart.so.13 "$folder/lib/libcudart.so"
}

# The disassembler of kernels, for scripts/gpu/machine_code.py.
install_cuobjdump() {
  unpack_wheels cuobjdump cuobjdump.txt "$DEPS/cuobjdump" 'nvidia/cu13/bin/*'
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
  install_packages "$checks"
  if [[ -n ${TORCH_ROOT:-} ]]; then check_torch_root; else install_torch "$variant"; fi
  if [[ -n ${ARROW_ROOT:-} ]]; then say "Arrow: in $ARROW_ROOT"; else install_arrow; fi
  if has_nvcc; then
    say "nvcc: the system has one"
  elif ((nvcc)); then
    install_nvcc
  fi
  if ((checks)); then install_cuobjdump; fi
}

main "$@"
