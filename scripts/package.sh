#!/usr/bin/env bash
# Makes packages of the programs in out/. docs/install.md describes them.
#
# usage: scripts/package.sh [--check] [--gpu-tests] [--torch=SERIES]... [KIND...]
#   KIND          archive   encode-<version>-linux-<machine>/ and the same as .tar.zst; runs in any folder (the default)
#                 wheel     a Python wheel that uses the torch of its environment
#                 deb       a Debian package of the programs
#                 libtorch  a Debian package of LibTorch for the CPU
#   --check       also unpacks the archive in another folder and runs it with a LibTorch in a third folder: --help, and 100
#                 rows that it compares with tests/data/minilm
#   --torch=2.15  adds a worker for another version of torch to the wheel; scripts/torch_worker.sh builds it
#   --gpu-tests   adds the tests that need a GPU to the archive, for scripts/gpu_check.sh
#
# The archive and the wheel contain the libraries of the distribution except the C and C++ libraries, which must be as new as on
# this machine. Every package has the licences of what it contains, and an SBOM (SPDX).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

MAX_ARCHIVE_BYTES=40000000
# Libraries that no package contains: the libraries that every system has, and the libraries of LibTorch and Arrow.
SYSTEM_LIBRARIES='^(ld-linux|linux-vdso|libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+)[.-]'
TORCH_LIBRARIES='^lib(torch|c10|gomp|cudart|cupti)'
ARROW_LIBRARIES='^lib(arrow|parquet)[.]'

fact() { "$ROOT/build/bin/encode" version --json | "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# shared_libraries FILE...: prints the paths of the libraries that the files need, directly or indirectly, without
# SYSTEM_LIBRARIES, TORCH_LIBRARIES and ARROW_LIBRARIES.
shared_libraries() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
    while read -r name path; do
      if ! grep -qE "$SYSTEM_LIBRARIES|$TORCH_LIBRARIES|$ARROW_LIBRARIES" <<<"$name"; then printf '%s\n' "$path"; fi
    done
}

# needed_version SYMBOL FILE...: prints the newest version SYMBOL_x that the files need; SYMBOL is GLIBC or GLIBCXX.
needed_version() {
  local symbol=$1
  shift
  objdump -T "$@" | grep -oE "${symbol}_[0-9.]+" | sort -uV | tail -1
}

# describe FOLDER NAME [OPTION...]: writes the notices and the SBOM of the package NAME into FOLDER. The options are those of
# scripts/package/contents.py.
describe() {
  local folder=$1 name=$2 options=() wheels=() programs=(--programs) word list=""
  shift 2
  rm -rf "$folder/notices"
  if [[ $name == encode-libtorch ]]; then programs=(); fi
  for word in "$@"; do
    if [[ $list == --contains ]]; then
      while read -r wheel; do wheels+=(--wheel "$wheel"); done < <(fetch_wheels "$word")
    elif [[ $list == --library ]]; then
      options+=(--library "$word")
    fi
    list=$word
  done
  "$PYTHON" "$ROOT/scripts/package/contents.py" notices --output "$folder/notices" "${programs[@]}" "${options[@]}" "${wheels[@]}"
  "$PYTHON" "$ROOT/scripts/package/contents.py" sbom --encode "$ROOT/build/bin/encode" --name "$name" \
    --output "$folder/sbom.spdx.json" "${programs[@]}" "$@"
}

# add_workers FOLDER: adds the workers for the versions of torch in SERIES. They need the same libraries as encode-worker.
add_workers() {
  local series worker
  for series in "${SERIES[@]}"; do
    worker=$1/lib/encode/encode-worker-$series
    cp "$ROOT/build-torch-$series/bin/encode-worker" "$worker"
    strip "$worker"
    # shellcheck disable=SC2016  # the loader expands $ORIGIN
    patchelf --set-rpath '$ORIGIN' "$worker"
  done
}

