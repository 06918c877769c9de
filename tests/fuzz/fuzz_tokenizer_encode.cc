// Encodes any text between two recorded texts, with a special token before and after it. These
// properties must hold:
// - the ids before and after the text are the ids that Hugging Face `tokenizers` gave for the
//   recorded texts (tests/data/tokenizer);
// - every id is within the vocabulary;
// - a second call, with a warm word cache, gives the same ids;
// - a truncated row has the length and the lost tokens that encode/tokenizer.h describes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "support/paths.h"

namespace {

struct Family {
  const char* name;
  const char* separator;  // an added token that keeps the white space around it
};
constexpr std::array<Family, 10> kFamilies = {{{"wordpiece", "[SEP]"},
                                               {"gpt2", "<|endoftext|>"},
                                               {"roberta", "</s>"},
                                               {"qwen2", "<|endoftext|>"},
                                               {"llama3", "<|end_of_text|>"},
                                               {"gemma", "<eos>"},
                                               {"llama2", "<eos>"},
                                               {"wordpiece_cased", "[SEP]"},
                                               {"unigram", "</s>"},
                                               {"unigram_bytes", "</s>"}}};

using Ids = std::vector<int32_t>;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

struct Recorded {
  std::string text;
  Ids ids;  // without special tokens
};

struct Subject {
  std::unique_ptr<encode::Tokenizer> tokenizer;
  std::string separator;
  Ids separator_ids;
  std::vector<Recorded> cases;
};

Ids encode_one(const Subject& subject, const std::string& text,
               const encode::TokenizeOptions& options) {
  encode::TokenizedRows rows;
  subject.tokenizer->encode(text, options, rows);
  return rows.ids;
}

Subject load(const Family& family) {
  const std::string folder = encode::testing::test_data(std::string("tokenizer/") + family.name);
  Subject subject;
  subject.tokenizer = encode::load_tokenizer_from_directory(folder);
  subject.separator = family.separator;
  subject.separator_ids = encode_one(subject, subject.separator, {.add_special_tokens = false});
  require(subject.separator_ids.size() == 1);
  std::ifstream lines(folder + "/cases.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto json = encode::Json::parse(line);
    subject.cases.push_back({json["text"].get<std::string>(), json["plain"].get<Ids>()});
  }
  return subject;
}

const Subject& subject_of(size_t index) {
  static std::array<Subject, kFamilies.size()> loaded;
  Subject& subject = loaded[index];
  if (subject.tokenizer == nullptr) subject = load(kFamilies[index]);
  return subject;
}

// Requires that `ids` begin with the ids of `before` and the separator, and end with the separator
// and the ids of `after`.
void require_recorded(const Subject& subject, const Recorded& before, const Ids& ids,
                      const Recorded& after) {
  Ids head = before.ids;
  head.push_back(subject.separator_ids[0]);
  Ids tail = subject.separator_ids;
  tail.insert(tail.end(), after.ids.begin(), after.ids.end());
  require(ids.size() >= head.size() + tail.size() - 1);
  require(std::equal(head.begin(), head.end(), ids.begin()));
  require(std::equal(tail.rbegin(), tail.rend(), ids.rbegin()));
}

void require_truncation(const Subject& subject, const std::string& text, int64_t max_length) {
  encode::TokenizedRows rows;
  subject.tokenizer->encode(text, {}, rows);
  subject.tokenizer->encode(text, {.max_length = max_length}, rows);
  const auto whole = rows.row(0);
  const auto cut = rows.row(1);
  for (const int32_t id : whole) require(id >= 0 && id < subject.tokenizer->vocab_size());
  require(cut.size() == std::min<size_t>(static_cast<size_t>(max_length), whole.size()));
  require(static_cast<size_t>(rows.lost_tokens[1]) == whole.size() - cut.size());
  require(cut.empty() || cut.front() == whole.front());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kChoices = 4;
  if (size < kChoices) return 0;
  const Subject& subject = subject_of(data[0] % kFamilies.size());
  const Recorded& before = subject.cases[data[1] % subject.cases.size()];
  const Recorded& after = subject.cases[data[2] % subject.cases.size()];
  const auto max_length = static_cast<int64_t>(data[3] % 64 + 1);
  const std::string any(reinterpret_cast<const char*>(data) + kChoices, size - kChoices);
  const std::string text = before.text + subject.separator + any + subject.separator + after.text;
  const Ids ids = encode_one(subject, text, {.add_special_tokens = false});
  require_recorded(subject, before, ids, after);
  require(ids == encode_one(subject, text, {.add_special_tokens = false}));
  require_truncation(subject, any, max_length);
  require_truncation(subject, text, max_length);
  return 0;
}
