// How transformers makes a tokenizer from the files that are older than tokenizer.json: the rules
// of each class. Source: convert_slow_tokenizer.py and models/*/tokenization_*.py of transformers
// 4.57.6. docs/tokenizers.md says why version 4 is followed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/load/tokenizer_class.h"

namespace encode {

// What a class does with a special token that a file states as a plain string, or does not state.
enum class SlowTokenForm : uint8_t {
  kString,      // not changed if it already is an added token
  kRaw,         // searched for in the text before normalization
  kNormalized,  // searched for in normalized text
  kRawMask,     // kRaw, with the white space before it
  kNormalizedMask
};

struct SlowToken {
  std::string_view name;     // "cls_token"
  std::string_view content;  // "": no such token
  SlowTokenForm form = SlowTokenForm::kString;
};

// The files that a class is made from.
enum class ClassFiles : uint8_t { kSentencePiece, kWordPiece, kByteLevelBpe, kEsm };

// Which pieces of a sentencepiece model stand at the beginning of the vocabulary.
enum class HeadPieces : uint8_t {
  kAsInTheFile,
  kFairseq,    // <s> <pad> </s> <unk>, instead of the first three pieces
  kCamembert,  // five tokens instead of the first piece
  kLlama,      // the first three tokens of the class
  kGemma       // the pad, EOS and BOS tokens; a tab instead of <0x09>
};
// Which tokens follow after the pieces.
enum class TailPieces : uint8_t { kNone, kMask, kExtraIds, kLanguages, kMoreLanguages };

enum class ClassNormalizer : uint8_t { kNmt, kAlbert, kDeberta, kRemBert, kLlama, kGemma };

// The tokens around the text.
enum class RowTemplate : uint8_t {
  kFixed,         // `prefix` and `suffix`
  kClsSep,        // the cls and the sep token
  kRoberta,       // the same, in a RobertaProcessing
  kBosEos,        // the BOS and the EOS token, if add_bos_token and add_eos_token say so
  kBosOnly,       // the BOS token if add_bos_token is true; otherwise as kByteLevel
  kByteLevel,     // no tokens
  kLanguageLast,  // </s> and the language after the text (MBart)
  kLanguageFirst  // the language before the text, </s> after it (MBart50)
};

struct SlowClassRules {
  TokenizerClass value = TokenizerClass::kUnknown;
  ClassFiles files = ClassFiles::kSentencePiece;
  std::string_view file = {};  // "spiece.model"
  std::vector<SlowToken> tokens = {};
  RowTemplate row_template = RowTemplate::kFixed;
  std::string_view prefix = {};  // for kFixed; "": none
  std::string_view suffix = {};
  HeadPieces head = HeadPieces::kAsInTheFile;
  TailPieces tail = TailPieces::kNone;
  ClassNormalizer normalizer = ClassNormalizer::kNmt;
  std::optional<int32_t> unk_id = {};  // nullopt: as the sentencepiece model states it
  bool byte_fallback = false;
  std::vector<std::string_view> additional = {};  // default of additional_special_tokens
};

// Returns null if transformers does not make the class from older files, or if encode does not know
// its rules.
const SlowClassRules* find_slow_class_rules(TokenizerClass value);

// The names of the classes that have rules, for messages.
std::string slow_class_names();

// The languages that follow after the pieces, in the order of their ids.
std::span<const std::string_view> languages_of(TailPieces tail);

}  // namespace encode
