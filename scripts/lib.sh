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

# fetch_wheels REQUIREMENTS...: downloads the pinned wheels, checks them and prints their paths.
fetch_wheels() {
  if [[ ! -x $DEPS/venv/bin/python ]]; then
    "$PYTHON" -m venv "$DEPS/venv" >&2
    "$DEPS/venv/bin/python" -m pip install --quiet --require-hashes -r "$ROOT/scripts/deps/pip.txt" >&2
  fi
  "$DEPS/venv/bin/python" "$ROOT/scripts/deps/fetch.py" --cache "$CACHE/wheels" "$@"
}
