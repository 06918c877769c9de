#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/base64.h"
#include "base/units.h"
#include "base/utf8.h"
#include "tokenizer/load/sentencepiece_merges.h"
#include "tokenizer/load/slow_class_document.h"
#include "tokenizer/models/sentencepiece_model.h"
#include "tokenizer/tokenizer_refusal.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using Type = SentencePieceModel::Type;
using Kind = SentencePieceModel::Kind;

constexpr double kNeverChosen = -100;  // added to a score

SentencePieceModel read_model(const std::string& file, const std::string& where) {
  const std::optional<SentencePieceModel> model = parse_sentencepiece_model(file);
  if (!model)
    refuse_format("not a sentencepiece model", where, "a .model file that a trainer wrote",
                  "other or damaged data");
  if (model->kind != Kind::kUnigram && model->kind != Kind::kBpe)
    refuse_unsupported(
        "this type of sentencepiece model is not supported", where,
        {.expected = "a Unigram or a BPE model", .found = "a model of words or characters"});
  size_t bytes = 0;
  for (const auto& entry : model->entries) {
    bytes += entry.piece.size();
    if (entry.piece.size() > kMaxSearchedTokenBytes || !is_valid_utf8(entry.piece))
      refuse_format("bad piece of the model", where,
                    fmt::format("UTF-8 of at most {} bytes", kMaxSearchedTokenBytes),
                    quoted_token(entry.piece));
  }
  if (bytes > kMaxVocabularyBytes)
    refuse_format("the pieces of the model are too long", where,
                  fmt::format("at most {} bytes in all", kMaxVocabularyBytes),
                  fmt::format("{} bytes", bytes));
  return *model;
}

// The list of pieces that transformers makes of the model: SpmConverter.vocab() of each class.
class PieceList {
 public:
  PieceList(const SentencePieceModel& model, const SlowClassParts& parts, const std::string& where)
      : model_(model), parts_(parts), where_(where) {}

  std::vector<ScoredPiece> make() {
    add_head();
    if (parts_.rules.normalizer == ClassNormalizer::kAlbert) lower_number_commas();
    if (parts_.rules.head == HeadPieces::kGemma) add_tab();
    add_tail();
    return std::move(pieces_);
  }

 private:
  void add(std::string_view piece, double score = 0) {
    pieces_.push_back({std::string(piece), score});
  }
  void add_from(size_t first) {
    for (size_t i = first; i < model_.entries.size(); ++i)
      add(model_.entries[i].piece, static_cast<double>(model_.entries[i].score));
  }

  const std::string& named(const char* name) const {
    const std::string* token = parts_.tokens.find(name);
    if (token == nullptr)
      refuse_format(fmt::format("the class needs a {}", name), where_, "a token", "null");
    return *token;
  }

  // The token of an id, as the class has it: an added token counts before the piece of the model.
  std::string_view token_of(size_t id) const {
    if (const auto added = parts_.tokens.by_id.find(static_cast<int32_t>(id));
        added != parts_.tokens.by_id.end())
      return added->second.content;
    return model_.entries[id].piece;
  }

  void add_head() {
    size_t replaced = 3;
    switch (parts_.rules.head) {
      case HeadPieces::kAsInTheFile:
        replaced = 0;
        break;
      case HeadPieces::kFairseq:
        for (const char* piece : {"<s>", "<pad>", "</s>", "<unk>"}) add(piece);
        break;
      case HeadPieces::kCamembert: {
        for (const char* name : {"pad_token", "unk_token"}) static_cast<void>(named(name));
        const auto& [bos, eos, unk] = kCamembertUnused;
        add(bos);
        add("<pad>");
        add(eos);
        add("<unk>");
        add(unk, kNeverChosen);
        replaced = 1;
        break;
      }
      case HeadPieces::kLlama:
        require_pieces(replaced);
        for (size_t id = 0; id < replaced; ++id) add(token_of(id));
        break;
      case HeadPieces::kGemma:
        for (const char* name : {"pad_token", "eos_token", "bos_token"}) add(named(name));
        break;
    }
    require_pieces(replaced);
    add_from(replaced);
  }

  void require_pieces(size_t count) const {
    if (model_.entries.size() < count)
      refuse_format("the model has too few pieces for its class", where_,
                    fmt::format("at least {}", count), fmt::to_string(model_.entries.size()));
  }

