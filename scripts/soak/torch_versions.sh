#!/usr/bin/env bash
# Encodes with other versions of torch than the one of the build.
#
# usage: scripts/soak/torch_versions.sh                            parity, then wheel
#        scripts/soak/torch_versions.sh parity
#        scripts/soak/torch_versions.sh wheel [SUITE [DIR]]        SUITE: bookworm or trixie; the default is both
#
#   parity   builds a worker for each section torch-* of scripts/deps/pins.txt (scripts/torch_worker.sh) and encodes the sample
#            (tests/data/minilm with all-MiniLM-L6-v2) and 4,000 sentences with it. No element may differ by more than 1e-5 from the
#            vectors of sentence-transformers and from those of the build. A run that the build has begun is continued: it goes on
#            with a warning, and ends with 78 under hardware.strict_numerics. parity_test compares small models of every architecture
#            with Hugging Face. Warns if PyPI has a newer torch than the sections.
#   wheel    makes the wheel with these workers, installs it in a venv of a bare Debian 12 (bookworm) and 13 (trixie), and changes the
#            torch of the venv: with each, encode_embeddings.run() must give the vectors of sentence-transformers (1e-5), and with the
#            torch of the build the bits of the build. DIR is a Debian with python3-venv and ca-certificates that debootstrap made
#            before; it is copied. It needs root, debootstrap and 6 GB in TMPDIR, and downloads 2 GB for each SUITE.
#
# It needs the demo model (scripts/models.sh) and a build.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib/debian.sh
. "$(dirname "$0")/lib/debian.sh"

MODEL=$DEPS/models/all-MiniLM-L6-v2
SAMPLE=$ROOT/tests/data/minilm
ENCODE=$ROOT/build/bin/encode
LIMIT=1e-5
OPTIONS=(--model "$MODEL" --field text --device cpu --no-progress)
mapfile -t SERIES < <(sed -n 's/^\[torch-\([0-9.]*\)\]$/\1/p' "$ROOT/scripts/deps/pins.txt")

# Prints the version of torch that a section of the pins names.
pinned_torch() { pins "$1" | sed -n 's/^torch==\([0-9.]*\) .*/\1/p'; }

warn_of_newer() {
  local newest
  newest=$("$DEPS/venv/bin/pip" index versions torch 2>/dev/null | sed -n '1s/.*(\(.*\)).*/\1/p' || true)
  if [[ $newest && $newest != "$(pinned_torch "torch-${SERIES[-1]}")" ]]; then
    warn "PyPI has torch $newest: add it to scripts/deps/pins.txt"
  fi
}

# encode_with SERIES|build ARGUMENT...: runs `encode run` with a worker.
encode_with() {
  local series=$1 variables=()
  shift
  if [[ $series != build ]]; then
    variables=(ENCODE_WORKER="$ROOT/build-torch-$series/bin/encode-worker" TORCH_ROOT="$DEPS/torch-$series/torch")
  fi
  env "${variables[@]}" "$ENCODE" run "${OPTIONS[@]}" "$@"
}

compare() { "$PYTHON" "$ROOT/scripts/bench/compare.py" matrices --max-difference "$LIMIT" "$1" "$2"; }

# Prints the versions of LibTorch that have computed the rows of a matrix.
origins() { grep -o '"libtorch": *"[0-9.]*"' "$1.manifest.json" | grep -o '[0-9.]*"$' | tr -d '"' | sort -uV | paste -sd' '; }

# Begins a run of the 4,000 sentences with the worker of the build, and stops it after the first committed chunks.
begin_run() {
  local process
  "$ENCODE" run "${OPTIONS[@]}" --input sentences.jsonl --chunk-size 20 --cache-dir begun --output begun.npy >begun.log 2>&1 &
  process=$!
  until [[ $(find begun -name chunks.log -size +0 2>/dev/null) ]]; do
    kill -0 "$process" 2>/dev/null || die "the run ended before it was stopped: $(cat begun.log)"
    sleep 0.02
  done
  kill -TERM "$process"
  wait "$process" && die "the run was finished before it was stopped"
  say "stopped with $(find begun -name chunks.log -exec cat {} + | wc -l) of 200 chunks"
}

