#include <algorithm>
#include <fmt/format.h>

#include "base/units.h"
#include "config/load.h"
#include "config/schema.h"

namespace encode {
namespace {

constexpr size_t kOriginColumn = 48;

std::string comment(const std::string& origin) {
  // Escapes line breaks, because a path may contain one, and it would end the comment.
  return "# " + preview(origin, origin.size());
}

}  // namespace

std::string print_config(const LoadedConfig& config, PrintedKeys keys) {
  std::string text;
  std::vector<std::string> open;  // the sections that contain the last printed key, outermost first
  for (const Setting& setting : config.settings) {
    if (keys == PrintedKeys::kGiven && setting.origin == "default") continue;
    const std::vector<std::string> parts = split_key(setting.key);
    const size_t sections = parts.size() - 1;
    const auto limit = static_cast<std::ptrdiff_t>(std::min(sections, open.size()));
    const auto differs = std::mismatch(open.begin(), open.begin() + limit, parts.begin()).first;
    for (auto depth = static_cast<size_t>(differs - open.begin()); depth < sections; ++depth) {
      if (depth == 0 && !text.empty()) text += '\n';
      text += fmt::format("{:{}}{}:\n", "", 2 * depth, quote_if_needed(parts[depth]));
    }
    open.assign(parts.begin(), parts.end() - 1);
    std::string line = fmt::format("{:{}}{}: {}", "", 2 * sections, parts.back(), setting.value);
    if (line.size() < kOriginColumn) line.resize(kOriginColumn, ' ');
    text += fmt::format("{}  {}\n", line, comment(setting.origin));
  }
  return text;
}

}  // namespace encode
