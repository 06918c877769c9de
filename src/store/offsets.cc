#include "store/offsets.h"

#include <fmt/format.h>

#include "store/audit.h"
#include "store/sealed_file.h"

namespace encode {

OffsetsWriter::OffsetsWriter(const std::string& path, int64_t rows) : offsets_(path, rows + 1) {
  offsets_.append(0);
}

void OffsetsWriter::append(std::span<const int32_t> lengths) {
  for (const int32_t length : lengths) offsets_.append(vectors_ += length);
}

void OffsetsWriter::append_file(const std::string& path, const FileSeal& seal) {
  const int64_t base = vectors_;
  bool first = true;  // the first offset, 0, is written already
  read_sealed_numbers(path, seal, [&](int64_t offset) {
    if (!first) offsets_.append(vectors_ = base + offset);
    first = false;
  });
}

std::string check_offsets(const std::string& path, const FileSeal& seal, int64_t rows,
                          int64_t vectors) {
  if (std::string wrong = check_sealed_file(path, seal); !wrong.empty()) return wrong;
  int64_t count = 0;
  int64_t last = 0;
  bool ascending = true;
  read_sealed_numbers(path, seal, [&](int64_t offset) {
    ascending = ascending && (count == 0 ? offset == 0 : offset >= last);
    last = offset;
    ++count;
  });
  if (count != rows + 1) return fmt::format("it has {} offsets for {} rows", count, rows);
  if (!ascending) return "its offsets do not ascend from 0";
  if (last == vectors) return "";
  return fmt::format("its last offset is {}, but the matrix has {} vectors", last, vectors);
}

}  // namespace encode
