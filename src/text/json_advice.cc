#include "text/json_advice.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/units.h"
#include "text/json_field.h"

namespace encode {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMostShown = 300;  // bytes of a list of names
constexpr size_t kNameShown = 40;

// How a user names a field of the object at `path`, which is a JSON pointer, or "" for the
// document.
std::string spelled(const std::string& path, std::string_view name) {
  const bool plain = path.empty() && !name.empty() && name.front() != '/';
  return plain ? std::string(name) : fmt::format("{}/{}", path, JsonFieldPath::escaped(name));
}

std::vector<std::string> names_in(dom::element value) {
  std::vector<std::string> names;
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return names;
  for (const dom::key_value_pair field : object) names.emplace_back(field.key);
  return names;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (text.size() > kMostShown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + preview(name, kNameShown);
  }
  return text;
}

// "doc.body" is how other programs write the pointer "/doc/body". Returns "" if the document has no
// such value.
std::string dotted(dom::element root, const std::string& name) {
  if (name.find('.') == std::string::npos) return "";
  std::string pointer = "/" + JsonFieldPath::escaped(name);
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  dom::element value;
  return root.at_pointer(pointer).get(value) == simdjson::SUCCESS ? pointer : "";
}

// Returns the pointer of a field with this name in an object that is a field of `root`, or "".
std::string nested(dom::element root, const std::string& name) {
  dom::object object;
  if (root.get_object().get(object) != simdjson::SUCCESS) return "";
  for (const dom::key_value_pair field : object) {
    const std::vector<std::string> names = names_in(field.value);
    if (std::find(names.begin(), names.end(), name) != names.end())
      return fmt::format("/{}/{}", JsonFieldPath::escaped(field.key), JsonFieldPath::escaped(name));
  }
  return "";
}

bool is_text(dom::element value) { return value.is_string(); }

bool is_list_of_ids(dom::element value) {
  dom::element first;
  return value.is_array() && value.get_array().at(0).get(first) == simdjson::SUCCESS &&
         first.is_int64();
}

using Accepts = bool (*)(dom::element);

void add_fields(dom::element object, const std::string& path, Accepts accepts,
                std::vector<std::string>& fields) {
  dom::object entries;
  if (object.get_object().get(entries) != simdjson::SUCCESS) return;
  for (const dom::key_value_pair field : entries) {
    if (accepts(field.value)) fields.push_back(spelled(path, field.key));
  }
}

// Returns the fields of the object at `path`, of the document, and of the objects in the document.
std::vector<std::string> fields_with(dom::element root, dom::element value, const std::string& path,
                                     Accepts accepts) {
  std::vector<std::string> fields;
  if (!path.empty()) add_fields(value, path, accepts, fields);
  add_fields(root, "", accepts, fields);
  dom::object entries;
  if (root.get_object().get(entries) != simdjson::SUCCESS) return fields;
  for (const dom::key_value_pair field : entries) {
    const std::string pointer = "/" + JsonFieldPath::escaped(field.key);
    if (pointer != path) add_fields(field.value, pointer, accepts, fields);
  }
  return fields;
}

}  // namespace

void advise_missing_field(const MissingField& missing, RowProblem& problem) {
  const std::vector<std::string> names = names_in(missing.parent);
  problem.fields = list(names);
  if (!names.empty()) problem.found = problem.fields;
  std::string pointer = dotted(missing.root, missing.name);
  if (pointer.empty()) pointer = nested(missing.root, missing.name);
  if (!pointer.empty()) {
    problem.hint =
        fmt::format("did you mean {}? A JSON pointer names a field in an object", preview(pointer));
    return;
  }
  const std::string near = nearest(missing.name, names.data(), names.size());
  if (!near.empty())
    problem.hint = fmt::format("did you mean '{}'?", preview(spelled(missing.path, near)));
}

void advise_text_fields(dom::element root, dom::element value, const std::string& path,
                        RowProblem& problem) {
  const std::vector<std::string> names = names_in(value);
  if (!names.empty()) problem.found = fmt::format("an object with {}", list(names));
  std::vector<std::string> fields = fields_with(root, value, path, is_text);
  if (fields.empty()) fields = fields_with(root, value, path, is_list_of_ids);
  if (fields.empty()) {
    problem.hint = "no field here holds text: check that this is the file you meant";
  } else if (path.empty()) {
    problem.hint =
        fmt::format("name the field that holds the text, as in --field {}; fields with text: {}",
                    preview(fields.front()), list(fields));
  } else {
    problem.hint = fmt::format("name a field that holds text: {}", list(fields));
  }
}

}  // namespace encode