  // Lowers the score of each piece that ends in a digit and a comma, so that it is never chosen.
  void lower_number_commas() {
    for (ScoredPiece& entry : pieces_) {
      const std::string_view piece = entry.piece;
      if (piece.size() < 2 || piece.back() != ',') continue;
      size_t before = piece.size() - 2;
      while (before > 0 && unicode::is_continuation(piece[before])) --before;
      const char32_t c =
          unicode::decode(piece.data() + before, piece.data() + piece.size()).code_point;
      if (c >= '0' && c <= '9') {
        entry.score += kNeverChosen;
      } else if ((unicode::properties()[c] & unicode::kNumeric) != 0) {
        refuse_unsupported("a piece with a comma after a number that is not ASCII is not supported",
                           where_,
                           {.expected = "0 to 9 before the comma", .found = quoted_token(piece)});
      }
    }
  }

  // Older Gemma models have no tab, so the token of its byte becomes the tab.
  void add_tab() {
    const auto has = [](const char* text) {
      return [text](const ScoredPiece& entry) { return entry.piece == text; };
    };
    if (std::ranges::any_of(pieces_, has("\t"))) return;
    const auto byte = std::ranges::find_if(pieces_, has("<0x09>"));
    if (byte != pieces_.end()) *byte = {"\t", 0};
  }

  void add_tail() {
    const TailPieces tail = parts_.rules.tail;
    if (tail == TailPieces::kNone) return;
    if (tail == TailPieces::kExtraIds) {
      for (int64_t i = parts_.options.extra_ids(); i-- > 0;) add(fmt::format("<extra_id_{}>", i));
      return;
    }
    for (const std::string_view language : languages_of(tail)) add(language);
    add("<mask>");
  }

  const SentencePieceModel& model_;
  const SlowClassParts& parts_;
  const std::string& where_;
  std::vector<ScoredPiece> pieces_;
};

Vocabulary vocabulary_of(const std::vector<ScoredPiece>& pieces, const std::string& where) {
  Vocabulary vocabulary;
  vocabulary.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!vocabulary.add(pieces[i].piece, static_cast<int32_t>(i)))
      refuse_format("a token is in the vocabulary twice", where, "distinct tokens",
                    quoted_token(pieces[i].piece));
  }
  return vocabulary;
}

// The ids in the .model file. Of equal pieces, the last one counts. For Gemma, a tab has the id of
// its byte.
Vocabulary file_ids_of(const SentencePieceModel& model, const SlowClassRules& rules) {
  Vocabulary ids;
  ids.reserve(model.entries.size() + 1);
  for (size_t i = model.entries.size(); i-- > 0;)
    static_cast<void>(ids.add(model.entries[i].piece, static_cast<int32_t>(i)));
  const int32_t byte = rules.head == HeadPieces::kGemma ? ids.find("<0x09>") : -1;
  if (byte >= 0) static_cast<void>(ids.add("\t", byte));
  return ids;
}

void fill_model(const SentencePieceModel& model, const SlowClassParts& parts,
                TokenizerDocument& document) {
  const std::vector<ScoredPiece> pieces = PieceList(model, parts, document.where).make();
  ModelJson& json = document.model;
  json.vocabulary = vocabulary_of(pieces, document.where);
  json.has_vocabulary = true;
  if (model.kind == Kind::kUnigram) {
    for (const ScoredPiece& piece : pieces) json.scores.push_back(piece.score);
    json.options = {{"type", "Unigram"},
                    {"unk_id", parts.rules.unk_id.value_or(model.unk_id)},
                    {"byte_fallback", parts.rules.byte_fallback}};
    return;
  }
  json.merges = sentencepiece_merges(pieces, json.vocabulary, file_ids_of(model, parts.rules),
                                     document.where);
  json.has_merges = true;
  json.options = {{"type", "BPE"},
                  {"unk_token", std::string(model.unk_piece)},
                  {"fuse_unk", true},
                  {"byte_fallback", parts.rules.byte_fallback}};
}

