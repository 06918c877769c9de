#include "search/hit_texts.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/utf8.h"

namespace encode {

HitTexts::HitTexts(const Matrix& matrix, const InputOptions& options, const InputScan& scan)
    : options_(options),
      scan_(scan),
      input_rows_(read_vector_rows(matrix.path(), matrix.manifest())) {
  for (const TableColumn& column : matrix.manifest().table_columns) {
    const bool known = column.source == kRowColumn || column.source == kTextColumn ||
                       column.source == kSourceRowSource;
    if (!known) columns_.push_back(column);
  }
}

std::vector<std::string> HitTexts::columns() const {
  std::vector<std::string> names;
  for (const TableColumn& column : columns_) names.push_back(column.name);
  return names;
}

std::vector<int64_t> HitTexts::rows_without_text() const {
  std::vector<int64_t> rows;
  if (scan_.empty == 0) return rows;
  const std::unique_ptr<ScannedTexts> reader = open_scanned_texts(options_, scan_);
  for (Text text; reader->next(text);) {
    if (!text.utf8.empty() || !text.input_ids.empty()) continue;
    if (const std::optional<int64_t> vector = input_rows_.vector_of(text.row))
      rows.push_back(*vector);
  }
  return rows;
}

std::map<int64_t, RowText> HitTexts::read(std::vector<int64_t> rows) const {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::map<int64_t, RowText> texts;
  const std::unique_ptr<ScannedTexts> reader = open_scanned_texts(options_, scan_);
  for (const int64_t row : rows) {
    RowText& found = texts[row];
    found.row = input_rows_.row_of(row);
    reader->seek(found.row);
    Text text;
    if (!reader->next(text)) continue;
    constexpr auto kMost = static_cast<size_t>(kMostBytes);
    found.bytes = std::ssize(text.utf8);
    found.utf8 = utf8_prefix(text.utf8, kMost);
    text.input_ids.resize(std::min(text.input_ids.size(), kMost / sizeof(int32_t)));
    found.input_ids = std::move(text.input_ids);
  }
  if (!columns_.empty() && !texts.empty()) add_columns(texts);
  return texts;
}

void HitTexts::add_columns(std::map<int64_t, RowText>& texts) const {
  std::vector<std::string> fields;
  for (const TableColumn& column : columns_) fields.push_back(column.source);
  const std::unique_ptr<ScannedFields> reader = open_scanned_fields(options_, scan_, fields);
  FieldRow values;
  int64_t read = 0;
  for (auto& [row, text] : texts) {
    while (read <= text.row && reader->next(values)) ++read;
    for (const std::optional<std::string>& value : values.fields) {
      std::optional<std::string>& shown = text.columns.emplace_back();
      if (value) shown = utf8_prefix(*value, static_cast<size_t>(kMostBytes));
    }
  }
  reader->finish();
}

}  // namespace encode
