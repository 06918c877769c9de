#include "real_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "base/json.h"

namespace encode::testing {
namespace {

// Returns a WordPiece tokenizer with one token for each letter. All its ids fit the vocabulary of
// 128 tokens that the tiny models have. Without special tokens an empty text has no tokens.
Json character_tokenizer(bool special_tokens) {
  Json vocab = {{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}};
  for (char c = 'a'; c <= 'z'; ++c) {
    vocab[std::string(1, c)] = vocab.size();
    vocab["##" + std::string(1, c)] = vocab.size();
  }
  Json tokenizer = {{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", Json::array()},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                    {"post_processor", nullptr},
                    {"decoder", nullptr},
                    {"model",
                     {{"type", "WordPiece"},
                      {"unk_token", "[UNK]"},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100},
                      {"vocab", vocab}}}};
  if (special_tokens) {
    tokenizer["post_processor"] = {
        {"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
  }
  return tokenizer;
}

std::string random_texts(int64_t rows) {
  std::mt19937_64 random(5);
  std::string lines;
  for (int64_t row = 0; row < rows; ++row) {
    for (uint64_t n = random() % 12; n > 0; --n) {
      for (uint64_t length = 1 + random() % 6; length > 0; --length)
        lines += static_cast<char>('a' + random() % 26);
      lines += ' ';
    }
    lines += '\n';
  }
  return lines;
}

}  // namespace

RealRun::RealRun(const std::string& model, int64_t rows) {
  std::filesystem::copy(test_data("models/" + model), dir_.file("model"),
                        std::filesystem::copy_options::recursive);
  dir_.write("model/tokenizer.json", character_tokenizer(model == "bert").dump());
  // Without this file, the class of the tokenizer would follow from the model, and it would have
  // special tokens and a normalizer.
  dir_.write("model/tokenizer_config.json", R"({"tokenizer_class":"PreTrainedTokenizerFast"})");
  dir_.write("texts.txt", random_texts(rows));
}

std::vector<std::string> RealRun::arguments(const std::string& name,
                                            const std::vector<std::string>& extra) const {
  std::vector<std::string> words = {"run", "--output", matrix(name), "--no-progress"};
  const auto gives = [&](const char* flag) {
    return std::find(extra.begin(), extra.end(), flag) != extra.end();
  };
  if (!gives("--model")) words.insert(words.end(), {"--model", dir_.file("model")});
  if (!gives("--device")) words.insert(words.end(), {"--device", "cpu"});
  if (!gives("--input")) words.insert(words.end(), {"--input", dir_.file("texts.txt")});
  words.insert(words.end(), extra.begin(), extra.end());
  return words;
}

ProgramEnd RealRun::run(const std::string& name, const std::vector<std::string>& extra) const {
  return Program(dir_.path(), arguments(name, extra)).wait();
}

int RealRun::kill_runs(const std::string& name, const std::vector<std::string>& extra,
                       const Kills& kills) const {
  int killed = 0;
  for (int delay_ms = kills.first_ms; killed < kills.times; delay_ms += kills.step_ms) {
    Program program(dir_.path(), arguments(name, extra));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    program.signal(SIGKILL);
    if (program.wait().signal != SIGKILL) break;
    ++killed;
  }
  return killed;
}

ProgramEnd RealRun::verify(const std::string& name) const {
  return Program(dir_.path(), {"verify", matrix(name)}).wait();
}

}  // namespace encode::testing
