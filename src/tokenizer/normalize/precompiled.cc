#include "tokenizer/normalize/precompiled.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/tokenizer_refusal.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

// A grapheme cluster of at most kMaxClusterBytes bytes is looked up as a whole. A longer cluster is
// looked up character by character.
constexpr size_t kMaxClusterBytes = 5;

// An array element of a Darts double-array trie.
class Unit {
 public:
  explicit Unit(uint32_t bits) : bits_(bits) {}
  bool has_leaf() const { return (bits_ >> 8 & 1U) != 0; }
  uint32_t value() const { return bits_ & 0x7FFFFFFFU; }
  uint32_t label() const { return bits_ & 0x800000FFU; }
  uint32_t offset() const { return (bits_ >> 10) << ((bits_ & 0x200U) >> 6); }

 private:
  uint32_t bits_;
};

// The prepended marks (Unicode). A prepended mark and the character after it are in one grapheme
// cluster.
constexpr std::array<char32_t, 27> kPrepended = {
    0x600,   0x601,   0x602,   0x603,   0x604,   0x605,   0x6DD,   0x70F,   0x890,
    0x891,   0x8E2,   0xD4E,   0x110BD, 0x110CD, 0x111C2, 0x111C3, 0x113D1, 0x1193F,
    0x11941, 0x11A84, 0x11A85, 0x11A86, 0x11A87, 0x11A88, 0x11A89, 0x11D46, 0x11F02};

// Returns true for the control characters that do not have kGraphemeControl in the property table:
// NUL, and the controls above U+FFFF.
bool is_rare_control(char32_t c) {
  return c == 0 || (c >= 0x13430 && c <= 0x1343F) || (c >= 0x1BCA0 && c <= 0x1BCA3) ||
         (c >= 0x1D173 && c <= 0x1D17A) || (c >= 0xE0000 && c <= 0xE001F) ||
         (c >= 0xE0080 && c <= 0xE00FF) || (c >= 0xE01F0 && c <= 0xE0FFF);
}

class Precompiled final : public Normalizer {
 public:
  Precompiled(std::string_view charsmap, const std::string& where) {
    uint32_t trie_bytes = 0;
    if (charsmap.size() >= sizeof trie_bytes)
      std::memcpy(&trie_bytes, charsmap.data(), sizeof trie_bytes);
    if (trie_bytes % sizeof(uint32_t) != 0 || trie_bytes < 1024 ||
        trie_bytes > charsmap.size() - sizeof trie_bytes) {
      refuse_format("malformed precompiled charsmap", where, "a trie that fits in it",
                    fmt::format("{} of {} bytes", trie_bytes, charsmap.size()));
    }
    units_.resize(trie_bytes / sizeof(uint32_t));
    std::memcpy(units_.data(), charsmap.data() + sizeof trie_bytes, trie_bytes);
    replacements_ = charsmap.substr(sizeof trie_bytes + trie_bytes);
    for (char32_t c = 0; c < ascii_changes_.size(); ++c) {
      const char byte = static_cast<char>(c);
      ascii_changes_[c] = find({&byte, 1}).has_value();
    }
    ascii_changes_['\r'] = true;  // because "\r\n" is one grapheme cluster
    refuse_prepended(where);
  }

  void normalize(TextBuffer& text) const override {
    const std::string_view in = text.view();
    std::string& out = text.spare();
    out.reserve(in.size() + in.size() / 2);
    bool changed = false;
    visit(in, [&](std::string_view part, std::optional<std::string_view> replacement) {
      out += replacement.value_or(part);
      text.check_growth();
      changed = changed || replacement.has_value();
    });
    if (changed) text.commit();
  }

  void normalize_aligned(AlignedText& text) const override {
    Rewriting rewriting;
    bool changed = false;
    visit(text.view(), [&](std::string_view part, std::optional<std::string_view> replacement) {
      rewriting.replace(part, replacement.value_or(part));
      changed = changed || replacement.has_value();
    });
    if (changed) text.rewrite(rewriting);
  }

