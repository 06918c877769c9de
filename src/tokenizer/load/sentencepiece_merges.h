// The merges of a BPE model from sentencepiece. A .model file has no merges, only the scores of its
// pieces.
#pragma once

#include <string>
#include <vector>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

// A piece with the score that orders its merges.
struct ScoredPiece {
  std::string piece;
  double score = 0;
};

// Returns the merges in the order of generate_merges() in convert_slow_tokenizer.py of
// transformers: every way to cut a piece into two pieces. A piece with a higher score comes first,
// then a longer left side, then a longer right side. `pieces` are the tokens of `vocabulary` in the
// order of their ids. `file_ids` has the ids of the .model file, which decide between equal cuts.
// `where` names the file for messages. Throws Error (kConfig) "tokenizer.format" if a cut has a
// side that `vocabulary` does not have, and "tokenizer.unsupported" if the pieces are so long that
// this would take minutes.
std::vector<BpeMerge> sentencepiece_merges(const std::vector<ScoredPiece>& pieces,
                                           const Vocabulary& vocabulary, const Vocabulary& file_ids,
                                           const std::string& where);

}  // namespace encode
