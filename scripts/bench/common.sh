# shellcheck shell=bash
# Functions that parity.sh, bench.sh and soak/chunk_sizes.sh share. They source this file after lib.sh.

# Prints the interpreter that has sentence-transformers: ENCODE_REFERENCE_PYTHON, or an environment that is made here.
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

# install_llama PYTHON FOLDER: compiles llama-cpp-python for this processor into the environment of PYTHON, and puts the sources of
# llama.cpp, which have the converter of models, into FOLDER/llama.cpp.
install_llama() {
  local interpreter=$1 folder=$2 version
  version=$(sed -n 's/^llama-cpp-python==//p' "$ROOT/scripts/bench/llama_cpp.txt")
  if [[ -d $folder/llama.cpp ]]; then return; fi
  say "compiling llama-cpp-python $version" >&2
  mkdir -p "$folder"
  "$interpreter" -m pip download --quiet --no-deps --no-binary llama-cpp-python --dest "$folder" "llama-cpp-python==$version" >&2
  "$interpreter" -m pip install --requirement "$ROOT/scripts/bench/llama_cpp.txt" >&2
  tar -xzf "$folder/llama_cpp_python-$version.tar.gz" -C "$folder"
  mv "$folder/llama_cpp_python-$version/vendor/llama.cpp" "$folder/llama.cpp"
  rm -r "$folder/llama_cpp_python-$version" "$folder/llama_cpp_python-$version.tar.gz"
}

# real_rows ROWS [mixed|functions|changelogs]: prints the path of a file of ROWS real texts. For variety the file has every
# 20th text of a corpus of 20 x ROWS texts. "mixed" is half functions and half changelog entries.
real_rows() {
  local rows=$1 corpus=${2:-mixed} folder="$DEPS/bench" kinds kind each file
  case $corpus in
    mixed) kinds=(tests changes) file="$folder/rows-$rows.jsonl" ;;
    functions) kinds=(tests) file="$folder/functions-$rows.jsonl" ;;
    changelogs) kinds=(changes) file="$folder/changelogs-$rows.jsonl" ;;
    *) die "no corpus '$corpus': mixed, functions or changelogs" ;;
  esac
  if [[ ! -f $file ]]; then
    rm -f "$file.partial"
    each=$((rows / ${#kinds[@]}))
    for kind in "${kinds[@]}"; do
      "$PYTHON" "$ROOT/scripts/make_corpus.py" "$kind" --rows $((each * 20)) --output "$folder/$kind.jsonl" >&2
      awk 'NR % 20 == 0' "$folder/$kind.jsonl" >>"$file.partial"
      rm "$folder/$kind.jsonl"
    done
    mv "$file.partial" "$file"
  fi
  printf '%s\n' "$file"
}
