#!/usr/bin/env bash
# Builds encode-worker against other versions of LibTorch: build-torch-2.15/bin/encode-worker, for example. Only encode-worker is
# linked against LibTorch, so the other programs and the plugins serve for every version.
#
# usage: scripts/torch_worker.sh SERIES...      a SERIES such as 2.15 has a section torch-SERIES in scripts/deps/pins.txt
#
# The LibTorch is in .deps/torch-SERIES (about 500 MB; a download of about 600 MB). A build takes as long as scripts/build.sh; it
# compiles again what has changed. To use such a worker with a build, set ENCODE_WORKER to it and TORCH_ROOT to its LibTorch, which
# is .deps/torch-SERIES/torch; scripts/package.sh wheel --torch=SERIES puts it into the wheel.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

install_torch() { # SERIES
  local folder="$DEPS/torch-$1" stamp wheels
  stamp=$(pins "torch-$1" | sha256sum | cut -c1-64)
  if [[ $(cat "$folder/stamp" 2>/dev/null) == "$stamp" ]]; then return; fi
  say "LibTorch $1: fetching"
  wheels=$(fetch_wheels "torch-$1")
  mapfile -t wheels <<<"$wheels"
  rm -rf "$folder" "$folder.partial"
  extract_torch cpu "$folder.partial" "${wheels[@]}"
  printf '%s\n' "$stamp" >"$folder.partial/stamp"
  mv "$folder.partial" "$folder"
}

main() {
  local series
  case ${1:-} in
    '' | -h | --help) show_help && return ;;
    -*) die "unknown option '$1'; see --help" ;;
  esac
  cd "$ROOT"
  for series in "$@"; do
    install_torch "$series"
    cmake --preset release -B "build-torch-$series" --log-level=WARNING -DTORCH_ROOT="$DEPS/torch-$series/torch" \
      -DENCODE_TESTS=OFF -DENCODE_CUDA=OFF
    NINJA_STATUS='compiled %f of %t: ' watched "encode-worker for LibTorch $series" \
      ninja -C "build-torch-$series" -j "$(job_count)" encode-worker
    say "build-torch-$series/bin/encode-worker"
  done
}

main "$@"
