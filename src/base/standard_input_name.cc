#include "base/standard_input_name.h"

#include <fmt/format.h>
#include <utility>

#include "base/input_format.h"
#include "base/utf8.h"

namespace encode {

Error naming_standard_input(const Error& error, const InputOptions& copy) {
  ErrorDetail detail = error.detail();
  const std::string path = printable(copy.path);  // as an Error shows it
  if (!detail.where.starts_with(path)) return error;
  const std::string rest = detail.where.substr(path.size());
  if (rest.empty()) {
    detail.where = kStandardInputName;
  } else if (rest.front() == ':') {
    detail.where =
        fmt::format("{}, {} {}", kStandardInputName, facts_of(copy.format).record, rest.substr(1));
  }
  if (!detail.hint.empty()) detail.hint += "; ";
  detail.hint += fmt::format("{} is a copy of the input", copy.path);
  return Error(std::move(detail));
}

}  // namespace encode
