#!/usr/bin/env bash
# Builds the site of docs/ with mkdocs (mkdocs.yml). A dead link, a dead anchor, a page that mkdocs.yml does not name, and
# anything that a page would load from another host are errors.
#
# usage: scripts/site.sh [--config FILE] [FOLDER]
#   --config FILE    builds another site than mkdocs.yml (for the tests)
#   FOLDER           receives the site; the default is out/site
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Unpacks mkdocs, the theme and what they need from their pinned wheels into .deps and prints the folder. Compiled parts of
# the wheels belong to one version of Python; for another version these packages have a part in Python.
install_mkdocs() {
  local folder wheel
  folder="$DEPS/mkdocs-$(pins mkdocs | sha256sum | cut -c1-12)"
  if [[ ! -d $folder ]]; then
    rm -rf "$folder.partial"
    mkdir -p "$folder.partial"
    while read -r wheel; do
      unzip -q -o "$wheel" -d "$folder.partial"
    done < <(fetch_wheels mkdocs)
    mv "$folder.partial" "$folder"
  fi
  printf '%s\n' "$folder"
}

# check_hosts SITE: fails if a page or a style sheet loads something from another host.
check_hosts() {
  local loads='<(script|link|img|iframe|source)[^>]* (src|href)="?(https?:)?//[^" >]*|url\(["'\'']?(https?:)?//[^)]*'
  if grep -rnoE --include='*.html' --include='*.css' "$loads" "$1"; then
    die "the site would load the addresses above from other hosts"
  fi
}

main() {
  local config="$ROOT/mkdocs.yml" site="$ROOT/out/site" packages report
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  if [[ ${1:-} == --config ]]; then
    config=$2
    shift 2
  fi
  if (($#)); then site=$1; fi
  packages=$(install_mkdocs)
  # NO_MKDOCS_2_WARNING switches off a long notice of the theme. With --quiet mkdocs would not count its warnings.
  if ! report=$(NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$packages \
    "$PYTHON" -m mkdocs build --strict --clean --config-file "$config" --site-dir "$(realpath -m "$site")" 2>&1); then
    grep -v '^INFO' <<<"$report" >&2
    die "the site of $config has the mistakes above"
  fi
  check_hosts "$site"
}

main "$@"
