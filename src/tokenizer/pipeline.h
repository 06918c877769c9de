// The tokenizer of a tokenizer.json: added tokens, normalizer, pre-tokenizer, model, special
// tokens, truncation.
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
  bool after_prefix = false;  // it runs when the row begins with special tokens already
};

// What a post-processor puts around the ids of a single text, and does to offsets.
struct SpecialTokens {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
  std::vector<OffsetTrim> trims;
  // While they are loaded: BertProcessing and RobertaProcessing make one part of the row and what
  // they add, TemplateProcessing leaves several.
  bool joined = false;
  bool split = false;
};

// Appends one row: special tokens around as many of `ids` as max_length leaves room for.
void append_row(std::span<const int32_t> ids, const SpecialTokens& special,
                const TokenizeOptions& options, TokenizedRows& rows);

struct PipelineParts {
  std::unique_ptr<Normalizer> normalizer;       // null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<Model> model;
  SpecialTokens special_tokens;
  AddedTokenFinder raw_tokens;         // looked for before normalization
  AddedTokenFinder normalized_tokens;  // and after it
  TokenSpellings tokens;               // "" for an id without one
  std::string description;
};

std::unique_ptr<Tokenizer> make_pipeline(PipelineParts parts);

}  // namespace encode
