#!/usr/bin/env bash
# Makes a bundle of the programs that runs in any folder: out/encode-<version>-linux-x86_64/ and the same as .tar.zst.
#
# usage: scripts/package.sh [--check] [--gpu-tests]
#   --check       also unpacks the archive in another folder and runs it with a LibTorch in a third folder: --help, and 100
#                 rows that it compares with tests/data/minilm
#   --gpu-tests   adds the tests that need a GPU, for scripts/gpu_check.sh
#
# The bundle runs with any LibTorch 2.11: TORCH_ROOT, or the torch that python3 imports. Parquet and Arrow files are read with
# the Arrow C++ of ARROW_ROOT, or of the pyarrow that python3 imports, if it has the version of scripts/deps/arrow.txt. The C and C++ libraries of the
# distribution must be as new as on this machine. The script prints the versions and writes them into the bundle's README.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

MAX_ARCHIVE_BYTES=40000000
# Libraries that the bundle does not contain: the libraries that every system has, and the libraries of LibTorch.
SYSTEM_LIBRARIES='^(ld-linux|linux-vdso|libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+)[.-]'
TORCH_LIBRARIES='^lib(torch|c10|gomp|cudart|cupti)'
ARROW_LIBRARIES='^lib(arrow|parquet)[.]'

arrow_version() { sed -n 's/^pyarrow==\([0-9]*\)[.].*/\1/p' "$ROOT/scripts/deps/arrow.txt"; }

