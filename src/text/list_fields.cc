#include <memory>
#include <string>

#include "encode/text.h"

#include "text/input_file.h"
#include "text/row_reader.h"

namespace encode {

// The readers list the fields in the error for a field that the input does not have.
std::string list_fields(const InputOptions& options) {
  InputOptions first = options;
  first.more_paths.clear();
  first.bad_row = BadRowPolicy::kError;
  first.text_template.clear();
  first.missing_field = MissingFieldPolicy::kError;
  first.field = "\x1f";  // no input has a field of this name
  try {
    first.path = input_files(first).front();
    if (first.is_standard_input()) return "";
    const std::unique_ptr<InputFile> file =
        open_input_file(first, {.block_bytes = RowReader::kBlockBytes});
    Record record;
    return file->next(record) ? record.problem.fields : "";
  } catch (const Error& error) {
    const ErrorDetail& detail = error.detail();
    return detail.code == "csv.column" || detail.code == "arrow.column" ? detail.found : "";
  }
}

}  // namespace encode
