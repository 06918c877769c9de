#include "text/element_splitter.h"

#include <fmt/format.h>
#include <utility>

#include "base/json.h"
#include "base/units.h"

namespace encode {
namespace {

// Finds the end of an element, byte by byte. It counts the depth and does not recurse, so that no
// nesting is too deep.
class ElementScan {
 public:
  enum class Step { kInside, kEnd, kBroken };

  // kEnd: `c` is the comma or the bracket after the element. kBroken: `c` cannot follow the
  // element.
  Step take(char c) {
    if (in_string_) {
      in_string(c);
      return Step::kInside;
    }
    if (depth_ == 0 && (c == ',' || c == ']')) return Step::kEnd;
    if (kJsonSpace.find(c) != std::string_view::npos) return Step::kInside;
    if (complete_ || (depth_ == 0 && c == '}')) return Step::kBroken;
    if (c == '"') in_string_ = true;
    if (c == '[' || c == '{') ++depth_;
    if (c == ']' || c == '}') complete_ = --depth_ == 0;
    return Step::kInside;
  }

 private:
  void in_string(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      complete_ = depth_ == 0;
    }
  }

  int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool complete_ = false;  // the element is a string, an array or an object that has been closed
};

}  // namespace

ElementSplitter::ElementSplitter(ByteWindow& window, int64_t hold_bytes, std::string path)
    : window_(window), hold_bytes_(static_cast<size_t>(hold_bytes)), path_(std::move(path)) {}

bool ElementSplitter::next(RawRecord& element) {
  window_.consume(std::exchange(unread_bytes_, 0));
  if (!begin_element()) return false;
  element = {
      .bytes = {}, .number = next_number_, .offset_bytes = window_.offset(), .too_long = false};
  const size_t size = measure(element);
  if (!element.too_long) {
    element.bytes = window_.view().substr(0, size);
    element.bytes.remove_suffix(size - 1 - element.bytes.find_last_not_of(kJsonSpace));
    unread_bytes_ = size;
  }
  place_ = Place::kAfterElement;
  ++next_number_;
  return true;
}

// Goes to the first byte of the next element. Returns false if there is none.
bool ElementSplitter::begin_element() {
  if (place_ == Place::kEnd) return false;
  if (place_ == Place::kStart) {
    if (!skip_space()) throw broken("the file is empty", "a JSON array");
    if (peek() != '[') throw broken("the file is not a JSON array", "'['");
    window_.consume(1);
    place_ = Place::kFirstElement;
  }
  const bool more = skip_space();
  if (more && peek() == ']' && place_ != Place::kElement) {
    finish();
    return false;
  }
  if (place_ == Place::kAfterElement) {
    if (!more || peek() != ',') throw broken("the JSON array is broken", "',' or ']'");
    window_.consume(1);
  }
  if (!skip_space() || peek() == ',' || peek() == ']')
    throw broken("the JSON array is broken", "an element");
  return true;
}

// Returns the size of the element at the beginning of the window, up to the comma or the bracket
// after it. An element that is too long is no longer in the window.
size_t ElementSplitter::measure(RawRecord& element) {
  ElementScan scan;
  int64_t skipped = 0;
  for (size_t size = 0;;) {
    const std::string_view view = window_.view();
    ElementScan::Step step = ElementScan::Step::kInside;
    while (size < view.size() && (step = scan.take(view[size])) == ElementScan::Step::kInside)
      ++size;
    if (step == ElementScan::Step::kBroken)
      throw broken("the JSON array is broken", "',' or ']' after the element", size);
    if (skipped + static_cast<int64_t>(size) > kMaxRecordBytes) {
      throw Error({.code = "text.record_limit",
                   .what = "an element is longer than a record may be",
                   .where = fmt::format("{}:{}", path_, element.number),
                   .expected = fmt::format("at most {} bytes", kMaxRecordBytes),
                   .found = "more bytes before the end of the element",
                   .hint = "check that this is an array with an element for each row"});
    }
    element.too_long = element.too_long || size > hold_bytes_;
    if (element.too_long) {
      window_.consume(size);
      skipped += static_cast<int64_t>(std::exchange(size, 0));
    }
    if (step == ElementScan::Step::kEnd) return size;
    if (!window_.extend())
      throw broken("the file ends inside the JSON array", "the rest of the array", size);
  }
}

// Returns false at the end of the file.
bool ElementSplitter::skip_space() {
  do {
    const std::string_view view = window_.view();
    const size_t text = view.find_first_not_of(kJsonSpace);
    window_.consume(text == std::string_view::npos ? view.size() : text);
    if (text != std::string_view::npos) return true;
  } while (window_.extend());
  return false;
}

// Checks that only white space follows the last element.
void ElementSplitter::finish() {
  window_.consume(1);
  place_ = Place::kEnd;
  if (skip_space()) throw broken("text follows the JSON array", "the end of the file");
}

// Makes the Error for the byte that is `ahead` bytes after the beginning of the window.
Error ElementSplitter::broken(std::string what, std::string expected, size_t ahead) {
  constexpr size_t kShownBytes = 12;
  const std::string_view rest = window_.view().substr(ahead);
  const std::string found =
      rest.empty() ? "the end of the file"
                   : fmt::format("'{}'", preview(rest.substr(0, kShownBytes), kShownBytes));
  std::string hint = "correct the file; python3 -m json.tool tests it";
  if (place_ == Place::kStart && rest.empty())
    hint = "check that this is the file you meant; an array without rows is []";
  if (place_ == Place::kStart && rest.starts_with('{'))
    hint =
        "if each line is a JSON document, set the format to jsonl; if the array is in a field, "
        "write it to a file of its own (jq .FIELD)";
  return Error({.code = "json.array",
                .what = std::move(what),
                .where = fmt::format("{}:{}", path_, next_number_),
                .expected = std::move(expected),
                .found = fmt::format("{}, at byte {}", found,
                                     window_.offset() + static_cast<int64_t>(ahead)),
                .hint = std::move(hint)});
}

void ElementSplitter::seek(int64_t offset_bytes, int64_t number) {
  window_.consume(std::exchange(unread_bytes_, 0));
  window_.seek(offset_bytes);
  place_ = Place::kElement;
  next_number_ = number;
}

}  // namespace encode
