#include "tokenizer/models/sentencepiece_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/vocabulary_limit.h"

namespace encode {
namespace {

// Reads the fields of a protobuf message one after the other.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  // Reads the next field. Returns false at the end of the message, or if the message is malformed.
  bool next() {
    uint64_t key = 0;
    if (rest_.empty()) return false;
    ok_ = read_varint(key) && key >> 3 <= UINT32_MAX;
    number_ = static_cast<uint32_t>(key >> 3);
    wire_ = static_cast<uint32_t>(key & 7U);
    ok_ = ok_ && read_value();
    return ok_;
  }
  bool ok() const { return ok_; }  // false if the message is malformed
  uint32_t number() const { return number_; }

  // Each of these functions reads the value of the field. It returns false if the field has another
  // type.
  bool read(std::string_view& bytes) const {
    bytes = bytes_;
    return wire_ == kBytes;
  }
  bool read(float& value) const {
    if (wire_ != kFixed32) return false;
    uint32_t bits = 0;
    std::memcpy(&bits, bytes_.data(), sizeof bits);
    value = std::bit_cast<float>(bits);
    return std::isfinite(value);
  }
  // An int32 that is negative takes ten bytes.
  bool read(int32_t& value) const {
    value = static_cast<int32_t>(varint_);
    return wire_ == kVarint && static_cast<uint64_t>(int64_t{value}) == varint_;
  }
  template <typename Enum>
  bool read_enum(Enum& value, uint64_t last) const {
    value = static_cast<Enum>(varint_);
    return wire_ == kVarint && varint_ >= 1 && varint_ <= last;
  }

 private:
  enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  bool read_varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool take(uint64_t size) {
    if (size > rest_.size()) return false;
    bytes_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool read_value() {
    uint64_t size = 0;
    switch (wire_) {
      case kVarint:
        return read_varint(varint_);
      case kBytes:
        return read_varint(size) && take(size);
      case kFixed32:
        return take(4);
      case kFixed64:
        return take(8);
      default:
        return false;
    }
  }

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t varint_ = 0;
  uint32_t number_ = 0;
  uint32_t wire_ = 0;
  bool ok_ = true;
};

bool parse_entry(std::string_view message, SentencePieceModel::Entry& entry) {
  Fields fields(message);
  bool known = true;
  while (known && fields.next()) {
    if (fields.number() == 1) known = fields.read(entry.piece);
    if (fields.number() == 2) known = fields.read(entry.score);
    if (fields.number() == 3) known = fields.read_enum(entry.type, 6);
  }
  return known && fields.ok() && !entry.piece.empty();
}

bool parse_trainer(std::string_view message, SentencePieceModel& model) {
  Fields fields(message);
  bool known = true;
  while (known && fields.next()) {
    if (fields.number() == 3) known = fields.read_enum(model.kind, 4);
    if (fields.number() == 40) known = fields.read(model.unk_id);
    if (fields.number() == 45) known = fields.read(model.unk_piece);
  }
  return known && fields.ok();
}

bool parse_normalizer(std::string_view message, SentencePieceModel& model) {
  Fields fields(message);
  bool known = true;
  while (known && fields.next()) {
    if (fields.number() == 2) known = fields.read(model.charsmap);
  }
  return known && fields.ok();
}

}  // namespace

std::optional<PieceBytes> measure_pieces(std::string_view file) {
  PieceBytes bytes;
  Fields fields(file);
  while (fields.next()) {
    std::string_view message;
    if (fields.number() != 1 || !fields.read(message)) continue;
    Fields entry(message);
    while (entry.next()) {
      std::string_view piece;
      if (entry.number() != 1 || !entry.read(piece)) continue;
      bytes.longest = std::max(bytes.longest, piece.size());
      bytes.sum += piece.size();
    }
    if (!entry.ok()) return std::nullopt;
  }
  if (!fields.ok()) return std::nullopt;
  return bytes;
}

size_t longest_replacement(std::string_view file) {
  size_t longest = 0;
  Fields fields(file);
  while (fields.next()) {
    std::string_view message;
    if (fields.number() != 3 || !fields.read(message)) continue;
    Fields normalizer(message);
    while (normalizer.next()) {
      std::string_view charsmap;
      if (normalizer.number() != 2 || !normalizer.read(charsmap)) continue;
      // The size of the trie (4 bytes), the trie, and texts that end with a NUL.
      uint32_t trie_bytes = 0;
      if (charsmap.size() >= sizeof trie_bytes)
        std::memcpy(&trie_bytes, charsmap.data(), sizeof trie_bytes);
      charsmap.remove_prefix(std::min<size_t>(charsmap.size(), sizeof trie_bytes + trie_bytes));
      for (size_t at = 0; at < charsmap.size();) {
        const size_t end = std::min(charsmap.find('\0', at), charsmap.size());
        longest = std::max(longest, end - at);
        at = end + 1;
      }
    }
  }
  return longest;
}

std::optional<SentencePieceModel> parse_sentencepiece_model(std::string_view file) {
  SentencePieceModel model;
  Fields fields(file);
  bool known = true;
  int trainers = 0;
  int normalizers = 0;
  while (known && fields.next()) {
    std::string_view message;
    if (fields.number() == 1) {
      known = std::ssize(model.entries) < kMaxVocabSize && fields.read(message) &&
              parse_entry(message, model.entries.emplace_back());
    } else if (fields.number() == 2) {
      known = ++trainers == 1 && fields.read(message) && parse_trainer(message, model);
    } else if (fields.number() == 3) {
      known = ++normalizers == 1 && fields.read(message) && parse_normalizer(message, model);
    }
  }
  if (!known || !fields.ok() || trainers != 1 || normalizers != 1) return std::nullopt;
  return model;
}

}  // namespace encode
