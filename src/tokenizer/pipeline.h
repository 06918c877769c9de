// The tokenizer that a tokenizer.json describes: added tokens, normalizer, pre-tokenizer, model,
// special tokens and truncation, one after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encode/tokenizer.h"

#include "tokenizer/added_tokens.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/scratch_pool.h"
#include "tokenizer/split/pre_tokenizer.h"

namespace encode {

// A post-processor that takes white space off the ends of offsets.
struct OffsetTrim {
  bool add_prefix_space = false;
  // The row begins with special tokens already when this post-processor runs.
  bool after_prefix = false;
};

// The special tokens that a post-processor puts around the ids of a single text, and its effect on
// offsets.
struct SpecialTokens {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
  std::vector<OffsetTrim> trims;
  // Used while post-processors are loaded: BertProcessing and RobertaProcessing join the row and
  // the special tokens into one part, and TemplateProcessing leaves several parts.
  bool joined = false;
  bool split = false;
};

// Appends one row: the special tokens, and between them as many of `ids` as max_length leaves room
// for.
void append_row(std::span<const int32_t> ids, const SpecialTokens& special,
                const TokenizeOptions& options, TokenizedRows& rows);

struct PipelineParts {
  std::unique_ptr<Normalizer> normalizer;       // may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // may be null
  std::unique_ptr<Model> model;
  SpecialTokens special_tokens;
  AddedTokenFinder raw_tokens;         // looked for before normalization
  AddedTokenFinder normalized_tokens;  // looked for after normalization
  TokenSpellings tokens;               // "" for an id without a token
  std::string description;
};

std::unique_ptr<Tokenizer> make_pipeline(PipelineParts parts);

}  // namespace encode
