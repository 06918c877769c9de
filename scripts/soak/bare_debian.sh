#!/usr/bin/env bash
# Runs what users run in a bare Debian 12.
#
# usage: scripts/soak/bare_debian.sh                        cuda, then packages
#        scripts/soak/bare_debian.sh cuda
#        scripts/soak/bare_debian.sh quickstart [COMMIT]
#        scripts/soak/bare_debian.sh test [COMMIT [CACHES]]
#        scripts/soak/bare_debian.sh packages [--debian DIR]
#
#   cuda         runs scripts/setup.sh --cuda without an NVIDIA driver, and then build/bin/encode with the libraries that it has
#                installed. LibTorch's CUDA libraries must open; --device cuda must end with device.absent and its hint, and
#                --device auto must use the CPU. It needs a built encode of Debian 12 and 12 GB in TMPDIR; it downloads 2.7 GB
#                and takes about five minutes.
#   quickstart   runs scripts/quickstart.sh of a commit (default: HEAD) and prints the time of each step. It needs 8 GB in
#                TMPDIR. Nothing is shared with this machine: all downloads and all compiled objects are new.
#   test         does the same with scripts/test.sh: it builds everything and runs every test. It needs 16 GB in TMPDIR, and takes
#                about 40 minutes on two cores. With CACHES, a folder such as ~/.cache, downloads and compiled objects are taken
#                from there and kept there.
#   packages     makes all packages, and lets each encode and verify the sample (tests/data/minilm with all-MiniLM-L6-v2), compared
#                with the vectors of sentence-transformers: the wheel in a fresh venv of this machine, with torch from PyPI; in the
#                Debian the archive, the two Debian packages, and the steps of packaging/Containerfile and packaging/encode.def.
#                lintian finds no error in the Debian packages. Prints sizes and times. It needs lintian, a build, and 8 GB in
#                TMPDIR, and takes about ten minutes. --debian names a bare Debian that debootstrap made before; it is copied.
#
# It needs root and debootstrap.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib/debian.sh
. "$(dirname "$0")/lib/debian.sh"

