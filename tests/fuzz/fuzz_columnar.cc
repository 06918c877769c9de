// Reads any bytes as a Parquet file, an Arrow IPC file or an Arrow IPC stream. The result must be
// an Error, or rows that a second pass with a seek gives again. The first byte of the input chooses
// the format and the column.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encode/error.h"

#include "columnar/columnar.h"
#include "require.h"

namespace {

// A small file can have any number of equal rows. This number is enough for every place of the
// code.
constexpr int64_t kMostRows = 20'000;

class MemoryFile final : public encode::ByteFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  void read(int64_t offset, std::span<char> to) override {
    require(offset >= 0 && offset + std::ssize(to) <= size(), "reads are inside the file");
    std::copy_n(bytes_.begin() + offset, to.size(), to.begin());
  }

 private:
  std::span<const uint8_t> bytes_;
};

std::string shown(const encode::ColumnValue& value) {
  using Kind = encode::ColumnValue::Kind;
  std::string text = std::to_string(static_cast<int>(value.kind));
  if (value.kind == Kind::kText) text += value.text;
  if (value.kind == Kind::kBadIds) text += value.found;
  if (value.kind == Kind::kIds) {
    for (const int32_t id : value.ids) {
      require(id >= 0, "token ids are not negative");
      text += std::to_string(id) + ",";
    }
  }
  return text;
}

void read_twice(MemoryFile& file, const encode::ColumnRequest& request) {
  const std::unique_ptr<encode::ColumnReader> reader = encode::open_column(file, request);
  encode::ColumnValue value;
  std::vector<std::string> rows;
  while (std::ssize(rows) < kMostRows && reader->next(value)) rows.push_back(shown(value));
  const int64_t middle = std::ssize(rows) / 2;
  reader->seek(middle);
  for (auto row = rows.begin() + middle; row != rows.end(); ++row) {
    require(reader->next(value), "a second pass has the same number of rows");
    require(shown(value) == *row, "a second pass has the same rows");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  MemoryFile file({data + 1, size - 1});
  try {
    using encode::TextFormat;
    read_twice(file, {.format = (data[0] & 1) != 0 ? TextFormat::kParquet : TextFormat::kArrow,
                      .path = "fuzz",
                      .column = (data[0] & 2) != 0 ? "input_ids" : "text"});
  } catch (const encode::Error& error) {
    require(error.detail().code && !error.detail().what.empty(),
            "an Error has a code and says what happened");
    require(error.detail().code != "arrow.plugin", "the plugin is there");
  }
  return 0;
}