version() { sed -n 's/^project(encode VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt"; }

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

write_launcher() {
  cat >"$1/encode" <<'LAUNCHER'
#!/bin/sh
# Starts bin/encode with the libraries of this bundle and a LibTorch 2.11: TORCH_ROOT, or else the torch of python3.
set -eu
here=$(dirname "$(readlink -f "$0")")
if [ -z "${TORCH_ROOT:-}" ]; then
  TORCH_ROOT=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' \
    2>/dev/null) || TORCH_ROOT=
fi
if [ -z "${ARROW_ROOT:-}" ]; then
  ARROW_ROOT=$(python3 -c 'import importlib.util as u; print(u.find_spec("pyarrow").submodule_search_locations[0])' \
    2>/dev/null) || ARROW_ROOT=
fi
# Without LibTorch everything except encoding works: --help, verify, compare. Without Arrow all inputs except Parquet and
# Arrow files can be read.
LD_LIBRARY_PATH=$here/lib${TORCH_ROOT:+:$TORCH_ROOT/lib}${ARROW_ROOT:+:$ARROW_ROOT}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$here/bin/encode" "$@"
LAUNCHER
  chmod +x "$1/encode"
}

write_readme() {
  local folder=$1
  shift
  cat >"$folder/README" <<README
encode $(version), $(git -C "$ROOT" rev-parse --short HEAD)

Run ./encode (see ./encode --help). It needs LibTorch 2.11: set TORCH_ROOT to the folder that contains its lib/, or have a
python3 that finds torch 2.11. Parquet and Arrow files also need pyarrow $(arrow_version): set ARROW_ROOT to the folder that
contains its libarrow.so, or have a python3 that finds it. \`encode pull\` also needs the libcurl of the system, 7.85 or newer.
It needs $(needed_version GLIBC "$@") and $(needed_version GLIBCXX "$@") or newer.
lib/ contains shared libraries of the distribution on which this was built, each under its own licence.
README
}

# Adds the GPU tests to the bundle. They find the plugin in lib/ in the same way as the programs.
add_gpu_tests() {
  local folder=$1/tests name
  mkdir "$folder"
  for name in gpu_kernels_test cuda_test gpu_attention_test; do
    [[ -x $ROOT/build/bin/$name ]] || die "no build/bin/$name: run scripts/build.sh --all first"
    cp "$ROOT/build/bin/$name" "$folder/"
    strip --strip-unneeded "$folder/$name"
    # shellcheck disable=SC2016  # the loader expands $ORIGIN
    patchelf --set-rpath '$ORIGIN/../lib' "$folder/$name"
  done
  shared_libraries "$ROOT"/build/bin/{gpu_kernels_test,cuda_test,gpu_attention_test} | xargs -I{} cp -L -n {} "$1/lib/"
}

make_bundle() {
  local folder=$1 programs=("$1/bin/encode" "$1/bin/encode-worker")
  rm -rf "$folder"
  mkdir -p "$folder/bin" "$folder/lib"
  cp "$ROOT/build/bin/encode" "$ROOT/build/bin/encode-worker" "$folder/bin/"
  # At this point the programs still have the run path of the build, so that ldd finds LibTorch and can list the libraries.
  shared_libraries "${programs[@]}" | xargs -I{} cp -L {} "$folder/lib/"
  if [[ -e $ROOT/build/lib/libencode_cuda.so ]]; then
    cp "$ROOT/build/lib/libencode_cuda.so" "$folder/lib/"
  else
    warn "no build/lib/libencode_cuda.so, because the build had no nvcc: the bundle runs on the CPU only"
  fi
  if [[ -e $ROOT/build/lib/libencode_arrow.so ]]; then
    cp "$ROOT/build/lib/libencode_arrow.so" "$folder/lib/"
    shared_libraries "$ROOT/build/lib/libencode_arrow.so" | xargs -I{} cp -L -n {} "$folder/lib/"
    # shellcheck disable=SC2016  # the loader expands $ORIGIN
    patchelf --set-rpath '$ORIGIN' "$folder/lib/libencode_arrow.so"
  else
    warn "no build/lib/libencode_arrow.so, because the build had no Arrow C++: the bundle reads no Parquet and Arrow files"
  fi
  strip --strip-unneeded "${programs[@]}" "$folder"/lib/*.so*
  # shellcheck disable=SC2016  # the loader expands $ORIGIN
  patchelf --set-rpath '$ORIGIN/../lib' "${programs[@]}"
  write_launcher "$folder"
  write_readme "$folder" "${programs[@]}"
  cp "$ROOT/LICENSE" "$folder/"
}

# Shows that the bundle and LibTorch can be in any folder.
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
    "$PYTHON" "$ROOT/scripts/bench/compare_embeddings.py" ours.npy "$ROOT/tests/data/minilm/embeddings.npy"
    if [[ -e bundle/lib/libencode_arrow.so ]]; then
      ARROW_ROOT="$DEPS/arrow/pyarrow" bundle/encode tokenize --model "$DEPS/models/all-MiniLM-L6-v2" \
        --input "$ROOT/tests/data/arrow/texts.parquet" --field text --output ids.jsonl
    fi
  )
  rm -r "$work"
}

main() {
  local name archive bytes check=0 gpu_tests=0
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --check) check=1 && shift ;;
      --gpu-tests) gpu_tests=1 && shift ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  name=encode-$(version)-linux-$(uname -m)
  archive=$ROOT/out/$name.tar.zst
  [[ -x $ROOT/build/bin/encode-worker ]] || die "no build/bin/encode-worker: run scripts/build.sh first"
  make_bundle "$ROOT/out/$name"
  if ((gpu_tests)); then add_gpu_tests "$ROOT/out/$name"; fi
  tar -C "$ROOT/out" -I 'zstd -15 -T0' -cf "$archive" "$name"
  bytes=$(stat -c %s "$archive")
  say "bundle: out/$name ($(du -sh "$ROOT/out/$name" | cut -f1)), ${archive#"$ROOT/"} ($((bytes / 1000000)) MB)"
  sed -n 's/.*\(It needs GLIBC.*\)/   \1/p' "$ROOT/out/$name/README"
  ((bytes < MAX_ARCHIVE_BYTES)) || die "the archive is larger than $((MAX_ARCHIVE_BYTES / 1000000)) MB"
  if ((check)); then check_archive "$archive"; fi
}

main "$@"
