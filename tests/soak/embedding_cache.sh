#!/usr/bin/env bash
# Measures the embedding cache, and tries to make it give a wrong row.
#
# usage: tests/soak/embedding_cache.sh [PART...]      the default is all parts: kills two store rows overhead
#
# kills      200 writers are killed at random moments; then no row may be wrong
# two        two processes write at once; then no row may be wrong
# store      STORE_ROWS rows (default: 10,000,000, about 17 GB) on disk: the time to open, and lookups on one core
# rows       50,621 rows with 40 % duplicates, cold and warm, with another chunk size and order
# overhead   distinct rows in turns with and without the cache: the CPU seconds of five runs each
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

readonly WORK=${ENCODE_SOAK_DIR:-$DEPS/embedding_cache}
readonly LOAD="$ROOT/build/bin/cache_load"
readonly MODEL="$DEPS/models/all-MiniLM-L6-v2"
readonly DIM=384 ROWS=50621 DISTINCT=30373

kills() {
  local dir="$WORK/kills" n begin
  rm -rf "$dir"
  for ((n = 0; n < 200; ++n)); do
    begin=$((RANDOM % 10 * 4000))
    "$LOAD" fill "$dir" $begin 1000000 $DIM 200000000 >/dev/null &
    sleep "0.$(printf %03d $((RANDOM % 250)))"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
  done
  "$LOAD" check "$dir" 0 1000000 $DIM
  "$ROOT/build/bin/encode" cache verify --dir "$dir"
  rm -rf "$dir"
}

two() {
  local dir="$WORK/two" first
  rm -rf "$dir"
  "$LOAD" fill "$dir" 0 200000 $DIM 1000000000 &
  first=$!
  "$LOAD" fill "$dir" 100000 300000 $DIM 1000000000
  wait "$first"
  "$LOAD" check "$dir" 0 300000 $DIM
  "$ROOT/build/bin/encode" cache verify --dir "$dir"
  rm -rf "$dir"
}

store() {
  local dir="$WORK/store" rows=${STORE_ROWS:-10000000}
  rm -rf "$dir"
  "$LOAD" fill "$dir" 0 "$rows" $DIM 40000000000
  du -h "$dir/data.mdb"
  # The page cache cannot drop what is not yet on disk.
  sync "$dir/data.mdb"
  "$PYTHON" -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)' "$dir/data.mdb"
  say "cold"
  "$LOAD" look "$dir" "$rows" $DIM 200000
  cat "$dir/data.mdb" >/dev/null
  say "from the page cache"
  "$LOAD" look "$dir" "$rows" $DIM 2000000
  "$LOAD" look "$dir" "$rows" $DIM 2000000
  rm -rf "$dir"
}

# Writes DISTINCT distinct texts to texts.txt, and ROWS rows of them in two orders to first.txt and second.txt.
make_texts() {
  [[ -f $WORK/second.txt ]] && return
  "$PYTHON" - "$WORK" $ROWS $DISTINCT <<'PYTHON'
import random, sys
folder, rows, distinct = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(20)
words = sorted({w for line in open("/usr/share/common-licenses/GPL-3") for w in line.split() if w.isascii()})
texts = [f"{n} " + " ".join(random.choices(words, k=random.randint(5, 40))) for n in range(distinct)]
open(f"{folder}/texts.txt", "w").write("\n".join(texts) + "\n")
many = texts + random.choices(texts, k=rows - distinct)
for name in ("first", "second"):
    random.shuffle(many)
    open(f"{folder}/{name}.txt", "w").write("\n".join(many) + "\n")
PYTHON
}

encode_texts() { # NAME INPUT FLAG...
  local name=$1 input=$2
  shift 2
  rm -rf "$WORK/$name.npy"*
  "$ROOT/build/bin/encode" run --model "$MODEL" --input "$WORK/$input.txt" --device cpu --output "$WORK/$name.npy" \
    --no-progress "$@" 2>&1 | tee "$WORK/$name.log" | grep -E "requests found|equal to another|peak memory" || true
}

rows() {
  local cache="$WORK/vectors"
  rm -rf "$cache"
  encode_texts cold first --embedding-cache "$cache"
  encode_texts warm second --embedding-cache "$cache" --chunk-size 333
  encode_texts plain second --chunk-size 5000
  cmp "$WORK/warm.npy" "$WORK/plain.npy"
  say "the warm matrix has the bytes of the run without a cache"
}

cpu_seconds() { # COMMAND...
  "$PYTHON" -c 'import os, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
t = os.times()
print(f"{t.children_user + t.children_system:.2f}")' "$@"
}

overhead() {
  local turn
  head -n "${OVERHEAD_ROWS:-2000}" "$WORK/texts.txt" >"$WORK/few.txt"
  for turn in 1 2 3 4 5; do
    rm -rf "$WORK"/few.npy* "$WORK/fresh"
    say "off $(cpu_seconds "$ROOT/build/bin/encode" run --model "$MODEL" --input "$WORK/few.txt" --device cpu \
      --output "$WORK/few.npy" --quiet --no-progress)"
    rm -rf "$WORK"/few.npy*
    say "on  $(cpu_seconds "$ROOT/build/bin/encode" run --model "$MODEL" --input "$WORK/few.txt" --device cpu \
      --output "$WORK/few.npy" --quiet --no-progress --embedding-cache "$WORK/fresh") (turn $turn)"
  done
}

main() {
  local part
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    show_help
    return
  fi
  (($# > 0)) || set -- kills two store rows overhead
  mkdir -p "$WORK"
  make_texts
  for part in "$@"; do
    say "== $part"
    case $part in
      kills | two | store | rows | overhead) "$part" ;;
      *) die "no part '$part': kills, two, store, rows or overhead" ;;
    esac
  done
}

main "$@"
