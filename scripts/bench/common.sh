# shellcheck shell=bash
# What parity.sh and bench.sh share; sourced after lib.sh.

# The interpreter that has sentence-transformers: ENCODE_REFERENCE_PYTHON, or an environment made for it.
reference_python() {
  local folder="$DEPS/reference" pins="$ROOT/scripts/bench/reference.txt"
  if [[ -n ${ENCODE_REFERENCE_PYTHON:-} ]]; then
    printf '%s\n' "$ENCODE_REFERENCE_PYTHON"
    return
  fi
  if ! cmp -s "$pins" "$folder/installed.txt"; then
    say "making the reference environment in .deps/reference (about 3 GB)" >&2
    "$PYTHON" -m venv --clear "$folder" >&2
    "$folder/bin/python" -m pip install --quiet --require-hashes -r "$ROOT/scripts/deps/pip.txt" >&2
    "$folder/bin/python" -m pip install --requirement "$pins" >&2
    cp "$pins" "$folder/installed.txt"
  fi
  printf '%s\n' "$folder/bin/python"
}

# real_rows ROWS: prints the path of a file of real texts, half of them functions, half changelog entries, each spread
# over 20 times as many.
real_rows() {
  local rows=$1 half=$(($1 / 2)) folder="$DEPS/bench" kind file
  file="$folder/rows-$rows.jsonl"
  if [[ ! -f $file ]]; then
    for kind in tests changes; do
      "$PYTHON" "$ROOT/scripts/make_corpus.py" "$kind" --rows $((half * 20)) --output "$folder/$kind.jsonl" >&2
      awk 'NR % 20 == 0' "$folder/$kind.jsonl" >>"$file.partial"
      rm "$folder/$kind.jsonl"
    done
    mv "$file.partial" "$file"
  fi
  printf '%s\n' "$file"
}
