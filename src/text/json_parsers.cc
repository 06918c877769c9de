// The parsers of JSONL and of JSON arrays: each line, or each element, is a JSON document.
#include <fmt/format.h>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "text/element_splitter.h"
#include "text/json_document.h"
#include "text/json_layout.h"
#include "text/line_splitter.h"
#include "text/parsers.h"
#include "text/template_text.h"

namespace encode {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

template <typename Splitter>
class JsonParser final : public RecordParser {
 public:
  JsonParser(ByteWindow& window, const InputOptions& options, std::vector<JsonFieldPath> paths,
             bool any_values)
      : hold_bytes_(document_hold_bytes(options.max_row_bytes)),
        splitter_(window, hold_bytes_, options.path),
        document_(std::move(paths), options, Splitter::kNoun, any_values) {}

  bool next(Record& record) override {
    RawRecord raw;
    if (!splitter_.next(raw)) return false;
    record.begin(raw.number, raw.offset_bytes);
    if (raw.too_long) {
      record.problem = too_long_problem(hold_bytes_);
      record.problem.what = fmt::format("the {} is too long", Splitter::kNoun);
      return true;
    }
    if constexpr (std::is_same_v<Splitter, LineSplitter>) {
      if (is_blank(raw.bytes)) return report_blank(record);
    }
    document_.read(raw.bytes, record);
    return true;
  }

  void seek(int64_t offset_bytes, int64_t line) override { splitter_.seek(offset_bytes, line); }

 private:
  // Returns false if only blank lines are left.
  bool report_blank(Record& record) {
    if (splitter_.only_blank_left()) return false;
    record.problem = {.code = "jsonl.blank",
                      .what = "blank line",
                      .expected = "a JSON object, or nothing else up to the end of the file",
                      .found = "no text",
                      .hint = "delete the line"};
    return true;
  }

  int64_t hold_bytes_;
  Splitter splitter_;
  JsonDocument document_;
};

std::vector<JsonFieldPath> paths_of(const InputOptions& options) {
  std::vector<JsonFieldPath> paths;
  for (const std::string& field : fields_of(options)) paths.emplace_back(field);
  return paths;
}

}  // namespace

std::unique_ptr<RecordParser> make_jsonl_parser(ByteWindow& window, const InputOptions& options,
                                                bool any_values) {
  refuse_other_json(window, options);
  return std::make_unique<JsonParser<LineSplitter>>(window, options, paths_of(options), any_values);
}

std::unique_ptr<RecordParser> make_json_array_parser(ByteWindow& window,
                                                     const InputOptions& options, bool any_values) {
  std::vector<JsonFieldPath> paths(1);  // the path of the whole element
  if (options.names_fields()) paths = paths_of(options);
  return std::make_unique<JsonParser<ElementSplitter>>(window, options, std::move(paths),
                                                       any_values);
}

}  // namespace encode
