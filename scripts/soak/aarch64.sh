#!/usr/bin/env bash
# Builds encode for 64-bit ARM on an x86-64 machine, runs its tests in an emulator, and compares its vectors with those of this
# machine.
#
# usage: scripts/soak/aarch64.sh [TEST...]      TEST is a test program, such as kernels_test; the default is TESTS below
#
# It installs Debian's cross compiler and emulator (g++-aarch64-linux-gnu, qemu-user), which needs root or sudo. The arm64
# packages of Debian, LibTorch and Arrow C++ go into .deps/aarch64, and nothing of arm64 is installed on this machine. The build
# is in build-aarch64/, with the toolchain file cmake/aarch64.cmake. Each program runs with pages of 4 kB, and those in
# LARGE_PAGES also with pages of 64 kB, as some kernels have on ARM. At the end the embeddings of a few rows from the emulator
# are compared with those of build/bin/encode (scripts/build.sh makes it). Without normalization, for which LibTorch's order of
# sums depends on the width of registers, they must have the bits of AVX2.
#
# It needs Debian 12 or 13 and 3 GB of disk. The first run downloads about 520 MB.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

TESTS=(base_test kernels_test linear_kernels_test text_test tokenizer_test matrix_test store_test store_torture cache_test)
# The programs that map files. LMDB maps more than its file has, which qemu cannot do with pages larger than those of this
# machine; `ctest -R cache_test.large_pages` tests the cache with such pages.
LARGE_PAGES=(base_test matrix_test store_test)
# What an emulator cannot show: limits of memory, which qemu does not set; resident memory in pages of another size; programs
# that a test starts, which would need binfmt_misc, or that it fails to start (qemu's vfork copies the memory, so the parent does
# not learn the error); and limits of time.
LEFT_OUT=ThreadPool.RefusedThreadIsAnError:Isolated.HasAMemoryLimit:ResidentBytes.SeeMemoryThatIsTouched
LEFT_OUT+=':Processes.*:RunProgram.AProgramThatIsNotThereIsNoError:LimitsTest.ATokenOfMegabytesIsNeitherSlowNorUnsafe'
LEFT_OUT+=':Claims.TakeTheSameShortTimeHoweverManyChunksAreDone:Claims.ThatAreKeptMakeEachNewOneSlower'
FOLDER=$DEPS/aarch64
BUILD=$ROOT/build-aarch64
SYSROOT=$FOLDER/sysroot
ROWS=12