# go_on SERIES CACHE ARGUMENT...: continues the run of begin_run in a copy of its cache. Sets `code` to the exit code.
go_on() {
  local series=$1 cache=$2
  shift 2
  mkdir "$cache.out" # the name of the matrix is also that of the stream, so it stays the same
  cp -r begun "$cache"
  code=0
  encode_with "$series" --input sentences.jsonl --chunk-size 20 --cache-dir "$cache" --output "$cache.out/begun.npy" "$@" \
    >"$cache.log" 2>&1 || code=$?
}

# ends_with CODE LOG TEXT...: the run of go_on has ended with CODE, and its log has the texts.
ends_with() {
  local expected=$1 log=$2 text
  [[ $code == "$expected" ]] || die "$log: exit code $code, not $expected: $(cat "$log")"
  for text in "${@:3}"; do grep -q "$text" "$log" || die "$log has no '$text': $(cat "$log")"; done
}

check_series() {
  local series=$1 version code
  version=$(pinned_torch "torch-$series")
  encode_with "$series" --input "$SAMPLE/texts.jsonl" --cache-dir "sample-$series" --output "sample-$series.npy" --quiet
  [[ $(origins "sample-$series.npy") == "$version" ]] || die "the origin of the rows is '$(origins "sample-$series.npy")', not $version"
  say "torch $version and sentence-transformers"
  compare "sample-$series.npy" "$SAMPLE/embeddings.npy"
  encode_with "$series" --input sentences.jsonl --cache-dir "whole-$series" --output "whole-$series.npy" --quiet
  say "torch $version and torch $OWN, 4,000 sentences"
  compare "whole-$series.npy" whole-build.npy
  go_on "$series" "strict-$series" --set hardware.strict_numerics=true
  ends_with 78 "strict-$series.log" 'error\[run.other_device\]' "LibTorch $version" "LibTorch $OWN"
  go_on "$series" "mixed-$series"
  ends_with 0 "mixed-$series.log" 'computed on another kind of device' "LibTorch $version" "LibTorch $OWN"
  [[ $(origins "mixed-$series.out/begun.npy") == "$OWN $version" ]] || die "the origins are '$(origins "mixed-$series.out/begun.npy")'"
  "$ENCODE" verify "mixed-$series.out/begun.npy" >/dev/null
  say "a run that torch $OWN has begun and torch $version has finished; strict_numerics has refused it"
  compare "mixed-$series.out/begun.npy" whole-build.npy
}

# Runs parity_test with another version of LibTorch.
check_architectures() {
  local build="$ROOT/build-torch-$1"
  cmake -S "$ROOT" -B "$build" -DENCODE_TESTS=ON >/dev/null
  watched "parity_test with torch $1" ninja -C "$build" -j "$(job_count)" parity_test
  watched "parity_test with torch $1" "$build/bin/parity_test" --gtest_brief=1
}

check_parity() {
  local series code
  warn_of_newer
  phase "workers" "$ROOT/scripts/torch_worker.sh" "${SERIES[@]}"
  cd "$WORK"
  seq -f '{"text": "Sentence %.0f is one of many short sentences about nothing but its own number."}' 1 4000 >sentences.jsonl
  encode_with build --input sentences.jsonl --cache-dir whole-build --output whole-build.npy --quiet
  begin_run
  # With the same worker strict_numerics refuses nothing.
  go_on build strict-build --set hardware.strict_numerics=true
  ends_with 0 strict-build.log 'chunks are committed, continuing with the rest'
  for series in "${SERIES[@]}"; do
    phase "torch $series" check_series "$series"
    phase "architectures, torch $series" check_architectures "$series"
  done
}

# check_torch SECTION: changes the torch of the venv in the Debian, and encodes the sample.
check_torch() {
  local version wheels
  version=$(pinned_torch "$1")
  mapfile -t wheels < <(pins "$1" | sed -n 's/^\([a-z].*\) --hash.*/\1/p' | sed 's/ .*//')
  in_debian /opt/venv/bin/pip install --quiet --no-cache-dir --no-deps "${wheels[@]}"
  # torch comes without most of what it requires, but no requirement of the wheel may be broken.
  if in_debian /opt/venv/bin/pip check | grep -i '^encode'; then die "the wheel and torch $version do not fit together"; fi
  rm -rf "$DEBIAN"/sample/{ours*,theirs*,cache,.cache}
  in_debian /opt/venv/bin/python sample.py
  in_debian /opt/venv/bin/encode run --model model --input texts.jsonl --field text --device cpu --cache-dir cache --output theirs.npy --quiet
  [[ $(origins "$DEBIAN/sample/ours.npy") == "$version" ]] || die "the origin is '$(origins "$DEBIAN/sample/ours.npy")', not $version"
  compare "$DEBIAN/sample/ours.npy" "$SAMPLE/embeddings.npy"
  cmp "$DEBIAN/sample/ours.npy" "$DEBIAN/sample/theirs.npy"
  if [[ $1 == torch-cpu ]]; then cmp "$DEBIAN/sample/ours.npy" "$WORK/build.npy"; fi
}

