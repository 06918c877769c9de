#!/usr/bin/env bash
# Checks the page of `encode report` in Chromium: no error, marks in every chart, nothing wider than a phone, light and dark.
# Then it times the report of a million rows.
#
# usage: scripts/soak/report.sh [ROWS]       default: 1000000
#
# It needs a build and the run of scripts/quickstart.sh. It installs Chromium if it is missing. The screenshots are in
# .deps/report, or in the folder that ENCODE_SOAK_DIR names.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

WORK=${ENCODE_SOAK_DIR:-$DEPS/report}

# browse PAGE CHROMIUM-OPTION...
browse() {
  local page=$1
  shift
  timeout 120 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$WORK/profile" \
    --virtual-time-budget=5000 "$@" "file://$page" 2>>"$WORK/chromium.log"
}

# check_page PAGE: adds a script to a copy of the page, and expects that it finds no fault.
check_page() {
  local page=$1 width found
  "$PYTHON" "$ROOT/scripts/soak/report.py" probe "$page" "$page.probe.html"
  for width in 390 1120; do
    found=$(browse "$page.probe.html" --window-size="$width,2000" --dump-dom | grep -o 'PROBE[^<]*END' | tail -1)
    say "$(basename "$page"), $width pixels: $found"
    [[ $found == "PROBE charts="*" faults=0 END" ]] || die "the page has a fault; see $WORK"
  done
  browse "$page" --window-size=1120,2600 --screenshot="$page.light.png"
  browse "$page" --window-size=1120,2600 --blink-settings=preferredColorScheme=0 --screenshot="$page.dark.png"
  browse "$page.probe.html" --window-size=500,2600 --screenshot="$page.phone.png"
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  mkdir -p "$WORK"
  command -v chromium >/dev/null || apt-get install -qq --yes --no-install-recommends chromium fonts-dejavu-core
  cd "$ROOT"
  build/bin/encode report --config configs/quickstart.yaml --output "$WORK/quickstart.html"
  check_page "$WORK/quickstart.html"
  "$PYTHON" scripts/soak/report.py matrix "$WORK/large" "${1:-1000000}"
  phase "report of ${1:-1000000} rows" build/bin/encode report --config "$WORK/large/config.yaml" --output "$WORK/large.html"
  check_page "$WORK/large.html"
  print_phases
}

main "$@"