Json replace(const char* kind, const char* pattern, std::string_view content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

class NormalizerMaker {
 public:
  NormalizerMaker(const SentencePieceModel& model, const SlowClassParts& parts)
      : model_(model), options_(parts.options), kind_(parts.rules.normalizer) {}

  Json make() {
    switch (kind_) {
      case ClassNormalizer::kNmt:
        add_charsmap();
        steps_.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
        steps_.push_back(replace("Regex", " {2,}", unicode::kMetaspaceUtf8));
        break;
      case ClassNormalizer::kAlbert:
        add_quotes();
        add_accents_and_case(false, true);
        add_charsmap();
        steps_.push_back(replace("Regex", " {2,}", " "));
        break;
      case ClassNormalizer::kRemBert:
        add_quotes();
        steps_.push_back(replace("Regex", " {2,}", " "));
        add_accents_and_case(true, false);
        add_charsmap();
        break;
      case ClassNormalizer::kDeberta:
        if (options_.flag("do_lower_case", false)) steps_.push_back({{"type", "Lowercase"}});
        steps_.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
        add_charsmap();
        steps_.push_back(replace("Regex", " {2,}", " "));
        break;
      case ClassNormalizer::kLlama:
        if (!options_.flag_or_null("legacy", true)) return nullptr;
        if (options_.flag("add_prefix_space", true))
          steps_.push_back({{"type", "Prepend"}, {"prepend", unicode::kMetaspaceUtf8}});
        steps_.push_back(replace("String", " ", unicode::kMetaspaceUtf8));
        break;
      case ClassNormalizer::kGemma:
        return replace("String", " ", unicode::kMetaspaceUtf8);
    }
    return {{"type", "Sequence"}, {"normalizers", steps_}};
  }

 private:
  void add_charsmap() {
    if (model_.charsmap.empty()) return;
    steps_.push_back(
        {{"type", "Precompiled"}, {"precompiled_charsmap", base64_of(model_.charsmap)}});
  }
  void add_quotes() {
    steps_.push_back(replace("String", "``", "\""));
    steps_.push_back(replace("String", "''", "\""));
  }
  void add_accents_and_case(bool keeps_accents, bool lower_case) {
    if (!options_.flag("keep_accents", keeps_accents)) {
      steps_.push_back({{"type", "NFKD"}});
      steps_.push_back({{"type", "StripAccents"}});
    }
    if (options_.flag("do_lower_case", lower_case)) steps_.push_back({{"type", "Lowercase"}});
  }

  const SentencePieceModel& model_;
  const SlowClassOptions& options_;
  ClassNormalizer kind_;
  Json steps_ = Json::array();
};

Json metaspace(const char* scheme, bool split) {
  return {{"type", "Metaspace"},
          {"replacement", unicode::kMetaspaceUtf8},
          {"prepend_scheme", scheme},
          {"split", split}};
}

Json make_pre_tokenizer(const SlowClassParts& parts) {
  const SlowClassOptions& options = parts.options;
  const bool has_legacy = parts.rules.normalizer == ClassNormalizer::kLlama ||
                          parts.rules.tail == TailPieces::kExtraIds;
  const bool legacy = !has_legacy || options.flag_or_null("legacy", true);
  const bool prefix_space = !has_legacy || options.flag("add_prefix_space", true);
  const char* scheme = !prefix_space ? "never" : legacy ? "always" : "first";
  switch (parts.rules.normalizer) {
    case ClassNormalizer::kLlama:
      return legacy ? Json() : metaspace(scheme, false);
    case ClassNormalizer::kGemma:
      return {{"type", "Split"},
              {"pattern", {{"String", " "}}},
              {"behavior", "MergedWithPrevious"},
              {"invert", false}};
    case ClassNormalizer::kDeberta: {
      Json steps = Json::array();
      if (options.flag("split_by_punct", false))
        steps.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
      steps.push_back(metaspace(scheme, true));
      return {{"type", "Sequence"}, {"pretokenizers", steps}};
    }
    default:
      return metaspace(scheme, true);
  }
}

}  // namespace

std::vector<AddedToken> fill_from_sentencepiece(const SlowClassParts& parts,
                                                TokenizerDocument& document) {
  parts.options.require("sp_model_kwargs", Json::object());
  const std::string& file = *parts.source.find(std::string(parts.rules.file));
  const SentencePieceModel model = read_model(file, document.where);
  fill_model(model, parts, document);
  document.parts["normalizer"] = NormalizerMaker(model, parts).make();
  document.parts["pre_tokenizer"] = make_pre_tokenizer(parts);
  std::vector<AddedToken> stated;
  for (const auto& entry : model.entries) {
    if (entry.type != Type::kControl && entry.type != Type::kUserDefined) continue;
    AddedToken token;
    token.content = entry.piece;
    token.special = entry.type == Type::kControl ||
                    (parts.rules.head == HeadPieces::kGemma &&
                     (entry.piece == "<start_of_turn>" || entry.piece == "<end_of_turn>"));
    stated.push_back(std::move(token));
  }
  return stated;
}

}  // namespace encode
