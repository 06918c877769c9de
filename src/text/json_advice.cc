#include "text/json_advice.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/units.h"
#include "text/json_field.h"

namespace encode {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMostShown = 300;  // the most bytes of a list of names
constexpr size_t kNameShown = 40;

// Returns how a user names a field of the object at `path`, which is a JSON pointer, or "" for the
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

// A field of an object in a document.
struct FoundField {
  std::string object;     // the JSON pointer of the object; "" if it is the document
  std::string_view name;  // valid as long as the document
  dom::element value;

  std::string pointer() const { return fmt::format("{}/{}", object, JsonFieldPath::escaped(name)); }
};

void add_fields(dom::element value, const std::string& path, std::vector<FoundField>& fields) {
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return;
  for (const dom::key_value_pair field : object)
    fields.push_back({.object = path, .name = field.key, .value = field.value});
}

// Returns the fields of the document, then the fields of the objects in it, and so on.
std::vector<FoundField> all_fields(dom::element root) {
  constexpr size_t kMostFields = 10'000;  // bounds the memory for the paths
  std::vector<FoundField> fields;
  add_fields(root, "", fields);
  for (size_t i = 0; i < fields.size() && fields.size() < kMostFields; ++i) {
    const FoundField field = fields[i];  // a copy, because the vector grows
    if (field.value.is_object()) add_fields(field.value, field.pointer(), fields);
  }
  return fields;
}

// Returns the pointer of a field with this name in an object below the document, or "".
std::string nested(dom::element root, const std::string& name) {
  for (const FoundField& field : all_fields(root)) {
    if (!field.object.empty() && field.name == name) return field.pointer();
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

size_t text_bytes(dom::element value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text.size() : 0;
}

// Returns the fields of the value at `path` and of all objects in the document, as a user names
// them. The field with the longest text comes first, because a short one is rarely what a user
// wants to encode.
std::vector<std::string> fields_with(dom::element root, dom::element value, const std::string& path,
                                     Accepts accepts) {
  std::vector<FoundField> fields;
  if (!path.empty()) add_fields(value, path, fields);
  for (FoundField& field : all_fields(root)) {
    if (path.empty() || field.object != path) fields.push_back(std::move(field));
  }
  std::erase_if(fields, [accepts](const FoundField& field) { return !accepts(field.value); });
  std::stable_sort(fields.begin(), fields.end(), [](const FoundField& a, const FoundField& b) {
    return text_bytes(a.value) > text_bytes(b.value);
  });
  std::vector<std::string> names;
  for (const FoundField& field : fields) names.push_back(spelled(field.object, field.name));
  return names;
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
  if (!near.empty()) {
    problem.hint = fmt::format("did you mean '{}'?", preview(spelled(missing.path, near)));
    return;
  }
  const std::vector<std::string> texts =
      fields_with(missing.root, missing.parent, missing.path, is_text);
  if (texts.empty()) return;
  problem.hint = fmt::format("name a field that holds text: {}", list(texts));
  problem.other_field = true;
}

void advise_text_fields(dom::element root, dom::element value, const std::string& path,
                        RowProblem& problem) {
  const std::vector<std::string> names = names_in(value);
  if (!names.empty()) problem.found = fmt::format("an object with {}", list(names));
  std::vector<std::string> fields = fields_with(root, value, path, is_text);
  if (fields.empty()) fields = fields_with(root, value, path, is_list_of_ids);
  problem.other_field = true;
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
