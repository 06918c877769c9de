// The parser of JSONL: each line is a JSON document.
#include <memory>

#include "text/json_document.h"
#include "text/line_splitter.h"
#include "text/record.h"

namespace encode {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

class JsonlParser final : public RecordParser {
 public:
  JsonlParser(ByteWindow& window, const InputOptions& options, bool any_values)
      : hold_bytes_(document_hold_bytes(options.max_row_bytes)),
        lines_(window, hold_bytes_, options.path),
        document_(JsonFieldPath(options.field), options, "line", any_values) {}

  bool next(Record& record) override;
  void seek(int64_t offset_bytes, int64_t line) override { lines_.seek(offset_bytes, line); }

 private:
  int64_t hold_bytes_;
  LineSplitter lines_;
  JsonDocument document_;
};

bool JsonlParser::next(Record& record) {
  Line line;
  if (!lines_.next(line)) return false;
  record.line = line.number;
  record.offset_bytes = line.offset_bytes;
  record.text = {};
  record.tokenized = false;
  record.input_ids = {};
  record.problem.code = {};
  if (line.too_long) {
    record.problem = too_long_problem(hold_bytes_);
    record.problem.what = "the line is too long";
  } else if (is_blank(line.bytes)) {
    if (lines_.only_blank_left()) return false;
    record.problem = {.code = "jsonl.blank",
                      .what = "blank line",
                      .expected = "a JSON object, or nothing else up to the end of the file",
                      .found = "no text",
                      .hint = "delete the line"};
  } else {
    document_.read(line.bytes, record);
  }
  return true;
}

}  // namespace

std::unique_ptr<RecordParser> make_jsonl_parser(ByteWindow& window, const InputOptions& options,
                                                bool any_values) {
  return std::make_unique<JsonlParser>(window, options, any_values);
}

}  // namespace encode
