#include "search/hit_texts.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "base/utf8.h"

namespace encode {

namespace {

void set_text(const Text& text, std::string_view utf8, RowText& found) {
  constexpr auto kMost = static_cast<size_t>(HitTexts::kMostBytes);
  found.bytes = std::ssize(utf8);
  found.utf8 = utf8_prefix(utf8, kMost);
  const size_t ids = std::min(text.input_ids.size(), kMost / sizeof(int32_t));
  found.input_ids.assign(text.input_ids.begin(),
                         text.input_ids.begin() + static_cast<std::ptrdiff_t>(ids));
}

}  // namespace

HitTexts::HitTexts(const Matrix& matrix, const InputOptions& options, const InputScan& scan)
    : options_(options),
      scan_(scan),
      input_rows_(read_vector_rows(matrix.path(), matrix.manifest())) {
  if (matrix.manifest().identity.passages) passages_.emplace(matrix);
  for (const TableColumn& column : matrix.manifest().table_columns) {
    if (column.source != kTextColumn && !is_number_column(column)) columns_.push_back(column);
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
    if (passages_) {
      rows.push_back(text.row);
    } else if (const std::optional<int64_t> vector = input_rows_.vector_of(text.row)) {
      rows.push_back(*vector);
    }
  }
  return passages_ ? passages_->vectors_of(rows) : rows;
}

std::map<int64_t, RowText> HitTexts::read(std::vector<int64_t> rows) const {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::map<int64_t, RowText> texts = passages_ ? read_passages(rows) : read_rows(rows);
  if (!columns_.empty() && !texts.empty()) add_columns(texts);
  return texts;
}

std::map<int64_t, RowText> HitTexts::read_rows(const std::vector<int64_t>& rows) const {
  std::map<int64_t, RowText> texts;
  const std::unique_ptr<ScannedTexts> reader = open_scanned_texts(options_, scan_);
  for (const int64_t row : rows) {
    RowText& found = texts[row];
    found.row = input_rows_.row_of(row);
    reader->seek(found.row);
    Text text;
    if (reader->next(text)) set_text(text, text.utf8, found);
  }
  return texts;
}

std::map<int64_t, RowText> HitTexts::read_passages(const std::vector<int64_t>& vectors) const {
  std::map<int64_t, RowText> texts;
  const std::unique_ptr<ScannedTexts> reader = open_scanned_texts(options_, scan_);
  const std::vector<PassagePlace> places = passages_->places(vectors);
  Text text;
  int64_t row = -1;  // the row that `text` is
  for (size_t i = 0; i < places.size(); ++i) {
    const PassagePlace& place = places[i];
    if (place.row != row) {
      reader->seek(place.row);
      if (!reader->next(text)) text = {};
      row = place.row;
    }
    RowText& found = texts[vectors[i]];
    found.row = row;
    found.passage = place;
    const std::string_view cut = text.framed().text;
    const auto begin = std::min(cut.size(), static_cast<size_t>(place.byte_begin));
    const auto bytes = static_cast<size_t>(place.byte_end - place.byte_begin);
    set_text(text, cut.substr(begin, bytes), found);
  }
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
