#include "search/search_report.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"

namespace encode {
namespace {

constexpr size_t kLongestCharacter = 4;  // in bytes

// Returns the first `most` characters of a text on one line, as a terminal may show them. A run of
// white space becomes one space.
std::string on_one_line(const std::string& text, size_t most) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    if (line.size() > most * kLongestCharacter) break;
  }
  line.resize(first_invalid_utf8(line));
  line = printable(line);
  size_t characters = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xC0U) != 0x80U;
    if (begins && ++characters > most) {
      line.resize(i);
      return line + "...";
    }
  }
  return line;
}

std::string text_of(const SearchHit& hit, size_t most) {
  if (hit.text.input_ids.empty()) {
    const std::string line = on_one_line(hit.text.utf8, most);
    return line.empty() ? "(only white space)" : line;
  }
  return on_one_line(fmt::format("token ids {}", fmt::join(hit.text.input_ids, " ")), most);
}

std::string name_of_file(const std::string& path) {
  return printable(std::filesystem::path(path).filename().string());
}

}  // namespace

std::string render_setting(const SearchSetting& setting) {
  std::string text =
      fmt::format("{}: {} of {} {} numbers, score: {}", name_of_file(setting.matrix_path),
                  format_count(setting.rows, "row", "rows"), setting.dim, to_string(setting.type),
                  to_string(setting.similarity));
  if (!setting.prompt.empty()) text += fmt::format(", prompt: '{}'", preview(setting.prompt));
  text += '\n';
  if (setting.truncated_queries > 0) {
    text +=
        fmt::format("note: text beyond the model's limit was cut from {} of {}\n",
                    setting.truncated_queries, format_count(setting.queries, "query", "queries"));
  }
  if (setting.left_out_rows > 0) {
    text += fmt::format("note: {} left out, with an empty text or a vector of zeros\n",
                        format_count(setting.left_out_rows, "row is", "rows are"));
  }
  return text;
}

std::string render_result(const SearchSetting& setting, const SearchResult& result,
                          size_t columns) {
  std::string text;
  if (setting.queries > 1) text = fmt::format("\n{}\n", on_one_line(result.query, columns - 4));
  const size_t row_width = std::max<size_t>(3, fmt::formatted_size("{}", setting.rows - 1));
  constexpr size_t kScoreWidth = 10;
  constexpr size_t kGaps = 7;  // the spaces between the columns, and the dots of a cut text
  constexpr size_t kLeast = 20;
  const size_t used = kScoreWidth + row_width + kGaps;
  const size_t width = columns > used + kLeast ? columns - used : kLeast;
  text += fmt::format("{:>{}}  {:>{}}  text\n", "score", kScoreWidth, "row", row_width);
  for (const SearchHit& hit : result.hits) {
    text += fmt::format("{:>{}.4f}  {:>{}}  {}\n", hit.score, kScoreWidth, hit.row, row_width,
                        text_of(hit, width));
  }
  return text;
}

std::string to_json_line(const SearchSetting& setting, const SearchResult& result) {
  Json hits = Json::array();
  for (const SearchHit& hit : result.hits) {
    Json json = {{"row", hit.row}, {"input_row", hit.text.row}, {"score", hit.score}};
    if (hit.text.input_ids.empty()) {
      json["text"] = hit.text.utf8;
      json["text_bytes"] = hit.text.bytes;
    } else {
      json["input_ids"] = hit.text.input_ids;
    }
    hits.push_back(std::move(json));
  }
  const Json line = {{"query", result.query},
                     {"prompt", setting.prompt},
                     {"matrix", setting.matrix_path},
                     {"output_dtype", to_string(setting.type)},
                     {"similarity", to_string(setting.similarity)},
                     {"left_out_rows", setting.left_out_rows},
                     {"hits", std::move(hits)}};
  return line.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace encode
