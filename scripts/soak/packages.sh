#!/usr/bin/env bash
# Proves that the packages work where they are meant to: makes them all, and lets each encode and verify the sample
# (tests/data/minilm with all-MiniLM-L6-v2), compared with the vectors of sentence-transformers.
#   - the wheel in a fresh venv, with torch from PyPI;
#   - the archive, and the two Debian packages, each in a bare Debian 12;
#   - the steps of packaging/Containerfile and packaging/encode.def in the Debian with the packages.
# lintian finds no error in the Debian packages. Prints sizes and times.
#
# usage: scripts/soak/packages.sh [--debian DIR]
#   --debian DIR   a bare Debian 12 that debootstrap made before; it is copied
#
# It needs root, debootstrap, lintian, a build, and 8 GB in TMPDIR. It takes about ten minutes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

VERSION=$(sed -n 's/^project(encode VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt")
ARCHIVE=$ROOT/out/encode-$VERSION-linux-x86_64.tar.zst
DEBS=("$ROOT/out/encode_${VERSION}_amd64.deb" "$ROOT/out/encode-libtorch_${VERSION}_amd64.deb")
# The sample, and what is run of it. `encode` is a command of the folder or machine under test.
RUN=(run --model model --input texts.jsonl --field text --output ours.npy --cache-dir cache --device cpu --quiet)

compare() { "$PYTHON" "$ROOT/scripts/bench/compare_embeddings.py" "$1/ours.npy" "$ROOT/tests/data/minilm/embeddings.npy"; }

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
  wheels=$(fetch_wheels "$ROOT/scripts/deps/torch-cpu.txt" "$ROOT/scripts/deps/arrow.txt")
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

# in_debian COMMAND...: runs a command in the folder /sample of the Debian.
in_debian() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive TORCH_ROOT="${FOREIGN_TORCH:-}" \
    chroot "$DEBIAN" sh -c 'cd /sample && exec "$@"' sh "$@"
}

make_debian() {
  if [[ -n $GIVEN ]]; then
    cp -a "$GIVEN" "$DEBIAN"
  else
    debootstrap --variant=minbase bookworm "$DEBIAN" >"$WORK/debootstrap.log" 2>&1 || die "$(tail -3 "$WORK/debootstrap.log")"
  fi
  cp /etc/resolv.conf "$DEBIAN/etc/"
  mount -t proc proc "$DEBIAN/proc"
  mount --bind /dev "$DEBIAN/dev"
  make_sample "$DEBIAN/sample"
}

# The bare Debian has no Python, so TORCH_ROOT names the LibTorch.
check_archive() {
  mkdir -p "$DEBIAN/opt/encode" "$DEBIAN/opt/site"
  tar -C "$DEBIAN/opt/encode" --strip-components=1 --zstd -xf "$ARCHIVE"
  cp -rL "$(torch_root)" "$DEBIAN/opt/site/torch"
  cp -rL "$(torch_root)/../nvidia" "$DEBIAN/opt/site/nvidia"
  FOREIGN_TORCH=/opt/site/torch encode_sample "$DEBIAN/sample" in_debian /opt/encode/encode
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

main() {
  GIVEN=''
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --debian) GIVEN=$2 && shift 2 ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
  done
  [[ $(id -u) == 0 ]] || die "chroot needs root"
  for program in debootstrap lintian; do command -v "$program" >/dev/null || die "no $program: apt-get install $program"; done
  "$ROOT/scripts/models.sh"
  WORK=$(mktemp -d)
  DEBIAN=$WORK/debian
  trap 'umount -q "$DEBIAN/proc" "$DEBIAN/dev" || true; rm -rf --one-file-system "$WORK"' EXIT
  phase "packages" "$ROOT/scripts/package.sh" archive wheel deb libtorch
  phase "wheel" check_wheel
  phase "bare Debian" make_debian
  phase "archive" check_archive
  phase "Debian packages" check_debs
  phase "Apptainer definition" check_definition
  print_phases
}

main "$@"