# stage FOLDER NAME SECTION...: installs the programs into FOLDER with the libraries of the distribution that they need. The user
# installs the wheels of the SECTIONs of the pins.
stage() {
  local folder=$1 name=$2 libraries library section options=()
  rm -rf "$folder"
  cmake --install "$ROOT/build" --prefix "$folder" --strip --component programs >/dev/null
  cmake --install "$ROOT/build" --prefix "$folder" --component plain >/dev/null
  mapfile -t libraries < <(shared_libraries "$folder/bin/encode" "$folder"/lib/encode/*)
  for library in "${libraries[@]}"; do
    cp -L "$library" "$folder/lib/encode/"
    # shellcheck disable=SC2016  # the loader expands $ORIGIN
    patchelf --set-rpath '$ORIGIN' "$folder/lib/encode/${library##*/}"
    options+=(--library "$library")
  done
  [[ -e $folder/lib/encode/libencode_cuda.so ]] ||
    warn "no libencode_cuda.so, because the build had no nvcc: the package runs on the CPU only"
  [[ -e $folder/lib/encode/libencode_arrow.so ]] ||
    warn "no libencode_arrow.so, because the build had no Arrow C++: the package reads no Parquet and Arrow files"
  for section in "${@:3}"; do options+=(--needs "$section"); done
  describe "$folder/share/doc/encode" "$name" "${options[@]}"
}

write_launcher() {
  cat >"$1/encode" <<'LAUNCHER'
#!/bin/sh
# Starts bin/encode with the LibTorch 2.11 and the Arrow C++ of python3, unless TORCH_ROOT and ARROW_ROOT name others.
set -eu
here=$(dirname "$(readlink -f "$0")")
folder_of() {
  python3 -c 'import sys, importlib.util as u; print(u.find_spec(sys.argv[1]).submodule_search_locations[0])' "$1" 2>/dev/null
}
# Without LibTorch everything except encoding works. Without Arrow all inputs except Parquet and Arrow files can be read.
TORCH_ROOT=${TORCH_ROOT:-$(folder_of torch)} || TORCH_ROOT=
ARROW_ROOT=${ARROW_ROOT:-$(folder_of pyarrow)} || ARROW_ROOT=
export TORCH_ROOT ARROW_ROOT
exec "$here/bin/encode" "$@"
LAUNCHER
  chmod +x "$1/encode"
}

