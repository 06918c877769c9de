# shellcheck shell=bash
# Functions and paths that the scripts of this folder share. They source this file.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export DEPS="$ROOT/.deps"
export CACHE="${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/encode"
# Names the interpreter of the distribution, because it has the Python packages of packages.txt.
export PYTHON=/usr/bin/python3
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '== %s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Prints the comment at the head of the calling script, which is its help text.
show_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# phase NAME COMMAND...: runs the command, prints the seconds that it took, and keeps them for print_phases.
PHASES=()
phase() {
  local name=$1 start=$EPOCHREALTIME seconds
  shift
  say "$name"
  "$@"
  seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
  PHASES+=("$(printf '%-22s %8s s' "$name" "$seconds")")
  say "$name: $seconds s"
}

print_phases() { printf '   %s\n' "${PHASES[@]}"; }

# show_progress NAME LOG: prints how many seconds it has run and the last line of a growing file, until it is killed: on a terminal
# in one line that is redrawn each second, elsewhere in a line every 30 seconds.
show_progress() {
  local name=$1 log=$2 start=$SECONDS width=0 ticks=0 line
  if [[ -t 2 ]]; then
    width=$(stty size <&2 2>/dev/null | cut -d' ' -f2 || true)
    ((width > 0)) || width=80
  fi
  while kill -0 $$ 2>/dev/null; do # a script that was killed cannot kill its background processes
    sleep 1
    ticks=$((ticks + 1))
    # The log may be gone: this command outlives the process that watched() kills.
    line=$(tail -n 1 "$log" 2>/dev/null | tr '\r' '\n' | tail -n 1 | tr -d '[:cntrl:]')
    line="   $name: $((SECONDS - start)) s${line:+, $line}"
    if ((width)); then
      printf '\r\033[K%s' "${line:0:width-1}" >&2
    elif ((ticks % 30 == 0)); then
      printf '%s\n' "$line" >&2
    fi
  done
}

# watched NAME COMMAND...: runs a command, shows its progress on standard error, and prints its output only if it fails.
watched() {
  local name=$1 log progress failed=0
  shift
  log=$(mktemp)
  show_progress "$name" "$log" >&2 &
  progress=$!
  "$@" >"$log" 2>&1 || failed=$?
  kill "$progress"
  wait "$progress" 2>/dev/null || true
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
  if ((failed)); then cat "$log" >&2; fi
  rm -f "$log"
  ((failed == 0)) || die "this command failed: $*"
}

# Prints the folder of LibTorch: the user's TORCH_ROOT, or the folder below .deps that setup.sh fills.
torch_root() { printf '%s\n' "${TORCH_ROOT:-$DEPS/torch/torch}"; }

# Succeeds if this machine has the driver of an NVIDIA card.
has_card() { [[ -e /proc/driver/nvidia/version || -e /dev/nvidiactl ]]; }

# Prints the number of compiler jobs: one for each core, but at most one for each 2 GB of available memory.
job_count() {
  local cores memory_jobs
  cores=$(nproc)
  memory_jobs=$(awk '/^MemAvailable/ { print int($2 / 2e6) }' /proc/meminfo)
  if [[ -r /sys/fs/cgroup/memory.max && $(cat /sys/fs/cgroup/memory.max) != max ]]; then
    memory_jobs=$(($(cat /sys/fs/cgroup/memory.max) / 2000000000))
  fi
  ((memory_jobs >= 1)) || memory_jobs=1
  printf '%s\n' $((cores < memory_jobs ? cores : memory_jobs))
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "this needs root or sudo: $*"
  fi
}

installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Reads the lists of packages of the distribution again.
update_packages() { watched packages as_root apt-get update -q -o DPkg::Lock::Timeout=300; }

# install_packages NAME...: installs packages of the distribution and what they need.
install_packages() {
  watched packages as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q --yes --no-install-recommends \
    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}

