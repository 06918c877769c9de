#include "search/search_report.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>
#include <vector>

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
    if (begins_character(line[i]) && ++characters > most) {
      line.resize(i);
      return line + "...";
    }
  }
  return line;
}

std::string text_of(const SearchHit& hit, size_t most) {
  if (hit.text.input_ids.empty()) {
    // Only a passage of one field of a template, which has other fields around it.
    if (hit.text.utf8.empty()) return "(the field is empty)";
    const std::string line = on_one_line(hit.text.utf8, most);
    return line.empty() ? "(only white space)" : line;
  }
  return on_one_line(fmt::format("token ids {}", fmt::join(hit.text.input_ids, " ")), most);
}

// The columns of the input beside the text, such as an id. Row 0 has the names of the columns, and
// row i has the cells of hit i - 1. All cells of a column have the same width. The first columns
// that fit into half of the line are shown; the JSON has all of them.
class InputColumns {
 public:
  InputColumns(const SearchSetting& setting, const SearchResult& result, size_t line_width)
      : cells_(1) {
    const bool passages = !result.hits.empty() && result.hits.front().text.passage;
    if (passages) cells_[0] = {"source_row", "passage"};
    for (size_t column = 0; column < setting.columns.size(); ++column)
      cells_[0].push_back(cell(setting.columns[column]));
    for (const SearchHit& hit : result.hits) {
      std::vector<std::string>& row = cells_.emplace_back();
      if (passages)
        row = {fmt::to_string(hit.text.row), fmt::to_string(hit.text.passage.value().passage)};
      for (const std::optional<std::string>& value : hit.text.columns)
        row.push_back(cell(value.value_or("")));
    }
    widths_.assign(cells_[0].size(), 0);
    for (const std::vector<std::string>& row : cells_) {
      for (size_t column = 0; column < row.size(); ++column)
        widths_[column] = std::max(widths_[column], count_characters(row[column]));
    }
    for (const size_t width : widths_) {
      if (2 * (width_ + kGap + width) > line_width) break;
      width_ += kGap + width;
      ++shown_;
    }
  }

  // Returns the cells of a row, each with two spaces before it.
  std::string line(size_t row) const {
    std::string text;
    for (size_t column = 0; column < std::min(shown_, cells_[row].size()); ++column) {
      const std::string& shown = cells_[row][column];
      text.append(kGap, ' ').append(shown);
      text.append(widths_[column] - count_characters(shown), ' ');
    }
    return text;
  }
  size_t width() const { return width_; }

 private:
  static constexpr size_t kGap = 2;

  static std::string cell(const std::string& value) {
    constexpr size_t kMostCharacters = 24;
    return on_one_line(value, kMostCharacters);
  }

  std::vector<std::vector<std::string>> cells_;
  std::vector<size_t> widths_;
  size_t shown_ = 0;  // the number of columns that are shown
  size_t width_ = 0;  // the width of these columns, with the gaps
};

std::string name_of_file(const std::string& path) {
  return printable(std::filesystem::path(path).filename().string());
}

Json place_of(const PassagePlace& place) {
  return {{"passage", place.passage},
          {"byte_begin", place.byte_begin},
          {"byte_end", place.byte_end},
          {"char_begin", place.char_begin},
          {"char_end", place.char_end}};
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
  constexpr size_t kGaps = 7;  // the spaces between the columns, and the dots after a cut text
  constexpr size_t kLeast = 20;
  const InputColumns input(setting, result, columns);
  const size_t used = kScoreWidth + row_width + input.width() + kGaps;
  const size_t width = columns > used + kLeast ? columns - used : kLeast;
  text += fmt::format("{:>{}}  {:>{}}{}  text\n", "score", kScoreWidth, "row", row_width,
                      input.line(0));
  for (size_t i = 0; i < result.hits.size(); ++i) {
    const SearchHit& hit = result.hits[i];
    text += fmt::format("{:>{}.4f}  {:>{}}{}  {}\n", hit.score, kScoreWidth, hit.row, row_width,
                        input.line(i + 1), text_of(hit, width));
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
    if (hit.text.passage) json.update(place_of(*hit.text.passage));
    for (size_t column = 0; column < hit.text.columns.size(); ++column) {
      const std::optional<std::string>& value = hit.text.columns[column];
      json["columns"][setting.columns.at(column)] = value ? Json(*value) : Json();
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
