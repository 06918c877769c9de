#include "base/shell_quote.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

namespace encode {
namespace {

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

// Returns true if no shell gives the character a meaning.
bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

std::string with_escapes(const std::string& word) {
  std::string text = "$'";
  for (const char c : word) {
    if (!is_printable(c)) {
      text += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else if (c == '\'' || c == '\\') {
      text += std::string("\\") + c;
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string quoted(const std::string& word) {
  // zsh takes "=word" for the path of a program.
  const bool plain =
      !word.empty() && word.front() != '=' && std::all_of(word.begin(), word.end(), is_plain);
  if (plain) return word;
  const bool printable = std::all_of(word.begin(), word.end(), is_printable);
  if (!printable || word.find('\'') != std::string::npos) return with_escapes(word);
  return "'" + word + "'";
}

}  // namespace

std::string shell_command(const std::vector<std::string>& words) {
  std::vector<std::string> parts;
  for (const std::string& word : words) parts.push_back(quoted(word));
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace encode