write_readme() {
  local folder=$1
  shift
  cat >"$folder/README" <<README
encode $(fact version), commit $(fact commit)

Run ./encode (see ./encode --help). It needs LibTorch $(fact libtorch): set TORCH_ROOT to the folder that contains its lib/, or
have a python3 that finds torch. Parquet and Arrow files also need pyarrow $(fact arrow): set ARROW_ROOT to the folder that
contains its libarrow.so, or have a python3 that finds it. \`encode pull\` also needs the libcurl of the system, 7.85 or newer.
It needs $(needed_version GLIBC "$@") and $(needed_version GLIBCXX "$@") or newer.
share/doc/encode has the documents, the licences of the libraries in lib/encode (notices/), and an SBOM (sbom.spdx.json).
README
}

# Adds the GPU tests to the archive. They find the plugin in lib/encode in the same way as the programs.
add_gpu_tests() {
  local folder=$1/tests name
  mkdir "$folder"
  for name in gpu_kernels_test cuda_test; do
    [[ -x $ROOT/build/bin/$name ]] || die "no build/bin/$name: run scripts/build.sh --all first"
    cp "$ROOT/build/bin/$name" "$folder/"
    strip --strip-unneeded "$folder/$name"
    # shellcheck disable=SC2016  # the loader expands $ORIGIN
    patchelf --set-rpath '$ORIGIN/../lib/encode' "$folder/$name"
  done
  shared_libraries "$ROOT"/build/bin/{gpu_kernels_test,cuda_test} | xargs -I{} cp -L -n {} "$1/lib/encode/"
}

make_archive() {
  local folder=$1 archive=$1.tar.zst bytes
  stage "$folder" encode torch-cpu arrow
  write_launcher "$folder"
  write_readme "$folder" "$folder"/bin/encode "$folder"/lib/encode/*
  cp "$ROOT/LICENSE" "$folder/"
  if ((GPU_TESTS)); then add_gpu_tests "$folder"; fi
  tar -C "${folder%/*}" -I 'zstd -15 -T0' -cf "$archive" "${folder##*/}"
  bytes=$(stat -c %s "$archive")
  say "archive: ${folder#"$ROOT/"} ($(du -sh "$folder" | cut -f1)), ${archive#"$ROOT/"} ($((bytes / 1000000)) MB)"
  sed -n 's/.*\(It needs GLIBC.*\)/   \1/p' "$folder/README"
  ((bytes < MAX_ARCHIVE_BYTES)) || die "the archive is larger than $((MAX_ARCHIVE_BYTES / 1000000)) MB"
}

# Shows that the archive and LibTorch can be in any folder.
check_archive() {
  local archive=$1 work torch
  work=$(mktemp -d)
  torch=$(torch_root)
  mkdir "$work/bundle" "$work/site"
  tar -C "$work/bundle" --strip-components=1 --zstd -xf "$archive"
  ln -s "$torch" "$work/site/torch"
  ln -s "$(dirname "$torch")/nvidia" "$work/site/nvidia"
  "$ROOT/scripts/models.sh"
  (
    cd "$work"
    export TORCH_ROOT="$work/site/torch"
    bundle/encode --help >help.txt
    bundle/encode run --model "$DEPS/models/all-MiniLM-L6-v2" --device cpu \
      --input "$ROOT/tests/data/minilm/texts.jsonl" --field text --cache-dir cache --output ours.npy
    "$PYTHON" "$ROOT/scripts/bench/compare.py" matrices ours.npy "$ROOT/tests/data/minilm/embeddings.npy"
    if [[ -e bundle/lib/encode/libencode_arrow.so ]]; then
      ARROW_ROOT="$DEPS/arrow/pyarrow" bundle/encode tokenize --model "$DEPS/models/all-MiniLM-L6-v2" \
        --input "$ROOT/tests/data/arrow/texts.parquet" --field text --output ids.jsonl
    fi
  )
  rm -r "$work"
}

make_wheel() {
  local tree wheel
  tree=$(mktemp -d)
  if ((${#SERIES[@]})); then "$ROOT/scripts/torch_worker.sh" "${SERIES[@]}"; fi
  stage "$tree" encode-embeddings torch-cpu arrow "${SERIES[@]/#/torch-}"
  add_workers "$tree"
  wheel=$("$PYTHON" "$ROOT/scripts/package/wheel.py" --tree "$tree" --output "$ROOT/out")
  rm -r "$tree"
  say "wheel: ${wheel#"$ROOT/"} ($(($(stat -c %s "$wheel") / 1000000)) MB)"
}

# make_deb encode|encode-libtorch: makes one Debian package with cpack.
make_deb() {
  local name=$1 folder=$ROOT/build/debian/$1 components='programs;arrow;debian' parts=(--needs torch-cpu --contains arrow) deb
  local compression=xz
  if [[ $name == encode-libtorch ]]; then
    components='libtorch;debian_libtorch' parts=(--contains torch-cpu)
    compression=gzip # xz would take five minutes
  fi
  mkdir -p "$folder"
  describe "$folder" "$name" "${parts[@]}"
  cp "$ROOT/packaging/debian/$name.copyright" "$folder/copyright"
  sed "s/@NAME@/$name/; s/@VERSION@/$(fact version)/; s/@DATE@/$(date -u -R -d "$(fact commit_date)")/" \
    "$ROOT/packaging/debian/changelog.in" | gzip -9n >"$folder/changelog.gz"
  SOURCE_DATE_EPOCH=$(date -u -d "$(fact commit_date)" +%s) cpack --config "$ROOT/build/CPackConfig.cmake" -G DEB \
    -D CPACK_COMPONENTS_ALL="$components" -D CPACK_DEBIAN_COMPRESSION_TYPE="$compression" >"$ROOT/build/debian/$name.log" 2>&1 || die "$(tail -20 "$ROOT/build/debian/$name.log")"
  deb=$ROOT/out/${name}_$(fact version)_$(dpkg --print-architecture).deb
  say "deb: ${deb#"$ROOT/"} ($(($(stat -c %s "$deb") / 1000000)) MB)"
}

main() {
  local archive kind check=0 kinds=()
  GPU_TESTS=0 SERIES=()
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --check) check=1 ;;
      --gpu-tests) GPU_TESTS=1 ;;
      --torch=*)
        grep -qxF "[torch-${1#*=}]" "$ROOT/scripts/deps/pins.txt" || die "no pins [torch-${1#*=}] in scripts/deps/pins.txt"
        SERIES+=("${1#*=}")
        ;;
      archive | wheel | deb | libtorch) kinds+=("$1") ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
    shift
  done
  [[ ${#SERIES[@]} == 0 || " ${kinds[*]} " == *" wheel "* ]] || die "--torch is an option of the kind wheel"
  [[ -x $ROOT/build/bin/encode-worker ]] || die "no build/bin/encode-worker: run scripts/build.sh first"
  mkdir -p "$ROOT/out"
  archive=$ROOT/out/encode-$(fact version)-linux-$(uname -m)
  for kind in "${kinds[@]:-archive}"; do
    case $kind in
      archive) make_archive "$archive" ;;
      wheel) make_wheel ;;
      deb) make_deb encode ;;
      libtorch) make_deb encode-libtorch ;;
    esac
  done
  if ((check)); then check_archive "$archive.tar.zst"; fi
}

main "$@"
