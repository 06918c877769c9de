// Parses one JSON document and finds the text of a row in it: a string, or an array of token ids,
// or the values of the fields in a template.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "encode/config.h"

#include "text/json_field.h"
#include "text/record.h"
#include "text/template_text.h"

namespace encode {

// Returns the largest size of a document. simdjson needs the whole document in memory, and up to 14
// times as much for itself. So if rows are small, the limit is below kMaxRecordBytes.
int64_t document_hold_bytes(int64_t max_row_bytes);

// Not thread-safe.
class JsonDocument {
 public:
  // `paths` are those of fields_of(options), or the path of the whole document. `noun` is what a
  // message calls a document: "line" or "element". `any_values` as in FileReading.
  JsonDocument(std::vector<JsonFieldPath> paths, const InputOptions& options, std::string_view noun,
               bool any_values);

  // Sets the text, the ids or the problem of `record`, which is valid until the next call. The
  // ByteWindow::kPaddingBytes bytes after `json` must be readable.
  void read(std::string_view json, Record& record);

 private:
  void read_repaired(std::string_view json, simdjson::error_code first_error, Record& record);
  void find_row(simdjson::dom::element root, Record& record);
  bool find_value(const JsonFieldPath& path, simdjson::dom::element root,
                  simdjson::dom::element& value, Record& record) const;
  bool step(const JsonFieldPath& path, const std::string& token, simdjson::dom::element& value,
            Record& record) const;
  bool step_into_object(const JsonFieldPath& path, const std::string& token,
                        simdjson::dom::element& value, Record& record) const;
  void fill_template(simdjson::dom::element root, Record& record);
  void take_ids(simdjson::dom::array array, Record& record);
  std::string written(const std::vector<std::string>& tokens);
  RowProblem syntax_problem(std::string_view json, simdjson::error_code error) const;
  std::string described(const JsonFieldPath& path) const;

  bool missing_is_empty_;
  std::optional<TemplateText> template_;
  std::vector<JsonFieldPath> paths_;  // of the fields of the template, or of the text of a row
  std::string noun_;
  bool repair_;
  bool any_values_;
  bool advises_;  // advice is slow, so it is made only if the problem ends the run
  simdjson::dom::parser parser_;
  simdjson::ondemand::parser source_parser_;  // allocates nothing before the first written()
  // The document with the numbers of the file. Its UTF-8 and its escapes are valid. It is padded.
  std::string_view source_;
  std::string repaired_;             // the document after repairs of UTF-8 and of escapes
  std::string fitted_numbers_;       // the same, with numbers that simdjson can hold
  std::vector<std::string> values_;  // the texts of values that are no strings, as in paths_
  std::vector<int32_t> input_ids_;
};

}  // namespace encode
