#include "base/wrap_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace encode {
namespace {

// Returns the end of the word, or of the words in quotes, at `begin`.
size_t end_of_word(std::string_view line, size_t begin) {
  size_t at = begin;
  while (at < line.size() && line[at] != ' ') {
    const bool opens = at == begin || line[at - 1] == '(';
    if (opens && std::string_view("'\"`").find(line[at]) != std::string_view::npos) {
      const size_t closing = line.find(line[at], at + 1);
      if (closing != std::string_view::npos) at = closing;
    }
    ++at;
  }
  return at;
}

// Returns true if no word ends with a comma or a semicolon, as in "encode cuts texts; give ...".
bool is_command(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    at = end_of_word(text, at);
    if (at > 0 && (text[at - 1] == ',' || text[at - 1] == ';')) return false;
  }
  return true;
}

// Returns the end of the part of `line` that begins at `begin` and that no line break may divide.
// There must be no space at `begin`.
size_t end_of_part(std::string_view line, size_t begin) {
  constexpr std::string_view kProgram = "encode ";
  if (!line.substr(begin).starts_with(kProgram)) return end_of_word(line, begin);
  if (line.substr(0, begin).ends_with(": ") && is_command(line.substr(begin))) return line.size();
  size_t end = end_of_word(line, begin + kProgram.size());
  while (line.substr(end).starts_with(" -")) end = end_of_word(line, end + 1);
  return end;
}

void append_wrapped(std::string& out, std::string_view line, size_t width, size_t indent) {
  size_t column = 0;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = std::min(line.find_first_not_of(' ', at), line.size());
    const size_t end = begin == line.size() ? begin : end_of_part(line, begin);
    const std::string_view part = line.substr(begin, end - begin);
    const size_t wide = begin - at + count_characters(part);
    if (column > indent && column + wide > width) {
      out.append("\n").append(indent, ' ').append(part);
      column = indent + count_characters(part);
    } else {
      out.append(line.substr(at, end - at));
      column += wide;
    }
    at = end;
  }
}

}  // namespace

std::string wrap_text(std::string_view text, size_t width, size_t indent) {
  std::string wrapped;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    append_wrapped(wrapped, text.substr(0, end), width, indent);
    if (end < text.size()) wrapped += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

}  // namespace encode
