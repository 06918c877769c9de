// Tokenizes the texts of a window, and cuts them into passages if the plan has a cutter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encode/store.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "base/thread_pool.h"
#include "batching/sequences.h"
#include "job/tokenize_plan.h"

namespace encode {

// Texts as sequences of token ids: one for each text, or those of CutText.
struct TokenizedTexts {
  TokenizedRows sequences;
  SequenceVectors vectors = {};  // with PassageVectors::kLate, of the passages
  // With passages, their places. PassagePlace::row is the number of the text, counted from 0; a
  // text of token ids, which is a row that was set aside, has no passage.
  std::vector<PassagePlace> passages = {};
  std::vector<int32_t> lost_tokens = {};  // [passages], what max_tokens cut off from each
  // The texts that cannot be cut (refuses_row()), ascending. They have no passage, and
  // SetAsideRow::row is the number of the text.
  std::vector<SetAsideRow> refused = {};
};

// Appends the sequences of `part`, with their vectors, to `whole`. Throws no Error.
void append(const TokenizedTexts& part, Sequences& whole);

// Works on several threads, in contiguous slices. One thread at a time may call run().
class SliceTokenizer {
 public:
  // The plan must outlive the object.
  explicit SliceTokenizer(const TokenizePlan& plan) : plan_(plan), pool_(plan.threads, [] {}) {}

  // Throws what Tokenizer::encode() throws, with the place of the text, and Error kData
  // "batch.token_id" if the model does not have a token id.
  TokenizedTexts run(const std::vector<Text>& texts);

 private:
  void tokenize(const Text& text, TokenizedRows& rows) const;
  void cut(const Text& text, int64_t number, TokenizedTexts& part) const;
  void check_ids(const Text& text, std::span<const int32_t> ids) const;

  const TokenizePlan& plan_;
  ThreadPool pool_;
};

}  // namespace encode
