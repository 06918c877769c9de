#include "config/edit/yaml_places.h"

#include <algorithm>

namespace encode {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_space(char c) { return c == ' ' || c == '\t'; }
bool is_break(char c) { return c == '\r' || c == '\n'; }
bool is_indicator(char c) { return std::string_view(",[]{}").find(c) != std::string_view::npos; }

bool means_null(std::string_view text) {
  return text == "~" || text == "null" || text == "Null" || text == "NULL";
}

}  // namespace

YamlPlaces::YamlPlaces(std::string_view text) : text_(text), lines_{0} {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') lines_.push_back(at + 1);
  }
}

size_t YamlPlaces::offset(YamlMark mark) const {
  const size_t line = std::min(static_cast<size_t>(mark.line - 1), lines_.size() - 1);
  return std::min(lines_[line] + static_cast<size_t>(mark.column - 1), text_.size());
}

size_t YamlPlaces::line_begin(size_t offset) const {
  return *(std::upper_bound(lines_.begin(), lines_.end(), offset) - 1);
}

size_t YamlPlaces::next_line(size_t offset) const {
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), offset);
  return next == lines_.end() ? text_.size() : *next;
}

bool YamlPlaces::in_brackets(const YamlNode& node) const {
  const size_t begin = offset(node.mark);
  return begin < text_.size() && (text_[begin] == '{' || text_[begin] == '[');
}

std::optional<YamlSpan> YamlPlaces::scalar(const YamlNode& node, bool flow) const {
  const size_t begin = offset(node.mark);
  if (begin == text_.size()) return std::nullopt;
  if (node.quoted) {
    if (text_[begin] != '"' && text_[begin] != '\'') return std::nullopt;  // a block: | or >
    return YamlSpan{.begin = begin, .end = quoted_end(begin)};
  }
  const YamlSpan span = {.begin = begin, .end = plain_end(begin, flow)};
  if (text_.substr(begin, span.end - begin) != node.text) return std::nullopt;
  return span;
}

std::optional<YamlSpan> YamlPlaces::value(const YamlEntry& entry, bool flow) const {
  if (entry.value.kind == YamlNode::Kind::kScalar) return scalar(entry.value, flow);
  const std::optional<size_t> colon = after_colon(entry.key, flow);
  if (!colon || entry.value.kind != YamlNode::Kind::kNull) return std::nullopt;
  // yaml-cpp gives an empty value the position of whatever comes next.
  const size_t next = skip_blanks(*colon);
  const size_t end = plain_end(next, flow);
  if (next == offset(entry.value.mark) && means_null(text_.substr(next, end - next)))
    return YamlSpan{.begin = next, .end = end};
  return YamlSpan{.begin = *colon, .end = *colon};
}

std::optional<size_t> YamlPlaces::end(const YamlEntry& entry, bool flow) const {
  const YamlNode& node = entry.value;
  if (node.kind == YamlNode::Kind::kNull || node.kind == YamlNode::Kind::kScalar) {
    if (const std::optional<YamlSpan> span = value(entry, flow)) return span->end;
    if (flow || node.kind == YamlNode::Kind::kNull) return std::nullopt;
    return end_of_deeper_lines(entry);
  }
  if (in_brackets(node)) return end_in_brackets(node);
  if (!node.entries.empty()) return end(node.entries.back(), false);
  if (node.items.empty()) return std::nullopt;
  const std::optional<YamlSpan> last = scalar(node.items.back(), false);
  return last ? std::optional(last->end) : std::nullopt;
}

std::optional<size_t> YamlPlaces::after_colon(const YamlNode& key, bool flow) const {
  const std::optional<YamlSpan> name = scalar(key, flow);
  if (!name) return std::nullopt;
  size_t at = name->end;
  while (at < text_.size() && is_space(text_[at])) ++at;
  if (at == text_.size() || text_[at] != ':') return std::nullopt;
  return at + 1;
}

// The closing bracket follows the last item; only blanks, comments and commas are between them.
std::optional<size_t> YamlPlaces::end_in_brackets(const YamlNode& node) const {
  std::optional<size_t> at = offset(node.mark) + 1;
  if (!node.entries.empty()) at = end(node.entries.back(), true);
  if (!node.items.empty()) {
    const std::optional<YamlSpan> last = scalar(node.items.back(), true);
    at = last ? std::optional(last->end) : std::nullopt;
  }
  if (!at) return at;
  size_t close = skip_blanks(*at);
  while (close < text_.size() && text_[close] == ',') close = skip_blanks(close + 1);
  const char bracket = node.kind == YamlNode::Kind::kMap ? '}' : ']';
  if (close == text_.size() || text_[close] != bracket) return std::nullopt;
  return close + 1;
}

// A text of several lines ends before the first line that is not indented more than its key. Empty
// lines at its end belong to it only in a block that keeps them ("|+").
size_t YamlPlaces::end_of_deeper_lines(const YamlEntry& entry) const {
  const size_t head = offset(entry.value.mark);
  const std::string_view first = text_.substr(head, next_line(head) - head);
  const bool keeps =
      entry.value.quoted && first.substr(0, first.find('#')).find('+') != std::string_view::npos;
  const auto indent = static_cast<size_t>(entry.key.mark.column - 1);
  size_t end = head;
  for (size_t line = line_begin(head); line < text_.size(); line = next_line(line)) {
    const size_t content = text_.find_first_not_of(kBlanks, line);
    const bool empty = content == std::string_view::npos || content >= next_line(line);
    const bool deeper = line <= head || (!empty && content - line > indent);
    if (!empty && !deeper) break;
    if (!empty || keeps) end = next_line(line);
  }
  while (!keeps && end > head && is_break(text_[end - 1])) --end;
  return end;
}

size_t YamlPlaces::quoted_end(size_t begin) const {
  const char quote = text_[begin];
  for (size_t at = begin + 1; at < text_.size(); ++at) {
    const bool doubled = quote == '\'' && text_.substr(at, 2) == "''";
    if (doubled || (quote == '"' && text_[at] == '\\')) {
      ++at;
    } else if (text_[at] == quote) {
      return at + 1;
    }
  }
  return text_.size();
}

size_t YamlPlaces::plain_end(size_t begin, bool flow) const {
  size_t end = begin;
  for (size_t at = begin; at < text_.size() && !is_break(text_[at]); ++at) {
    const char c = text_[at];
    if (c == '#' && at > begin && is_space(text_[at - 1])) break;
    if (flow && is_indicator(c)) break;
    if (c == ':') {
      const char next = at + 1 < text_.size() ? text_[at + 1] : '\n';
      if (is_space(next) || is_break(next) || (flow && is_indicator(next))) break;
    }
    if (!is_space(c)) end = at + 1;
  }
  return end;
}

// Skips blanks, line ends and comments.
size_t YamlPlaces::skip_blanks(size_t offset) const {
  while (true) {
    offset = std::min(text_.find_first_not_of(kBlanks, offset), text_.size());
    if (offset == text_.size() || text_[offset] != '#') return offset;
    offset = next_line(offset);
  }
}

}  // namespace encode
