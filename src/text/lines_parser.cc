// The parser of text files with one row on each line.
#include <fmt/format.h>
#include <memory>

#include "encode/error.h"

#include "base/units.h"
#include "text/line_splitter.h"
#include "text/parsers.h"

namespace encode {
namespace {

class LinesParser final : public RecordParser {
 public:
  LinesParser(ByteWindow& window, const InputOptions& options)
      : lines_(window, options.max_row_bytes, options.path),
        max_row_bytes_(options.max_row_bytes) {}

  bool next(Record& record) override {
    RawRecord line;
    if (!lines_.next(line)) return false;
    record.begin(line.number, line.offset_bytes);
    record.text = line.bytes;
    if (line.too_long) record.problem = too_long_problem(max_row_bytes_);
    return true;
  }

  void seek(int64_t offset_bytes, int64_t line) override { lines_.seek(offset_bytes, line); }

 private:
  LineSplitter lines_;
  int64_t max_row_bytes_;
};

}  // namespace

std::unique_ptr<RecordParser> make_lines_parser(ByteWindow& window, const InputOptions& options,
                                                bool /*any_values*/) {
  if (!options.names_fields()) return std::make_unique<LinesParser>(window, options);
  throw Error(
      {.code = "text.field",
       .what = "a text file of lines has no fields",
       .where = options.path,
       .expected = "no field",
       .found = options.field.empty() ? fmt::format("text: '{}'", preview(options.text_template))
                                      : fmt::format("field: '{}'", options.field),
       .hint = fmt::format("leave out the field, or set the format to {}", text_fields_names())});
}

}  // namespace encode
