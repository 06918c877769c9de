#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "base/utf8.h"
#include "tokenizer/load/merge_loader.h"
#include "tokenizer/load/slow_class_document.h"
#include "tokenizer/split/split_scanner.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

// Returns the lines of a text file as Python reads them: "\r\n" and "\r" also end a line. A text
// that ends with the end of a line has no empty line after it.
std::vector<std::string_view> lines_of(std::string_view text, const std::string& where) {
  if (const size_t fault = first_invalid_utf8(text); fault < text.size())
    refuse_format("the file is not UTF-8", where, "UTF-8",
                  fmt::format("an invalid byte at {}", fault));
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + (text.substr(end).starts_with("\r\n") ? 2 : 1), text.size()));
  }
  if (std::ssize(lines) > kMaxVocabSize)
    refuse_format("the file has too many lines", where, fmt::format("at most {}", kMaxVocabSize),
                  fmt::to_string(lines.size()));
  return lines;
}

// If lines are equal, the last one counts, as in a dict of Python.
void read_lines(const std::vector<std::string_view>& lines, TokenizerDocument& document) {
  Vocabulary last;
  last.reserve(lines.size());
  std::vector<bool> repeated(lines.size());
  size_t bytes = 0;
  for (size_t i = lines.size(); i-- > 0;) {
    repeated[i] = !last.add(lines[i], static_cast<int32_t>(i));
    bytes += lines[i].size();
  }
  if (bytes > kMaxVocabularyBytes)
    refuse_format("the tokens of the vocabulary are too long", document.where,
                  fmt::format("at most {} bytes in all", kMaxVocabularyBytes),
                  fmt::format("{} bytes", bytes));
  Vocabulary& vocabulary = document.model.vocabulary;
  vocabulary.reserve(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!repeated[i]) vocabulary.add(lines[i], static_cast<int32_t>(i));
  }
  document.model.has_vocabulary = true;
}