# Another torch is refused, before a text is read.
check_refusal() {
  mkdir -p "$DEBIAN/opt/other"
  printf "__version__ = '2.12.1+cu130'\n" >"$DEBIAN/opt/other/version.py"
  VARIABLES+=(TORCH_ROOT=/opt/other)
  if in_debian /opt/venv/bin/python sample.py >"$WORK/refusal.log" 2>&1 || ! grep -q 'python.torch' "$WORK/refusal.log"; then
    die "torch 2.12 was not refused: $(cat "$WORK/refusal.log")"
  fi
  unset "VARIABLES[-1]"
  sed -n '/python.torch/,$p' "$WORK/refusal.log"
}

make_sample() {
  mkdir -p "$DEBIAN/sample" "$DEBIAN/etc/ssl/host"
  cp /etc/ssl/certs/ca-certificates.crt "$DEBIAN/etc/ssl/host/" # a proxy of this machine may have certificates of its own
  cp -rL "$MODEL" "$DEBIAN/sample/model"
  cp "$SAMPLE/texts.jsonl" "$ROOT"/out/encode_embeddings-*.whl "$DEBIAN/sample/"
  cat >"$DEBIAN/sample/sample.py" <<'PYTHON'
import json
import encode_embeddings
texts = [json.loads(line)["text"] for line in open("texts.jsonl")]
encode_embeddings.run(texts, model="model", device="cpu", output="ours.npy", progress=False)
PYTHON
}

check_suite() {
  local section
  SUITE=$1 INCLUDE=python3-venv,ca-certificates
  phase "a bare Debian ($SUITE)" make_debian
  make_sample
  in_debian python3 -m venv /opt/venv
  phase "the wheel" in_debian sh -c '/opt/venv/bin/pip install --quiet --no-cache-dir numpy "pyarrow==26.*" &&
    /opt/venv/bin/pip install --quiet --no-deps ./encode_embeddings-*.whl'
  for section in torch-cpu "${SERIES[@]/#/torch-}"; do phase "$SUITE, torch $(pinned_torch "$section")" check_torch "$section"; done
  check_refusal
  unmount_debian
  rm -rf --one-file-system "$DEBIAN"
}

check_wheel() {
  local suite
  [[ $(id -u) == 0 ]] || die "chroot needs root"
  command -v debootstrap >/dev/null || die "no debootstrap: apt-get install debootstrap"
  phase "the package" "$ROOT/scripts/package.sh" wheel "${SERIES[@]/#/--torch=}"
  (cd "$WORK" && encode_with build --input "$SAMPLE/texts.jsonl" --cache-dir build --output build.npy --quiet)
  DEBIAN=$WORK/debian FOLDER=/sample
  VARIABLES=(HOME=/sample PIP_CERT=/etc/ssl/host/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore)
  for suite in "$@"; do check_suite "$suite"; done
}

main() {
  local work=(check_parity) failed=0
  case ${1:-} in
    -h | --help) show_help && return ;;
    parity) ;;
    wheel)
      work=(check_wheel "${2:-bookworm}")
      if [[ ! ${2:-} ]]; then work+=(trixie); fi
      GIVEN=${3:-}
      ;;
    '')
      "$0" parity || failed=1
      "$0" wheel || failed=1
      return "$failed"
      ;;
    *) die "unknown check '$1'; see --help" ;;
  esac
  [[ -x $ROOT/build/bin/encode-worker ]] || die "no build/bin/encode-worker: run scripts/build.sh first"
  "$ROOT/scripts/models.sh"
  OWN=$(pinned_torch torch-cpu)
  WORK=$(mktemp -d)
  DEBIAN=$WORK/debian
  trap remove_debian EXIT
  "${work[@]}"
  print_phases
}

main "$@"