VERSION=$(sed -n 's/^project(encode VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt")
ARCHIVE=$ROOT/out/encode-$VERSION-linux-x86_64.tar.zst
DEBS=("$ROOT/out/encode_${VERSION}_amd64.deb" "$ROOT/out/encode-libtorch_${VERSION}_amd64.deb")
# The sample, and what is run of it. `encode` is a command of the folder or machine under test.
RUN=(run --model model --input texts.jsonl --field text --output ours.npy --cache-dir cache --device cpu --quiet)

# Prepares the folder of a clone. Machines that reach the network through a proxy have certificates of their own.
make_clone() {
  local certificates=/etc/ssl/host/ca-certificates.crt
  FOLDER=/encode VARIABLES=(HOME=/encode/home PIP_CERT="$certificates" CURL_CA_BUNDLE="$certificates")
  mkdir -p "$DEBIAN/encode/.deps/models" "$DEBIAN/etc/ssl/host"
  cp /etc/ssl/certs/ca-certificates.crt "$DEBIAN/etc/ssl/host/"
}

# Removes the Debian, but only if the caches of the user are no longer mounted in it.
remove_all() {
  local caches=$DEBIAN/encode/home/.cache
  if mountpoint -q "$caches" && ! umount "$caches"; then
    warn "$caches is still mounted, so $WORK stays"
    return
  fi
  remove_debian
}

encode_on() { # DEVICE: prints the output and the exit code
  in_debian build/bin/encode run --model model --input texts.txt --output "$1.npy" --device "$1" --no-progress 2>&1 ||
    printf 'exit code %s\n' $?
}

check_programs() {
  local found line
  mkdir -p "$DEBIAN/encode/build/bin" "$DEBIAN/encode/build/lib"
  cp "$ROOT"/build/bin/encode{,-worker} "$DEBIAN/encode/build/bin/"
  cp "$ROOT/build/lib/libencode_cuda.so" "$DEBIAN/encode/build/lib/"
  cp -r "$ROOT/tests/data/sentence_transformers/static_embedding" "$DEBIAN/encode/model"
  printf 'one\ntwo\n' >"$DEBIAN/encode/texts.txt"
  VARIABLES+=(LD_LIBRARY_PATH=/encode/.deps/torch/torch/lib)
  found=$(encode_on cuda)
  for line in '^error\[device.absent\]' 'found *no NVIDIA driver on this machine' 'hint *use a machine with an NVIDIA GPU' '^exit code 69'; do
    grep -q "$line" <<<"$found" || die "--device cuda: no line '$line' in: $found"
  done
  found=$(in_debian build/bin/encode preflight --device cuda 2>&1 || true)
  grep -q 'found 0 CUDA devices' <<<"$found" || die "LibTorch's CUDA libraries do not open: $found"
  found=$(encode_on auto)
  grep -q 'model loaded on cpu' <<<"$found" || die "--device auto: $found"
}

check_cuda() {
  [[ -x $ROOT/build/bin/encode-worker ]] || die "no build/bin/encode-worker: run scripts/build.sh first"
  phase "debootstrap" make_debian
  make_clone
  git -C "$ROOT" ls-files -z scripts | tar -C "$ROOT" -c --null -T - | tar -C "$DEBIAN/encode" -x
  phase "setup.sh --cuda" in_debian scripts/setup.sh --cuda
  check_programs
  say "downloads and what is on disk:"
  du -sh "$DEBIAN"/encode/{home/.cache/encode,.deps/torch,.deps/cuda}
}

# check_script SCRIPT COMMIT [CACHES]: runs a script of a commit. A bare Debian has no git, so the commit comes as an archive.
check_script() {
  phase "debootstrap" make_debian
  make_clone
  if [[ ${3:-} ]]; then
    mkdir -p "$DEBIAN/encode/home/.cache"
    mount --bind "$3" "$DEBIAN/encode/home/.cache"
  fi
  git -C "$ROOT" archive "$2" | tar -C "$DEBIAN/encode" -x
  phase "$1" in_debian "scripts/$1"
  du -sh "$DEBIAN"/encode/{home/.cache/encode,.deps,build}
}

compare() { "$PYTHON" "$ROOT/scripts/bench/compare.py" matrices "$1/ours.npy" "$ROOT/tests/data/minilm/embeddings.npy"; }

make_sample() {
  mkdir -p "$1"
  cp -rL "$DEPS/models/all-MiniLM-L6-v2" "$1/model"
  cp "$ROOT/tests/data/minilm/texts.jsonl" "$ROOT/tests/data/arrow/texts.parquet" "$1/"
}

# encode_sample FOLDER COMMAND...: the command ends where the arguments of encode begin.
encode_sample() {
  local folder=$1
  shift
  "$@" --version
  "$@" "${RUN[@]}"
  "$@" verify ours.npy
  compare "$folder"
}

check_wheel() {
  local wheels site
  wheels=$(fetch_wheels torch-cpu arrow)
  "$PYTHON" -m venv "$WORK/venv"
  # Only LibTorch's libraries are used, so torch comes without the packages that its Python needs.
  # shellcheck disable=SC2086  # a list of paths without spaces
  "$WORK/venv/bin/pip" install --quiet --no-deps $wheels "$ROOT"/out/encode_embeddings-"$VERSION"-*.whl
  make_sample "$WORK/wheel"
  (
    cd "$WORK/wheel"
    unset TORCH_ROOT ARROW_ROOT
    encode_sample "$WORK/wheel" "$WORK/venv/bin/encode"
    "$WORK/venv/bin/encode" tokenize --model model --input texts.parquet --field text --output ids.jsonl >/dev/null
  )
  site=$("$WORK/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  say "wheel: $(du -sh "$site/encode_embeddings" | cut -f1) on disk without torch"
}

# The bare Debian has no Python, so TORCH_ROOT names the LibTorch.
check_archive() {
  mkdir -p "$DEBIAN/opt/encode" "$DEBIAN/opt/site"
  tar -C "$DEBIAN/opt/encode" --strip-components=1 --zstd -xf "$ARCHIVE"
  cp -rL "$(torch_root)" "$DEBIAN/opt/site/torch"
  cp -rL "$(torch_root)/../nvidia" "$DEBIAN/opt/site/nvidia"
  VARIABLES+=(TORCH_ROOT=/opt/site/torch)
  encode_sample "$DEBIAN/sample" in_debian /opt/encode/encode
  unset "VARIABLES[-1]"
  rm -rf "$DEBIAN/opt/site" "$DEBIAN/opt/encode" "$DEBIAN"/sample/{ours*,cache}
}

# Runs the steps of the Containerfile that change the file system; they install the Debian packages.
check_debs() {
  local step
  lintian --fail-on error --allow-root "${DEBS[@]}"
  mkdir -p "$DEBIAN/tmp/packages"
  cp "${DEBS[@]}" "$DEBIAN/tmp/packages/"
  while read -r step; do
    in_debian sh -euc "$step" >"$WORK/step.log" 2>&1 </dev/null || die "$step: $(tail -5 "$WORK/step.log")"
  done < <(sed -n 's/^RUN //p' "$ROOT/packaging/Containerfile")
  in_debian chown -R encode /sample
  encode_sample "$DEBIAN/sample" in_debian encode
  in_debian encode tokenize --model model --input texts.parquet --field text --output ids.jsonl >/dev/null
  # What the user would miss first: the manual page and the completions.
  [[ -e $DEBIAN/usr/share/bash-completion/completions/encode && -e $DEBIAN/usr/share/man/man1/encode.1.gz ]]
  # shellcheck disable=SC2016  # dpkg-query expands the fields
  say "Debian packages: $(in_debian dpkg-query -W -f='${Package} ${Installed-Size} kB\n' encode encode-libtorch | tr '\n' ';')"
  in_debian apt-get remove --yes encode encode-libtorch >/dev/null
  [[ ! -e $DEBIAN/usr/lib/encode ]] || die "files are left in /usr/lib/encode"
}

# Checks the syntax of the sections of encode.def, and that they do what the Containerfile does.
check_definition() {
  local section
  for section in setup post runscript test; do
    sed -n "/^%$section/,/^%/{/^%/!p}" "$ROOT/packaging/encode.def" | shellcheck -s sh -
  done
  local install='apt-get install --yes --no-install-recommends /tmp/packages/\*.deb libcurl4 ca-certificates'
  grep -q "$install" "$ROOT/packaging/Containerfile" && grep -q "$install" "$ROOT/packaging/encode.def"
}

check_packages() {
  command -v lintian >/dev/null || die "no lintian: apt-get install lintian"
  "$ROOT/scripts/models.sh"
  phase "packages" "$ROOT/scripts/package.sh" archive wheel deb libtorch
  phase "wheel" check_wheel
  phase "bare Debian" make_debian
  FOLDER=/sample VARIABLES=(DEBIAN_FRONTEND=noninteractive)
  make_sample "$DEBIAN/sample"
  phase "archive" check_archive
  phase "Debian packages" check_debs
  phase "Apptainer definition" check_definition
}

main() {
  local work failed=0
  case ${1:-} in
    -h | --help) show_help && return ;;
    cuda) work=(check_cuda) ;;
    quickstart | test) work=(check_script "$1.sh" "${2:-HEAD}" "${3:-}") ;;
    packages)
      work=(check_packages)
      if [[ ${2:-} == --debian ]]; then GIVEN=$3; fi
      ;;
    '')
      "$0" cuda || failed=1
      "$0" packages || failed=1
      return "$failed"
      ;;
    *) die "unknown check '$1'; see --help" ;;
  esac
  [[ $(id -u) == 0 ]] || die "chroot needs root"
  command -v debootstrap >/dev/null || die "no debootstrap: apt-get install debootstrap"
  WORK=$(mktemp -d)
  DEBIAN=$WORK/debian
  trap remove_all EXIT
  trap 'exit 143' TERM # so that the folders of this machine do not stay mounted
  "${work[@]}"
  print_phases
}

main "$@"
