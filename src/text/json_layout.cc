#include "text/json_layout.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/json.h"
#include "text/json_field.h"
#include "text/template_text.h"

namespace encode {
namespace {

constexpr size_t kStartBytes = size_t{64} << 10;

Error other_layout(const InputOptions& options, std::string what, std::string found,
                   std::string hint) {
  return Error({.code = "text.format",
                .what = std::move(what),
                .where = fmt::format("{}:1", options.path),
                .expected = "JSONL: a JSON document on each line",
                .found = std::move(found),
                .hint = std::move(hint)});
}

// The first document of a file.
struct FirstDocument {
  bool several_lines = false;
  bool alone = false;  // nothing but white space follows
};

// Returns nullopt if the first document is not JSON. A document that `start` cuts off counts as
// alone. `whole`: `start` is the whole file.
std::optional<FirstDocument> first_document(std::string_view start, bool whole) {
  const std::optional<JsonFault> fault = find_json_fault(start);
  const size_t line = std::min(start.find('\n'), start.size());
  // A document that goes on in the next line is not complete at the end of its first line.
  const bool several_lines = (!fault || fault->offset > line) && line < start.size() &&
                             find_json_fault(start.substr(0, line));
  constexpr size_t kTokenBytes = 16;  // a name or an escape that `start` cuts off
  const bool cut = !whole && fault && fault->offset + kTokenBytes >= start.size();
  if (!fault || cut) return FirstDocument{.several_lines = several_lines, .alone = true};
  const std::string_view before = start.substr(0, fault->offset);
  if (find_json_fault(before)) return std::nullopt;
  return FirstDocument{.several_lines = several_lines, .alone = false};
}

// Returns true if the elements of the array that begins here are objects, texts or lists of
// numbers. Numbers are the token ids of one row.
bool has_rows(std::string_view array) {
  const auto next = [&] {
    array.remove_prefix(1);
    array.remove_prefix(std::min(array.size(), array.find_first_not_of(kJsonSpace)));
    return array.empty() ? '\0' : array.front();
  };
  const char first = next();
  if (first != '[') return first == '{' || first == '"';
  const char of_list = next();
  return of_list == ']' || (of_list >= '0' && of_list <= '9');
}

// Returns true if a field is an entry of an array, as in a file of JSONL with an array on each
// line.
bool names_an_index(const InputOptions& options) {
  const std::vector<std::string> fields = fields_of(options);
  return std::any_of(fields.begin(), fields.end(), [](const std::string& field) {
    return JsonFieldPath::array_index(JsonFieldPath(field).tokens().front()) >= 0;
  });
}

}  // namespace

void refuse_other_json(ByteWindow& window, const InputOptions& options) {
  std::string_view start = window.peek(kStartBytes);
  const bool whole = start.size() < kStartBytes;
  start.remove_prefix(std::min(start.size(), start.find_first_not_of(kJsonSpace)));
  if (!start.starts_with('[') && !start.starts_with('{')) return;
  const bool array = start.front() == '[';
  const std::string_view line = start.substr(0, start.find('\n'));
  // True for almost every file of JSONL, so the next lines need not be read.
  if (!array && line.size() < start.size() && !find_json_fault(line)) return;
  const std::optional<FirstDocument> document = first_document(start, whole);
  if (!document) return;
  if (array && document->alone && has_rows(start) &&
      (document->several_lines || !names_an_index(options))) {
    throw other_layout(options, "the file is a JSON array, not JSONL", "one array for all rows",
                       "give its format: --format json, or format: json in the config; an array of "
                       "texts needs no field");
  }
  if (!document->several_lines) return;
  throw other_layout(options, "the JSON documents of the file go over several lines",
                     array ? "an array over several lines" : "an object over several lines",
                     "write each document on a line of its own, for example with jq -c . FILE");
}

}  // namespace encode
