// What a sentencepiece .model file says, as far as src/tokenizer can do it itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace encode {

struct SentencePieceModel {
  enum class Type {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };
  struct Entry {  // by id
    std::string_view piece;
    float score = 0;
    Type type = Type::kNormal;
  };
  enum class Kind { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

  std::vector<Entry> entries;
  Kind kind = Kind::kUnigram;
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  bool has_charsmap = false;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// Reads sentencepiece_model.proto's ModelProto; the views are of `file`. Null for what is not one,
// or is written in a way that no trainer writes (a part twice, a field of another type).
std::optional<SentencePieceModel> parse_sentencepiece_model(std::string_view file);

// The bytes of the longest piece of a ModelProto however it is written, and of all pieces. Null for
// what is not a message of protobuf.
struct PieceBytes {
  size_t longest = 0;
  size_t sum = 0;
};
std::optional<PieceBytes> measure_pieces(std::string_view file);

}  // namespace encode