void fill_word_piece(const SlowClassParts& parts, TokenizerDocument& document) {
  const SlowClassOptions& options = parts.options;
  options.require("do_basic_tokenize", true);
  options.require("never_split", nullptr);
  read_lines(lines_of(*parts.source.find("vocab.txt"), document.where), document);
  const std::string* unk = parts.tokens.find("unk_token");
  document.model.options = {{"type", "WordPiece"},
                            {"unk_token", unk == nullptr ? "None" : *unk},
                            {"continuing_subword_prefix", "##"},
                            {"max_input_chars_per_word", 100}};
  document.parts["normalizer"] = {
      {"type", "BertNormalizer"},
      {"clean_text", true},
      {"handle_chinese_chars", options.flag("tokenize_chinese_chars", true)},
      {"strip_accents", options.is_null_or_absent("strip_accents")
                            ? Json()
                            : Json(options.flag("strip_accents", false))},
      {"lowercase", options.flag("do_lower_case", true)}};
  document.parts["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
}

// A vocabulary of ESM has an entry for each amino acid. transformers cuts a text at every token of
// the vocabulary, and the rest at white space.
void fill_esm(const SlowClassParts& parts, TokenizerDocument& document) {
  std::vector<std::string_view> lines = lines_of(*parts.source.find("vocab.txt"), document.where);
  for (std::string_view& line : lines) {
    for (const char c : line) {
      if (c < ' ' || c > '~')
        refuse_unsupported("a vocabulary of ESM has a token that is not printable ASCII",
                           document.where, {.expected = "ASCII", .found = quoted_token(line)});
    }
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    line = line.substr(0, line.find_last_not_of(' ') + 1);
  }
  read_lines(lines, document);
  const std::string* unk = parts.tokens.find("unk_token");
  document.model.options = {{"type", "WordLevel"}, {"unk_token", unk == nullptr ? "None" : *unk}};
  document.parts["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  // Four controls are white space for Python, but not for WhitespaceSplit.
  Json steps = Json::array();
  for (const char* control : {"\x1C", "\x1D", "\x1E", "\x1F"})
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", control}}}, {"content", " "}});
  document.parts["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
}

// The class drops the first line (the version) and the last line of merges.txt, whatever they
// contain; transformers 5 keeps them. So both lines must be as save_pretrained() writes them.
std::vector<BpeMerge> read_merges(const SlowClassParts& parts, const Vocabulary& vocabulary) {
  const std::string where = parts.source.path_of("merges.txt");
  const std::string* text = parts.source.find("merges.txt");
  if (text == nullptr)
    refuse_unsupported("the tokenizer has no merges.txt", where,
                       {.expected = "vocab.json and merges.txt, or tokenizer.json",
                        .found = "vocab.json only",
                        .hint = "download the whole directory again"});
  if (!text->starts_with("#version") || !text->ends_with('\n'))
    refuse_format("merges.txt does not begin with its version, or its last line does not end",
                  where, "\"#version: 0.2\" as the first line, and a line feed at the end",
                  preview(text->substr(0, 40)));
  std::vector<std::string_view> lines = lines_of(*text, where);
  MergeLoader loader(vocabulary, 0, where);
  loader.reserve(lines.size());
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const size_t space = line.find(' ');
    if (space == 0 || space >= line.size() - 1 ||
        line.find(' ', space + 1) != std::string_view::npos)
      refuse_format("malformed merge", fmt::format("{}:{}", where, i + 1),
                    "two tokens and a space between them", quoted_token(line));
    loader.add(line.substr(0, space), line.substr(space + 1));
  }
  return loader.finish();
}

// Reads vocab.json, an object of tokens and ids.
Vocabulary read_ids(const std::string& text, const std::string& where) {
  // The published files have up to 5 MB. A document in memory takes a multiple of its file.
  const Json json =
      parse_json(text, {.max_bytes = 16 << 20, .max_depth = 2}, where, kTokenizerFormat);
  static_cast<void>(JsonFields(json, where, kTokenizerFormat));  // refuses other types
  std::vector<std::pair<int32_t, std::string_view>> tokens;      // in the order of the ids
  for (const auto& [token, id] : json.items()) {
    if (!id.is_number_integer() || id < 0 || id >= kMaxVocabSize)
      refuse_format("bad entry of the vocabulary", where,
                    fmt::format("an id from 0 to {}", kMaxVocabSize - 1),
                    fmt::format("{} for {}", preview(id.dump()), quoted_token(token)));
    tokens.emplace_back(id.get<int32_t>(), token);
  }
  std::sort(tokens.begin(), tokens.end());
  Vocabulary vocabulary;
  vocabulary.reserve(tokens.size());
  for (const auto& [id, token] : tokens) vocabulary.add(token, id);
  return vocabulary;
}

void fill_byte_level(const SlowClassParts& parts, TokenizerDocument& document) {
  const bool is_qwen2 = parts.rules.value == TokenizerClass::kQwen2;
  if (is_qwen2) parts.options.require("add_prefix_space", false);
  if (parts.rules.row_template == RowTemplate::kByteLevel && !is_qwen2)
    parts.options.require("add_bos_token", false);
  document.model.vocabulary = read_ids(*parts.source.find("vocab.json"), document.where);
  document.model.has_vocabulary = true;
  document.model.merges = read_merges(parts, document.model.vocabulary);
  document.model.has_merges = true;
  document.model.options = {{"type", "BPE"},
                            {"continuing_subword_prefix", ""},
                            {"end_of_word_suffix", ""},
                            {"fuse_unk", false},
                            {"byte_fallback", false}};
  const bool prefix_space = parts.options.flag("add_prefix_space", false);
  Json byte_level = {{"type", "ByteLevel"},
                     {"add_prefix_space", prefix_space},
                     {"trim_offsets", true},
                     {"use_regex", true}};
  if (!is_qwen2) {
    document.parts["pre_tokenizer"] = byte_level;
    return;
  }
  byte_level["use_regex"] = false;
  document.parts["normalizer"] = {{"type", "NFC"}};
  document.parts["pre_tokenizer"] = {{"type", "Sequence"},
                                     {"pretokenizers",
                                      {{{"type", "Split"},
                                        {"pattern", {{"Regex", kQwen2Pattern}}},
                                        {"behavior", "Isolated"},
                                        {"invert", false}},
                                       byte_level}}};
}

}  // namespace

void fill_from_vocabulary(const SlowClassParts& parts, TokenizerDocument& document) {
  switch (parts.rules.files) {
    case ClassFiles::kSentencePiece:
      return;
    case ClassFiles::kWordPiece:
      return fill_word_piece(parts, document);
    case ClassFiles::kEsm:
      return fill_esm(parts, document);
    case ClassFiles::kByteLevelBpe:
      return fill_byte_level(parts, document);
  }
}

}  // namespace encode
