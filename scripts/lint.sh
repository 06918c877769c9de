#!/usr/bin/env bash
# Checks formatting (clang-format 14), sizes, macros and paths (lint/limits.py), shell scripts (shellcheck), the links of docs/
# (site.sh), and C++ (clang-tidy 23, .clang-tidy).
#
# usage: scripts/lint.sh [--fix] [--tidy-minutes N]
#   --fix               formats the files before the checks
#   --tidy-minutes N    begins no clang-tidy of another source after N minutes; the output says how many are left
#
# Run scripts/setup.sh first; nothing need be built. A file that passed clang-tidy is checked again only if something changes on
# which the result depends (lint/tidy.py). ${XDG_CACHE_HOME:-~/.cache}/encode/tidy records this.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Prints the project's files that match the patterns: the tracked files and the new files that git does not ignore.
list_files() {
  git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    if [[ -e $file ]]; then printf '%s\n' "$file"; fi
  done
}

# Reports only the first line of each file that is formatted differently.
check_format() {
  local report
  if ! report=$(list_files '*.cc' '*.h' '*.cu' '*.cuh' | xargs "$CLANG_FORMAT" --dry-run -Werror 2>&1); then
    grep -oE '^[^ :]+:[0-9]+' <<<"$report" | sort -u -t: -k1,1 >&2
    die "these files are not formatted (the first line of each is above): run scripts/lint.sh --fix"
  fi
}

fix_format() { list_files '*.cc' '*.h' '*.cu' '*.cuh' | xargs "$CLANG_FORMAT" -i; }

check_shell() {
  list_files '*.sh' .ci/run | xargs shellcheck -x
}

# install_tool clang-format|clang-tidy: unpacks the program from its pinned wheel into .deps and prints its path.
install_tool() {
  local name=$1 package=${1//-/_} folder wheel
  folder="$DEPS/$name-$(pins "$name" | sha256sum | cut -c1-12)"
  if [[ ! -d $folder ]]; then
    wheel=$(fetch_wheels "$name")
    rm -rf "$folder.partial"
    mkdir -p "$folder.partial"
    unzip -q "$wheel" "$package/data/*" -d "$folder.partial"
    chmod +x "$folder.partial/$package/data/bin/$name"
    mv "$folder.partial" "$folder"
  fi
  printf '%s\n' "$folder/$package/data/bin/$name"
}

main() {
  local fix=0 tidy limit=()
  while (($#)); do
    case $1 in
      -h | --help) show_help && return ;;
      --fix) fix=1 ;;
      --tidy-minutes)
        [[ ${2:-} =~ ^[0-9]+$ ]] || die "--tidy-minutes needs a whole number"
        limit=(--minutes "$2")
        shift
        ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
    shift
  done
  cd "$ROOT"
  CLANG_FORMAT=$(install_tool clang-format)
  if ((fix)); then fix_format; fi
  say "clang-format"
  check_format
  say "limits"
  "$PYTHON" scripts/lint/limits.py
  say "shellcheck"
  check_shell
  say "site of docs/"
  scripts/site.sh
  tidy=$(install_tool clang-tidy)
  # This folder has the command of each source, and the one header that a build makes.
  cmake --preset dev -B build-tidy --log-level=WARNING -DTORCH_ROOT="$(torch_root)" -DENCODE_CUDA=OFF
  ninja -C build-tidy encode_commit
  "$PYTHON" scripts/lint/tidy.py --clang-tidy "$tidy" --build build-tidy --cache "$CACHE/tidy" --jobs "$(job_count)" "${limit[@]}"
}

main "$@"
