// The parser of JSON arrays: each element is a JSON document.
#include <memory>

#include "text/element_splitter.h"
#include "text/json_document.h"
#include "text/record.h"

namespace encode {
namespace {

class JsonArrayParser final : public RecordParser {
 public:
  JsonArrayParser(ByteWindow& window, const InputOptions& options, bool any_values)
      : hold_bytes_(document_hold_bytes(options.max_row_bytes)),
        elements_(window, hold_bytes_, options.path),
        document_(options.field.empty() ? JsonFieldPath() : JsonFieldPath(options.field), options,
                  "element", any_values) {}

  bool next(Record& record) override {
    Element element;
    if (!elements_.next(element)) return false;
    record.line = element.number;
    record.offset_bytes = element.offset_bytes;
    record.text = {};
    record.tokenized = false;
    record.input_ids = {};
    record.problem.code = {};
    if (element.too_long) {
      record.problem = too_long_problem(hold_bytes_);
      record.problem.what = "the element is too long";
    } else {
      document_.read(element.bytes, record);
    }
    return true;
  }

  void seek(int64_t offset_bytes, int64_t line) override { elements_.seek(offset_bytes, line); }

 private:
  int64_t hold_bytes_;
  ElementSplitter elements_;
  JsonDocument document_;
};

}  // namespace

std::unique_ptr<RecordParser> make_json_array_parser(ByteWindow& window,
                                                     const InputOptions& options, bool any_values) {
  return std::make_unique<JsonArrayParser>(window, options, any_values);
}

}  // namespace encode