# install_without_daemons NAME...: installs those of the packages that are missing, and starts none of their daemons. Debian starts a
# daemon when its package is installed, unless policy-rc.d forbids it.
install_without_daemons() {
  local policy=/usr/sbin/policy-rc.d made=0 name missing=()
  for name in "$@"; do installed "$name" || missing+=("$name"); done
  ((${#missing[@]})) || return 0
  if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    made=1
  fi
  update_packages
  install_packages "${missing[@]}"
  if ((made)); then rm "$policy"; fi
}

# pins SECTION...: prints the lines of these sections of scripts/deps/pins.txt.
pins() { "$PYTHON" -B "$ROOT/scripts/deps/fetch.py" --print "$@"; }

# Makes the Python environment in which fetch.py runs.
make_downloader() {
  "$PYTHON" -m venv "$DEPS/venv" && "$DEPS/venv/bin/python" -m pip install --quiet --require-hashes -r <(pins pip)
}

# fetch_wheels SECTION...: downloads the wheels that these sections pin, checks them and prints their paths.
fetch_wheels() {
  if [[ ! -x $DEPS/venv/bin/python ]]; then
    watched "a Python environment for the downloads" make_downloader
  fi
  "$DEPS/venv/bin/python" "$ROOT/scripts/deps/fetch.py" --cache "$CACHE/wheels" "$@"
}

# extract_torch cpu|cuda FOLDER WHEEL...: unpacks the needed files of the wheels of LibTorch into FOLDER.
extract_torch() {
  local variant=$1 folder=$2 wheel libraries=('torch/lib/libtorch_cpu.so' 'torch/lib/libc10*.so' 'torch/lib/libgomp*')
  shift 2
  if [[ $1 == *aarch64.whl ]]; then libraries+=('torch/lib/libarm_compute*' 'torch/lib/libnvpl_*'); fi
  if [[ $variant == cuda ]]; then libraries=('torch/lib/*.so*' -x '*libtorch_python*'); fi
  mkdir -p "$folder"
  for wheel in "$@"; do
    case ${wheel##*/} in
      torch-*) unzip -q -o "$wheel" torch/version.py 'torch/include/*' "${libraries[@]}" -d "$folder" ;;
      *) unzip -q -o "$wheel" 'nvidia/*/lib/*.so*' -d "$folder" ;;
    esac
  done
}

# Prints the interpreter that has sentence-transformers: ENCODE_REFERENCE_PYTHON, or an environment that is made here.
reference_python() {
  local folder="$DEPS/reference" pins
  if [[ -n ${ENCODE_REFERENCE_PYTHON:-} ]]; then
    printf '%s\n' "$ENCODE_REFERENCE_PYTHON"
    return
  fi
  pins=$(pins reference)
  if [[ $(cat "$folder/installed.txt" 2>/dev/null) != "$pins" ]]; then
    say "making the reference environment in .deps/reference (about 3 GB)" >&2
    "$PYTHON" -m venv --clear "$folder" >&2
    "$folder/bin/python" -m pip install --quiet --require-hashes -r <(pins pip) >&2
    "$folder/bin/python" -m pip install --requirement <(printf '%s\n' "$pins") >&2
    printf '%s\n' "$pins" >"$folder/installed.txt"
  fi
  printf '%s\n' "$folder/bin/python"
}

# real_rows ROWS [mixed|functions|changelogs]: prints the path of a file of ROWS real texts. For variety the file has every
# 20th text of a corpus of 20 x ROWS texts. "mixed" is half functions and half changelog entries.
real_rows() {
  local rows=$1 corpus=${2:-mixed} folder="$DEPS/bench" kinds kind each file
  case $corpus in
    mixed) kinds=(tests changes) file="$folder/rows-$rows.jsonl" ;;
    functions) kinds=(tests) file="$folder/functions-$rows.jsonl" ;;
    changelogs) kinds=(changes) file="$folder/changelogs-$rows.jsonl" ;;
    *) die "no corpus '$corpus': mixed, functions or changelogs" ;;
  esac
  if [[ ! -f $file ]]; then
    rm -f "$file.partial"
    each=$((rows / ${#kinds[@]}))
    for kind in "${kinds[@]}"; do
      "$PYTHON" "$ROOT/scripts/make_corpus.py" "$kind" --rows $((each * 20)) --output "$folder/$kind.jsonl" >&2
      awk 'NR % 20 == 0' "$folder/$kind.jsonl" >>"$file.partial"
      rm "$folder/$kind.jsonl"
    done
    mv "$file.partial" "$file"
  fi
  printf '%s\n' "$file"
}
