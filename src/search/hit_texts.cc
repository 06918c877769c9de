#include "search/hit_texts.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/utf8.h"

namespace encode {

HitTexts::HitTexts(const Matrix& matrix, const InputOptions& options, const InputScan& scan)
    : options_(options),
      scan_(scan),
      input_rows_(read_vector_rows(matrix.path(), matrix.manifest())) {}

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
  return texts;
}

}  // namespace encode
