#!/usr/bin/env bash
# Checks the page of `encode report` in Chromium: no error, marks in every chart, nothing wider than a phone, light and dark.
# One of the runs replaces its worker after every window, so that its record has a sample every second. Then the script times
# the report of a million rows of 384 numbers, and checks that its memory does not depend on the size of the matrix.
#
# usage: scripts/soak/report.sh [ROWS]         default: 1000000
#        scripts/soak/report.sh large [ROWS]   encodes ROWS short texts into 16 numbers each, and reports on them;
#                                              default: 50000000, which take 7 GB of the disk for the time of the check
#
# It needs a build and the run of scripts/quickstart.sh. It installs Chromium if it is missing. The screenshots are in
# .deps/report, or in the folder that ENCODE_SOAK_DIR names.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

WORK=${ENCODE_SOAK_DIR:-$DEPS/report}
ENCODE="$ROOT/build/bin/encode"
MOST_MB=100 # for the report of any matrix

helper() { "$PYTHON" "$ROOT/scripts/soak/report.py" "$@"; }

# browse PAGE CHROMIUM-OPTION...
browse() {
  local page=$1
  shift
  timeout 120 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$WORK/profile" \
    --virtual-time-budget=5000 "$@" "file://$page" 2>>"$WORK/chromium.log"
}

# probe_page PAGE WIDTH [KEY]: prints what a script finds in a copy of the page. KEY is as in report.py.
probe_page() {
  local page=$1 width=$2
  helper probe "$page" "$page.probe.html" "${@:3}"
  browse "$page.probe.html" --window-size="$width,2000" --dump-dom | grep -o 'PROBE[^<]*END' | tail -1
}

# check_page PAGE CHART...: expects that the page has no fault, and that it has charts with these labels.
check_page() {
  local page=$1 width found label
  shift
  for width in 390 1120; do
    found=$(probe_page "$page" "$width")
    say "$(basename "$page"), $width pixels: $found"
    [[ $found == "PROBE charts="*" faults=0 END" ]] || die "the page has a fault; see $WORK"
    for label in "$@"; do
      [[ $found == *[\(\ ]"$label"[,\)]* ]] || die "the page has no chart '$label'"
    done
  done
  browse "$page" --window-size=1120,3000 --screenshot="$page.light.png"
  browse "$page" --window-size=1120,3000 --blink-settings=preferredColorScheme=0 --screenshot="$page.dark.png"
  browse "$page.probe.html" --window-size=500,3000 --screenshot="$page.phone.png"
}

# A run whose worker is replaced after every window: each leaves a sample.
check_charts_over_time() {
  cat >"$WORK/timeline.yaml" <<END
semantic: {model: .deps/models/all-MiniLM-L6-v2, cache_dir: $WORK/timeline, chunk_size: 50}
hardware: {device: cpu, worker_chunks: 1}
data:
  streams: {tc: {field: text}, commit: {field: text}}
  splits: {demo: {tc: .deps/quickstart/tests.jsonl, commit: .deps/quickstart/changes.jsonl}}
END
  "$ENCODE" --config "$WORK/timeline.yaml" --fresh --no-progress --log-level warning
  "$ENCODE" report --config "$WORK/timeline.yaml" --output "$WORK/timeline.html"
  check_page "$WORK/timeline.html" 'throughput over time' 'memory over time' stages 'stages over time'
  # Without a number the chart has no marks: the check finds that.
  local found
  found=$(probe_page "$WORK/timeline.html" 1120 tokens_per_second)
  say "without the rates: $found"
  [[ $found == *"no marks: throughput over time"* ]] || die "the check does not find an empty chart"
}

# report_of NAME: makes the page of the run in $WORK/NAME.
report_of() {
  if helper measure 1 "$ENCODE" --version >/dev/null 2>&1; then die "the measurement of the memory does not work"; fi
  phase "report, $1" helper measure "$MOST_MB" "$ENCODE" report --config "$WORK/$1/config.yaml" --output "$WORK/$1.html"
}

encode_and_report() {
  local rows=$1 free_mb
  free_mb=$(df --output=avail -BM "$WORK" | tail -1 | tr -dc 0-9)
  ((free_mb > rows / 5000)) || die "$rows rows need $((rows / 5000)) MB in $WORK, and $free_mb MB are free"
  trap 'rm -rf "$WORK/static"' EXIT
  mkdir -p "$WORK/static"
  phase "texts" helper static "$WORK/static" "$rows"
  phase "encode" "$ENCODE" --config "$WORK/static/config.yaml" --no-progress --log-level warning
  du -sm "$WORK/static"
  report_of static
  check_page "$WORK/static.html" stages
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  mkdir -p "$WORK"
  command -v chromium >/dev/null || apt-get install -qq --yes --no-install-recommends chromium fonts-dejavu-core
  cd "$ROOT"
  if [[ ${1:-} == large ]]; then
    encode_and_report "${2:-50000000}"
    print_phases
    return
  fi
  "$ENCODE" report --config configs/quickstart.yaml --output "$WORK/quickstart.html"
  check_page "$WORK/quickstart.html" stages
  check_charts_over_time
  helper matrix "$WORK/matrix" "${1:-1000000}"
  report_of matrix
  check_page "$WORK/matrix.html"
  print_phases
}

main "$@"
