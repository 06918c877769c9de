// How long the rows of an input are, in tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/tokenizer.h"

#include "run_plan/memory/memory_estimate.h"

namespace encode {

struct TextSurvey {
  TextFacts facts = {};  // `tokens` is extrapolated from the sample
  // The tokens of the sampled rows, after the cut at max_length, in the order of the file.
  std::vector<int32_t> sample = {};
  int64_t stride = 1;          // one row in `stride` rows is in the sample
  double truncated_share = 0;  // of the sampled rows
};

struct SurveyOptions {
  const Tokenizer* tokenizer = nullptr;  // null: every row must be token ids
  TokenizeOptions tokenize = {};
  std::string prompt = {};
};

// Reads all rows and tokenizes a sample of at most 16,384 rows and 32 MiB, spread evenly over the
// input. Throws what TextReader and Tokenizer::encode() throw, and Error kData "plan.rows" if the
// input has no rows.
TextSurvey survey_texts(const InputOptions& input, const SurveyOptions& options);

}  // namespace encode
