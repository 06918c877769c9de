#!/usr/bin/env bash
# Records what a run leaves that an earlier version of encode has started: tests/data/old_run.
#
#   scripts/golden/make_old_run.sh ENCODE
#
# ENCODE is the program of the earlier version, with encode-worker beside it. The data come from the commit 8fb8971 (the
# last one with version 8 of the fingerprint), on a CPU with AVX512_BF16. chunks/ are the committed chunks of a run that
# was killed before its final matrix; vectors/ is its embedding cache.
set -euo pipefail

encode=$(realpath "$1")
data=$(realpath "$(dirname "$0")/../../tests/data")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$data/sentence_transformers/every_module" "$work/model"
cd "$work"
"$encode" run --model model --input model/texts.txt --cache-dir cache --chunk-size 2 --keep-chunks \
  --embedding-cache vectors --device cpu --no-progress
rm -rf "$data/old_run"
mkdir -p "$data/old_run"
cp -r cache/*_chunks "$data/old_run/chunks"
mkdir "$data/old_run/vectors"
cp vectors/data.mdb vectors/embedding_cache.json "$data/old_run/vectors"
