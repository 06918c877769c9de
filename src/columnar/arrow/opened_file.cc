#include "columnar/arrow/opened_file.h"

#include <fmt/format.h>
#include <new>

#include "encode/error.h"

#include "base/input_format.h"
#include "base/units.h"

namespace encode {

void OpenedFile::guarded(const std::function<arrow::Status()>& work) const {
  std::string problem;
  try {
    const arrow::Status status = work();
    if (status.ok()) return;
    problem = status.message();
    if (status.IsOutOfMemory()) refuse_memory(preview(problem, 300));
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    refuse_memory("the system has no more memory");
  } catch (const std::exception& error) {  // Parquet's own exceptions
    problem = error.what();
  }
  if (file_->failure()) std::rethrow_exception(file_->failure());
  refuse_damage(preview(problem, 300));
}

void OpenedFile::refuse_damage(const std::string& found) const {
  const std::string_view format = facts_of(request_.format).title;
  throw Error({.code = "arrow.damaged",
               .what = fmt::format("the {} file cannot be read", format),
               .where = request_.path,
               .expected = fmt::format("a whole {} file", format),
               .found = file_->GetSize().ValueOr(1) == 0 ? "no bytes: the file is empty" : found,
               .hint = "write or copy the file again"});
}

void OpenedFile::refuse_memory(const std::string& found) const {
  throw Error(
      {.code = "arrow.memory",
       .what = "reading the file needs too much memory",
       .where = request_.path,
       .expected = fmt::format("at most {} for a row group or record batch of the column",
                               format_bytes(kColumnarMemoryBytes)),
       .found = found,
       .hint = fmt::format("write the file with smaller {}, or check that it is not damaged",
                           facts_of(request_.format).blocks)});
}

}  // namespace encode
