#include "store/set_aside.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string_view>

#include "encode/error.h"

#include "base/json.h"
#include "store/layout.h"
#include "store/sealed_file.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr size_t kMaxCodeBytes = 100;
constexpr size_t kMaxMessageBytes = 500;
constexpr size_t kMaxLineBytes = 8 << 10;  // JSON escapes a byte with up to six bytes

SetAsideRow parse_line(std::string_view line, const std::string& where) {
  try {
    const Json json =
        parse_json(line, {.max_bytes = kMaxLineBytes, .max_depth = 2}, where, "store.damaged");
    const JsonFields fields(json, where, "store.damaged");
    return {.row = fields.integer("row", 0, kMaxInteger),
            .code = fields.string("code"),
            .message = fields.string("message")};
  } catch (const Error& error) {
    throw damage(error.detail().what, where, error.detail().expected, error.detail().found);
  }
}

}  // namespace

std::string ledger_line(const SetAsideRow& row) {
  const Json json = {{"row", row.row},
                     {"code", row.code.substr(0, kMaxCodeBytes)},
                     {"message", row.message.substr(0, kMaxMessageBytes)}};
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

std::vector<SetAsideRow> read_set_aside(const std::string& path, const FileSeal& seal) {
  std::vector<SetAsideRow> rows;
  std::string line;
  const auto take = [&](char c) {
    if (c != '\n') {
      line += c;
      return;
    }
    rows.push_back(parse_line(line, fmt::format("{}:{}", path, rows.size() + 1)));
    if (rows.size() > 1 && rows[rows.size() - 2].row >= rows.back().row)
      throw damage("a list of rows that were set aside is not in their order", path,
                   "ascending rows",
                   fmt::format("row {} after row {}", rows.back().row, rows[rows.size() - 2].row));
    line.clear();
  };
  read_sealed_file(path, seal, [&](std::string_view block) {
    for (const char c : block) take(c);
  });
  if (!line.empty())
    throw damage("the last line of a list of rows that were set aside is cut off", path,
                 "a newline", "the end of the file");
  return rows;
}

void RowFilter::take(std::span<const float> values,
                     const std::function<void(std::span<const float>)>& pass) {
  const int64_t end = row_ + static_cast<int64_t>(values.size()) / dim_;
  while (row_ < end) {
    const int64_t stop = dropped_.empty() ? end : std::min(end, dropped_.front());
    const auto kept = static_cast<size_t>((stop - row_) * dim_);
    if (kept > 0) pass(values.first(kept));
    values = values.subspan(kept);
    row_ = stop;
    if (row_ == end) break;
    values = values.subspan(static_cast<size_t>(dim_));
    dropped_ = dropped_.subspan(1);
    ++row_;
  }
}

}  // namespace encode