install_tools() {
  local name missing=()
  for name in g++-aarch64-linux-gnu qemu-user; do
    if ! installed "$name"; then missing+=("$name"); fi
  done
  if ((${#missing[@]} == 0)); then return; fi
  update_packages
  install_packages "${missing[@]}"
}

# apt_arm64 ARGUMENT...: apt-get for arm64 with folders of its own, and with the sources of this machine's Debian.
apt_arm64() {
  local apt=$FOLDER/apt sources=/etc/apt/sources.list.d/debian.sources
  if [[ ! -e $sources ]]; then sources=/etc/apt/sources.list; fi
  mkdir -p "$apt"/{lists,archives}/partial
  touch "$apt/status" # no package is installed, so apt-get downloads all that the others depend on
  watched "packages of arm64" apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none \
    -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::State::lists="$apt/lists" \
    -o Dir::Cache="$apt" -o Dir::Cache::archives="$apt/archives" \
    -o Dir::Etc::sourcelist="$sources" -o Dir::Etc::sourceparts=- "$@"
}

# The libraries of packages.txt, those of the tests, and libcurl, which encode opens when it runs.
sysroot_packages() {
  awk '/^#/ { libraries = $2 == "libraries" } libraries && /^[^#]/ { print $1 }' "$ROOT/scripts/packages.txt"
  printf '%s\n' libbenchmark-dev libcurl4 libgmock-dev libgtest-dev
}

# Packages have absolute links, which would lead out of the sysroot.
make_links_relative() {
  local link
  while read -r link; do
    ln -sfnr "$1$(readlink "$link")" "$link"
  done < <(find "$1" -type l -lname '/*')
}

make_sysroot() {
  local names stamp package
  mapfile -t names < <(sysroot_packages)
  stamp=$(printf '%s\n' "${names[@]}" | sha256sum | cut -c1-64)
  if [[ $(cat "$SYSROOT/stamp" 2>/dev/null) == "$stamp" ]]; then return; fi
  rm -rf "$SYSROOT" "$SYSROOT.partial"
  apt_arm64 update
  apt_arm64 install --yes --download-only --no-install-recommends "${names[@]}"
  mkdir -p "$SYSROOT.partial/usr/lib"
  ln -s usr/lib "$SYSROOT.partial/lib"
  for package in "$FOLDER"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$SYSROOT.partial"
  done
  make_links_relative "$SYSROOT.partial"
  printf '%s\n' "$stamp" >"$SYSROOT.partial/stamp"
  mv "$SYSROOT.partial" "$SYSROOT"
  rm -r "$FOLDER/apt"
}

# Unpacks LibTorch and Arrow C++ for aarch64.
unpack_libraries() {
  local list wheels stamp
  stamp=$(pins torch-cpu arrow | sha256sum | cut -c1-64)
  if [[ $(cat "$FOLDER/wheels/stamp" 2>/dev/null) == "$stamp" ]]; then return; fi
  rm -rf "$FOLDER/wheels"
  list=$(fetch_wheels --machine aarch64 torch-cpu)
  mapfile -t wheels <<<"$list"
  extract_torch cpu "$FOLDER/wheels" "${wheels[@]}"
  list=$(fetch_wheels --machine aarch64 arrow)
  unzip -q -o "$list" 'pyarrow/include/*' 'pyarrow/libarrow.so.*' 'pyarrow/libparquet.so.*' -d "$FOLDER/wheels"
  printf '%s\n' "$stamp" >"$FOLDER/wheels/stamp"
}

build() {
  cmake -G Ninja -S "$ROOT" -B "$BUILD" --log-level=WARNING --toolchain "$ROOT/cmake/aarch64.cmake" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DENCODE_UNITY=ON -DENCODE_CUDA=OFF -DENCODE_SYSROOT="$SYSROOT" \
    -DTORCH_ROOT="$FOLDER/wheels/torch" -DARROW_ROOT="$FOLDER/wheels/pyarrow"
  ninja -C "$BUILD" -j "$(job_count)" encode encode-worker "$@"
}

# emulate PAGE_BYTES PROGRAM ARGUMENT...: runs a program of the build, for at most half an hour.
emulate() {
  local page=$1 program=$2
  shift 2
  timeout 1800 qemu-aarch64 -p "$page" -L "$SYSROOT" "$BUILD/bin/$program" "$@"
}

# run_test PROGRAM PAGE_BYTES: prints a line with the numbers of tests. Fails if a test fails.
run_test() {
  local log="$BUILD/$1.$2.log" result=passed ran failed skipped start=$SECONDS
  emulate "$2" "$1" --gtest_color=no --gtest_filter="-$LEFT_OUT" >"$log" 2>&1 || result=FAILED
  ran=$(grep -oP '^\[==========\] \K[0-9]+(?= tests? from .* ran)' "$log" || printf '0 (ended early)')
  skipped=$(grep -oP '^\[  SKIPPED \] \K[0-9]+(?= tests?)' "$log" || printf 0)
  failed=$(grep -oP '^\[  FAILED  \] \K[0-9]+(?= tests?,)' "$log" || printf 0)
  printf '   %-22s %5s kB pages  %-6s  %5s run, %s failed, %s skipped, %s s\n' "$1" $(($2 / 1024)) "$result" "$ran" "$failed" \
    "$skipped" $((SECONDS - start))
  if [[ $result == FAILED ]]; then
    printf '%s\n' "the output is in $log" >&2
    return 1
  fi
}

run_tests() {
  local name failed=()
  for name in "$@"; do
    run_test "$name" 4096 || failed+=("$name")
    if [[ " ${LARGE_PAGES[*]} " == *" $name "* ]]; then run_test "$name" 65536 || failed+=("$name with 64 kB"); fi
  done
  ((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
}

# encode_rows FOLDER NAME DTYPE --normalize|--no-normalize COMMAND...: encodes FOLDER/rows.txt with `COMMAND run` to
# FOLDER/NAME.npy.
encode_rows() {
  local folder=$1 name=$2 dtype=$3 normalize=$4
  shift 4
  "$@" run --model "$DEPS/models/all-MiniLM-L6-v2" --input "$folder/rows.txt" --output "$folder/$name.npy" --dtype "$dtype" \
    "$normalize" --device cpu --no-progress >"$folder/log" 2>&1 || die "$(cat "$folder/log")"
}

# compare_files TEXT A B MOST: prints how far apart two matrices are. A difference above MOST is an error.
compare_files() {
  local facts
  facts=$("$ROOT/build/bin/encode" compare "$2" "$3" --max-difference "$4" --json) || die "$1: $facts"
  "$PYTHON" -c 'import json, sys
facts = json.load(sys.stdin)
print("   {}: {} of {} rows have the same bits, largest difference {:.1e}".format(
    sys.argv[1], facts["rows"] - facts["different_rows"], facts["rows"], facts["max_difference"]["max"]))' "$1" <<<"$facts"
}

# Linux would run a program of another processor only with binfmt_misc, so the worker is a script that runs the emulator.
compare_vectors() {
  local work dtype set
  if [[ ! -x $ROOT/build/bin/encode ]]; then
    say "no build/bin/encode: the vectors are not compared"
    return
  fi
  "$ROOT/scripts/models.sh" >/dev/null
  work=$(mktemp -d)
  printf 'row %s: the quick brown fox jumps over the lazy dog, and what does it see?\n' $(seq "$ROWS") >"$work/rows.txt"
  printf '#!/bin/sh\nexec qemu-aarch64 -L %s %s "$@"\n' "$SYSROOT" "$BUILD/bin/encode-worker" >"$work/worker"
  chmod +x "$work/worker"
  for dtype in float32 bfloat16 float16 int8; do
    ENCODE_WORKER="$work/worker" encode_rows "$work" "neon.$dtype" "$dtype" --no-normalize emulate 4096 encode
    ENCODE_CPU_CAPABILITY=avx2 encode_rows "$work" "avx2.$dtype" "$dtype" --no-normalize "$ROOT/build/bin/encode"
    compare_files "neon and avx2, $dtype, not normalized" "$work/neon.$dtype.npy" "$work/avx2.$dtype.npy" 0
  done
  ENCODE_WORKER="$work/worker" encode_rows "$work" neon float32 --normalize emulate 4096 encode
  for set in avx2 baseline; do
    ENCODE_CPU_CAPABILITY=$set encode_rows "$work" "$set" float32 --normalize "$ROOT/build/bin/encode"
    compare_files "neon and $set, float32" "$work/neon.npy" "$work/$set.npy" 1e-6
  done
  rm -rf "$work"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  if (($# == 0)); then set -- "${TESTS[@]}"; fi
  phase "tools" install_tools
  phase "sysroot" make_sysroot
  phase "LibTorch and Arrow" unpack_libraries
  phase "build" build "$@"
  phase "tests" run_tests "$@"
  phase "vectors" compare_vectors
  print_phases
}

main "$@"
