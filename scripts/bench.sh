#!/usr/bin/env bash
# Times `encode run` and its peers on the same rows, with the same truncation and the same number of threads, and compares
# their outputs. A turn runs each program once. Prints a Markdown table with the medians and their ratios, and says what was
# timed.
#
# usage: scripts/bench.sh [--rows N] [--corpus C] [--runs N] [--threads N] [--model DIR] [--dtype T] [--peers P]
#                         [--min-ratio R]
#   --rows N        the number of rows (default 2000)
#   --corpus C      functions, changelogs, or mixed, which is half of each (default mixed)
#   --runs N        the number of turns (default 3)
#   --threads N     threads of each program (default: the cores of this machine)
#   --dtype T       types of encode, separated by commas: float32, bfloat16, int8 (default float32,bfloat16)
#   --peers P       peers, separated by commas: st, st-bf16 (sentence-transformers), ort (ONNX Runtime with its transformer
#                   optimizer), openvino, openvino-bf16, openvino-int8 (OpenVINO), llama-f16, llama-q8 (llama.cpp, which is
#                   compiled for it), ct2, ct2-int8 (CTranslate2) (default st,st-bf16,ort,openvino,ct2-int8)
#   --min-ratio R   exit with 1 unless encode is R times as fast as every peer; PEER=R limits one peer; may be repeated
#
# usage: scripts/bench.sh tokenizers [--rows N] [--runs N] [--min-ratio R] [TOKENIZER.json ..]
#   times the tokenizers alone against Hugging Face `tokenizers`, both with one thread and then both with two; the default
#   is 20000 rows and the vocabulary of the demo model
#
# usage: scripts/bench.sh stages [--rows N] [--corpus C] [--threads N] [--model DIR] [--dtype T] [--runs N] [--min-share T=S]
#   shows where a run's time goes, and compares its speed with the speed of the model's matrix products alone: `encode bench`
#   as Markdown
#
# usage: scripts/bench.sh chunks [--rows N] [--threads N] [--model DIR] [--dtype T] [--runs N]
#   times chunks of 1,000 and of 100 against standard mode, on functions and on changelog entries
#
# usage: scripts/bench.sh growth [--threads N] [--model DIR] [--dtype T] [--lengths ..] [--tokens N]
#   measures time and memory for 1,000 to 1,000,000 short rows, and for rows of 16 to 8,192 tokens
#
# ENCODE_REFERENCE_PYTHON has the same meaning as for scripts/parity.sh.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# install_llama PYTHON FOLDER: compiles llama-cpp-python for this processor into the environment of PYTHON, and puts the sources of
# llama.cpp, which have the converter of models, into FOLDER/llama.cpp.
install_llama() {
  local interpreter=$1 folder=$2 version
  version=$(pins llama-cpp | sed -n 's/^llama-cpp-python==//p')
  if [[ -d $folder/llama.cpp ]]; then return; fi
  say "compiling llama-cpp-python $version" >&2
  mkdir -p "$folder"
  "$interpreter" -m pip download --quiet --no-deps --no-binary llama-cpp-python --dest "$folder" "llama-cpp-python==$version" >&2
  "$interpreter" -m pip install --requirement <(pins llama-cpp) >&2
  tar -xzf "$folder/llama_cpp_python-$version.tar.gz" -C "$folder"
  mv "$folder/llama_cpp_python-$version/vendor/llama.cpp" "$folder/llama.cpp"
  rm -r "$folder/llama_cpp_python-$version" "$folder/llama_cpp_python-$version.tar.gz"
}

bench_tokenizers() {
  local rows=20000 python input options=() files=()
  while (($#)); do
    case $1 in
      --rows) rows=$2 && shift 2 ;;
      --runs | --min-ratio) options+=("$1" "$2") && shift 2 ;;
      -*) die "unknown option '$1'; see --help" ;;
      *) files+=("$1") && shift ;;
    esac
  done
  [[ -x $ROOT/build/bin/tokenize_lines ]] || die "no build/bin/tokenize_lines: run scripts/build.sh --all first"
  if ((${#files[@]} == 0)); then
    "$ROOT/scripts/models.sh"
    files=("$DEPS/models/all-MiniLM-L6-v2/tokenizer.json")
  fi
  python=$(reference_python)
  input=$(real_rows "$rows")
  "$python" "$ROOT/scripts/bench/compare.py" tokenizers --tool "$ROOT/build/bin/tokenize_lines" --input "$input" \
    "${options[@]}" "${files[@]}"
}

# Reads the flags of every mode except `tokenizers`. ROWS, CORPUS, MODEL, THREADS and PEERS are for this script. OPTIONS has the
# flags that this script passes on.
parse_flags() {
  ROWS=2000 CORPUS=mixed MODEL="$DEPS/models/all-MiniLM-L6-v2" THREADS=$(nproc) PEERS='' OPTIONS=()
  while (($#)); do
    case $1 in
      -h | --help) show_help && exit ;;
      --rows) ROWS=$2 ;;
      --corpus) CORPUS=$2 ;;
      --threads) THREADS=$2 ;;
      --model) MODEL=$2 ;;
      --peers) PEERS=$2 OPTIONS+=("$1" "$2") ;;
      --runs | --dtype | --min-ratio | --min-share | --seconds | --lengths | --tokens) OPTIONS+=("$1" "$2") ;;
      *) die "unknown option '$1'; see --help" ;;
    esac
    shift 2
  done
  [[ -x $ROOT/build/bin/encode ]] || die "no build/bin/encode: run scripts/build.sh first"
  "$ROOT/scripts/models.sh" >&2
}

# measure PYTHON SCRIPT COMMAND ARGUMENT...: runs a command of bench/SCRIPT.py with the flags that these commands have.
measure() {
  local python=$1 script=$2
  shift 2
  "$python" "$ROOT/scripts/bench/$script.py" "$@" --encode "$ROOT/build/bin/encode" --model "$MODEL" --threads "$THREADS" \
    "${OPTIONS[@]}"
}

main() {
  local mode=speed python input other
  case ${1:-} in
    tokenizers)
      shift
      bench_tokenizers "$@"
      return
      ;;
    stages | chunks | growth)
      mode=$1
      shift
      ;;
  esac
  parse_flags "$@"
  case $mode in
    speed)
      python=$(reference_python)
      if [[ $PEERS == *llama* ]]; then install_llama "$python" "$DEPS/bench/peers"; fi
      input=$(real_rows "$ROWS" "$CORPUS")
      measure "$python" compare speed --input "$input" --work "$DEPS/bench/peers"
      ;;
    stages)
      input=$(real_rows "$ROWS" "$CORPUS")
      measure "$PYTHON" measure stages --input "$input"
      ;;
    chunks)
      input=$(real_rows "$ROWS" functions)
      other=$(real_rows "$ROWS" changelogs)
      measure "$PYTHON" measure chunks "$input" "$other"
      ;;
    growth) measure "$PYTHON" measure growth ;;
  esac
}

main "$@"
