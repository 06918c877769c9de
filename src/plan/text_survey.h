// How long the rows of an input are, in tokens, and what padding them would cost. Any thread may
// call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/tokenizer.h"

#include "run_plan/memory/memory_estimate.h"
#include "tokenizer/passages.h"

namespace encode {

struct TextSurvey {
  TextFacts facts = {};  // `tokens` is extrapolated from the sample
  // The tokens of the sampled rows, after the cut at max_length, or of their passages, or of their
  // windows with PassageVectors::kLate, in the order of the file.
  std::vector<int32_t> sample = {};
  int64_t sampled_rows = 0;
  int64_t stride = 1;          // one row in `stride` rows is in the sample
  double truncated_share = 0;  // the share of sampled rows that are truncated
};

struct SurveyOptions {
  std::string model_path = {};
  const Tokenizer* tokenizer = nullptr;  // null: every row must be token ids
  TokenizeOptions tokenize = {};
  std::string prompt = {};
  std::optional<PassageRule> passages = {};  // cuts the rows, if it is given
  FrameText frame = {};                      // as in PassageSettings
};

// Reads all rows and tokenizes a sample of at most 16,384 rows and 32 MiB, spread evenly over the
// input. Throws what TextReader and Tokenizer::encode() throw, and Error kData "plan.rows" if the
// input has no rows.
TextSurvey survey_texts(const InputOptions& input, const SurveyOptions& options);

// What padding would cost in programs that pad: the number of computed positions for each real
// token. 1 means no waste; encode packs rows without padding.
struct PaddingCost {
  double longest = 1;     // each batch is padded to its longest row
  double max_length = 1;  // every row is padded to max_length
};

// `sample` has the tokens of rows in the order of the file, and is not empty. Each batch takes the
// next `batch_rows` rows.
PaddingCost padding_cost(std::span<const int32_t> sample, int64_t batch_rows, int64_t max_length);

}  // namespace encode