 private:
  // Calls `on(part, replacement)` for each part of `in`, in order. A part that no rule changes has
  // no replacement.
  template <typename On>
  void visit(std::string_view in, On&& on) const {
    for (size_t i = 0; i < in.size();) {
      if (const size_t plain = unchanged_ascii(in, i); plain > 0) {
        on(in.substr(i, plain), std::nullopt);
        i += plain;
        continue;
      }
      std::string_view cluster = cluster_at(in, i);
      i += cluster.size();
      const auto whole = cluster.size() <= kMaxClusterBytes ? find(cluster) : std::nullopt;
      if (whole.has_value()) {
        on(cluster, whole);
        continue;
      }
      while (!cluster.empty()) {
        const char* begin = cluster.data();
        const auto character =
            cluster.substr(0, unicode::decode(begin, begin + cluster.size()).size);
        on(character, find(character));
        cluster.remove_prefix(character.size());
      }
    }
  }

  // Returns the replacement of the shortest rule that `text` begins with. The caller replaces the
  // whole `text` by this replacement, as Hugging Face `tokenizers` does.
  std::optional<std::string_view> find(std::string_view text) const {
    uint32_t node = 0;
    if (!step(node)) return std::nullopt;
    for (const char byte : text) {
      if (byte == '\0') return std::nullopt;
      node ^= static_cast<unsigned char>(byte);
      if (node >= units_.size() || Unit(units_[node]).label() != static_cast<unsigned char>(byte))
        return std::nullopt;
      const bool has_leaf = Unit(units_[node]).has_leaf();
      if (!step(node)) return std::nullopt;
      if (has_leaf) return replacement(Unit(units_[node]).value());
    }
    return std::nullopt;
  }

  bool step(uint32_t& node) const {
    node ^= Unit(units_[node]).offset();
    return node < units_.size();
  }

  std::optional<std::string_view> replacement(uint32_t at) const {
    if (at > replacements_.size()) return std::nullopt;
    const std::string_view rest = std::string_view(replacements_).substr(at);
    return rest.substr(0, rest.find('\0'));
  }

  // Returns the size of the ASCII text from `i` on that no rule changes. If a non-ASCII character
  // follows this text, its last character is not counted, because it may begin a grapheme cluster.
  size_t unchanged_ascii(std::string_view in, size_t i) const {
    size_t end = i;
    while (end < in.size() && unicode::is_ascii(in[end]) &&
           !ascii_changes_[static_cast<unsigned char>(in[end])]) {
      ++end;
    }
    if (end == in.size() || unicode::is_ascii(in[end])) return end - i;
    return end > i ? end - i - 1 : 0;
  }

  static bool is_prepended(char32_t c) {
    return c >= kPrepended.front() && std::binary_search(kPrepended.begin(), kPrepended.end(), c);
  }

  // Returns the grapheme cluster that begins at `i`. The end of a cluster longer than
  // kMaxClusterBytes may be wrong. This has no effect, because the cluster is looked up character
  // by character.
  static std::string_view cluster_at(std::string_view in, size_t i) {
    const unicode::PropertyTable& table = unicode::properties();
    const auto is_control = [&table](char32_t c) {
      return (table[c] & unicode::kGraphemeControl) != 0 || is_rare_control(c);
    };
    const char* begin = in.data() + i;
    const char* end = in.data() + in.size();
    if (in.substr(i).starts_with("\r\n")) return in.substr(i, 2);
    unicode::Decoded first = unicode::decode(begin, end);
    const char* p = begin + first.size;
    while (is_prepended(first.code_point) && p < end) {
      const unicode::Decoded next = unicode::decode(p, end);
      if (is_control(next.code_point)) break;
      first = next;
      p += next.size;
    }
    if (is_control(first.code_point)) return in.substr(i, first.size);
    while (p < end && static_cast<unsigned char>(*p) >= 0x80) {
      const unicode::Decoded next = unicode::decode(p, end);
      if ((table[next.code_point] & unicode::kGraphemeExtend) == 0) break;
      p += next.size;
    }
    return in.substr(i, static_cast<size_t>(p - begin));
  }

  // Refuses a charsmap with a rule for a prepended mark. With any other charsmap, a cluster with a
  // prepended mark is looked up character by character.
  void refuse_prepended(const std::string& where) const {
    for (const char32_t c : kPrepended) {
      std::string utf8;
      unicode::append_utf8(utf8, c);
      if (find(utf8).has_value()) {
        refuse_unsupported("a charsmap with rules for prepended marks is not supported", where,
                           {.expected = "no rule for a prepended mark",
                            .found = fmt::format("a rule for U+{:04X}", static_cast<uint32_t>(c))});
      }
    }
  }

  std::vector<uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> ascii_changes_{};
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled_normalizer(std::string_view charsmap,
                                                        const std::string& where) {
  return std::make_unique<Precompiled>(charsmap, where);
}

}  // namespace encode
