// Cuts any text by any rule, and checks the promises of tokenizer/passages.h: the passages tile the
// text, end where grapheme clusters end, and are the rows of their texts; late ones are spans of
// the windows of the row of the whole text.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/utf8.h"
#include "golden_cases.h"
#include "passage_promises.h"
#include "require.h"

namespace {

using encode::PassageRule;

constexpr std::array<const char*, 5> kFamilies = {"wordpiece", "gpt2", "llama2", "unigram",
                                                  "gemma"};
constexpr size_t kChoiceBytes = 5;

const encode::Tokenizer& tokenizer_of(size_t family) {
  static std::array<std::unique_ptr<encode::Tokenizer>, kFamilies.size()> loaded;
  std::unique_ptr<encode::Tokenizer>& tokenizer = loaded[family];
  if (tokenizer == nullptr) tokenizer = encode::testing::load_family(kFamilies[family]);
  return *tokenizer;
}

PassageRule rule_of(const uint8_t* choice) {
  PassageRule rule = {.max_tokens = 1 + choice[2] % 64,
                      .by = static_cast<encode::PassageUnit>(choice[1] % 3)};
  rule.overlap = choice[3] % rule.max_tokens;
  if ((choice[1] / 3) % 2 == 1) rule.vectors = encode::PassageVectors::kLate;
  return rule;
}

std::string repaired(std::string_view bytes) {
  std::string text;
  encode::append_repaired_utf8(bytes, text);
  return text;
}

}  // namespace

// A broken promise ends the program.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  GTEST_FLAG_SET(throw_on_failure, true);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kChoiceBytes) return 0;
  const encode::Tokenizer& tokenizer = tokenizer_of(data[0] % kFamilies.size());
  const PassageRule rule = rule_of(data);
  const std::string text =
      repaired({reinterpret_cast<const char*>(data) + kChoiceBytes, size - kChoiceBytes});
  // The frame is the begin of the text, so that it may end inside a cluster.
  const std::string frame = repaired(std::string_view(text).substr(0, data[4] % 8));
  const encode::FramedText framed = {.before = frame, .text = text, .after = frame};
  try {
    if (rule.late()) {
      encode::testing::expect_windows(tokenizer, rule, framed, 2 * rule.max_tokens + data[4] / 8);
    } else {
      encode::testing::expect_promises(tokenizer, rule, framed, "");
    }
  } catch (const encode::Error& error) {
    require(encode::refuses_row(error.detail().code) || error.detail().code == "model.max_length",
            "a text or a rule is refused only for its room");
  }
  return 0;
}
