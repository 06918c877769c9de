#!/usr/bin/env bash
# Goes from a fresh clone to verified embeddings of real texts: set-up, build, demo model, sample, run, verify.
#
# usage: scripts/quickstart.sh [--rows N]
#   --rows N   the number of rows in each of the two streams (default 1000)
#
# The config is configs/quickstart.yaml. Its inputs are .deps/quickstart/{tests,changes}.jsonl, texts of the packages that are
# installed on this machine. A second run finds the matrices and encodes nothing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

SAMPLE="$DEPS/quickstart"
CONFIG=configs/quickstart.yaml

FRESH=()

row_count() { wc -l <"$1"; }

# Makes both streams. They have the same number of rows: $1, or fewer if the machine does not have enough texts. If it replaces
# another sample, FRESH lets the run make the matrices again.
make_sample() {
  local rows=$1 kind count
  if [[ -f $SAMPLE/tests.jsonl && $(cat "$SAMPLE/rows" 2>/dev/null) == "$rows" ]]; then
    say "sample: $(row_count "$SAMPLE/tests.jsonl") rows in each stream are already there"
    return
  fi
  if [[ -f $SAMPLE/rows ]]; then FRESH=(--fresh); fi
  for kind in tests changes; do
    "$PYTHON" "$ROOT/scripts/make_corpus.py" "$kind" --rows "$rows" --output "$SAMPLE/$kind.jsonl"
  done
  count=$(for kind in tests changes; do row_count "$SAMPLE/$kind.jsonl"; done | sort -n | head -1)
  ((count > 0)) || die "no texts on this machine: no Python sources, or no changelogs and no package descriptions"
  for kind in tests changes; do
    head -n "$count" "$SAMPLE/$kind.jsonl" >"$SAMPLE/$kind.partial"
    mv "$SAMPLE/$kind.partial" "$SAMPLE/$kind.jsonl"
  done
  printf '%s\n' "$rows" >"$SAMPLE/rows"
}

main() {
  local rows=1000
  case ${1:-} in
    -h | --help) show_help && return ;;
    --rows) rows=${2:-} ;;
    '') ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  [[ $rows =~ ^[1-9][0-9]*$ ]] || die "--rows needs a number of at least 1, found '$rows'"
  cd "$ROOT"
  phase set-up scripts/setup.sh --here
  say "the first build takes about 4 minutes on two fast cores, and up to 40 on a slow or busy machine"
  phase build scripts/build.sh --here
  phase "demo model" scripts/models.sh
  phase sample make_sample "$rows"
  phase encode build/bin/encode --config "$CONFIG" "${FRESH[@]}"
  phase verify build/bin/encode verify --config "$CONFIG"
  say "times"
  print_phases
  say "done: the config is $CONFIG, and the texts are in .deps/quickstart; now try this:"
  printf '   build/bin/encode search --config %s --stream demo_tc "parse a date"\n' "$CONFIG"
}

main "$@"
