// Any text: the same ids from a warm word cache as from a cold one, all within the vocabulary, and
// a truncated row is the whole one cut where the header says. The first byte picks the tokenizer
// (tests/data/tokenizer).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/tokenizer.h"

namespace {

constexpr std::array<const char*, 8> kFamilies = {
    "wordpiece", "gpt2", "roberta", "qwen2", "llama3", "gemma", "llama2", "wordpiece_cased"};

const encode::Tokenizer& tokenizer_of(size_t index) {
  static std::array<std::unique_ptr<encode::Tokenizer>, kFamilies.size()> loaded;
  auto& tokenizer = loaded[index];
  if (tokenizer == nullptr) {
    tokenizer = encode::load_tokenizer_from_directory(std::string(ENCODE_TEST_DATA "/tokenizer/") +
                                                      kFamilies[index]);
  }
  return *tokenizer;
}

void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const encode::Tokenizer& tokenizer = tokenizer_of(data[0] % kFamilies.size());
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  encode::TokenizedRows rows;
  tokenizer.encode(text, {}, rows);
  tokenizer.encode(text, {}, rows);
  tokenizer.encode(text, {.max_length = 8}, rows);
  const auto whole = rows.row(0);
  const auto cut = rows.row(2);
  require(std::ranges::equal(whole, rows.row(1)));
  for (const int32_t id : whole) require(id >= 0 && id < tokenizer.vocab_size());
  require(cut.size() == std::min<size_t>(8, whole.size()));
  require(static_cast<size_t>(rows.lost_tokens[2]) == whole.size() - cut.size());
  require(cut.empty() || cut.front() == whole.front());
  return 0;
}
