// The parts of a sentencepiece .model file that the tokenizer of a model directory is made from,
// and the sizes that are checked before the sentencepiece library loads the file.
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
  struct Entry {  // the index of an entry is its id
    std::string_view piece;
    float score = 0;
    Type type = Type::kNormal;
  };
  enum class Kind { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

  std::vector<Entry> entries;
  Kind kind = Kind::kUnigram;
  std::string_view charsmap;  // "precompiled_charsmap"; empty: none
  int32_t unk_id = 0;
  std::string_view unk_piece = "<unk>";
};

// Reads the message ModelProto of sentencepiece_model.proto. The result has views of `file`.
// Returns nullopt if the file is not a ModelProto, or not one that a trainer writes (a part occurs
// twice, or a field has another type). `file` must outlive the result. Does not throw Error.
std::optional<SentencePieceModel> parse_sentencepiece_model(std::string_view file);

// The sizes of the pieces of a ModelProto, in bytes.
struct PieceBytes {
  size_t longest = 0;  // the size of the longest piece
  size_t sum = 0;      // the sum of the sizes of all pieces
};
// Returns the size in bytes of the longest replacement in the charsmap of a ModelProto, or 0
// without a charsmap. Accepts any form of a ModelProto. Does not throw Error.
size_t longest_replacement(std::string_view file);
// Accepts any form of a ModelProto. Returns nullopt if the file is not a protobuf message.
std::optional<PieceBytes> measure_pieces(std::string_view file);

}  // namespace encode
