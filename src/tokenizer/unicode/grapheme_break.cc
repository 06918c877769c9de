#include "tokenizer/unicode/grapheme_break.h"

#include "tokenizer/unicode/break_table.h"
#include "tokenizer/unicode/unicode.h"

namespace encode::unicode {
namespace {

// How much of "pictograph Extend* ZWJ" the cluster ends with (GB11).
enum class Pictograph { kNone, kBegun, kJoiner };

Pictograph next_pictograph(Pictograph state, ClusterClass c) {
  if (c == ClusterClass::kPictographic) return Pictograph::kBegun;
  if (state != Pictograph::kBegun) return Pictograph::kNone;
  if (c == ClusterClass::kExtend) return Pictograph::kBegun;
  return c == ClusterClass::kZwj ? Pictograph::kJoiner : Pictograph::kNone;
}

bool is_control(ClusterClass c) {
  return c == ClusterClass::kCr || c == ClusterClass::kLf || c == ClusterClass::kControl;
}

// GB6 to GB8.
bool joins_hangul(ClusterClass before, ClusterClass after) {
  using enum ClusterClass;
  switch (before) {
    case kL:
      return after == kL || after == kV || after == kLv || after == kLvt;
    case kV:
    case kLv:
      return after == kV || after == kT;
    case kT:
    case kLvt:
      return after == kT;
    default:
      return false;
  }
}

// The rules that only need the two neighbours: GB3 to GB9b.
bool joins(ClusterClass before, ClusterClass after) {
  using enum ClusterClass;
  if (before == kCr && after == kLf) return true;
  if (is_control(before) || is_control(after)) return false;
  return after == kExtend || after == kZwj || after == kSpacingMark || before == kPrepend ||
         joins_hangul(before, after);
}

}  // namespace

size_t cluster_end(std::string_view utf8, size_t begin) {
  using enum ClusterClass;
  // Only CR LF is a cluster of ASCII characters.
  const bool ascii_follows = begin + 1 >= utf8.size() || is_ascii(utf8[begin + 1]);
  if (is_ascii(utf8[begin]) && ascii_follows && utf8[begin] != '\r') return begin + 1;
  const auto& table = break_table();
  const char* end = utf8.data() + utf8.size();
  const char* p = utf8.data() + begin;
  const Decoded first = decode(p, end);
  ClusterClass before = cluster_class(table[first.code_point]);
  Pictograph pictograph = next_pictograph(Pictograph::kNone, before);
  bool odd_indicators = before == kRegionalIndicator;
  for (p += first.size; p < end;) {
    const Decoded next = decode(p, end);
    const ClusterClass after = cluster_class(table[next.code_point]);
    const bool emoji = pictograph == Pictograph::kJoiner && after == kPictographic;
    const bool flag = odd_indicators && before == kRegionalIndicator && after == kRegionalIndicator;
    if (!joins(before, after) && !emoji && !flag) break;
    odd_indicators = after == kRegionalIndicator && !flag;
    pictograph = next_pictograph(pictograph, after);
    before = after;
    p += next.size;
  }
  return static_cast<size_t>(p - utf8.data());
}

}  // namespace encode::unicode
