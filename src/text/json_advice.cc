#include "text/json_advice.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/units.h"

namespace encode {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMostShown = 300;  // bytes of a list of names
constexpr size_t kNameShown = 40;

// Returns the token of a JSON pointer that stands for a name.
std::string token_of(std::string_view name) {
  std::string token;
  for (const char c : name) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
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
  std::string pointer = "/" + token_of(name);
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
      return fmt::format("/{}/{}", token_of(field.key), token_of(name));
  }
  return "";
}

}  // namespace

void advise_missing_field(dom::element root, dom::element parent, const std::string& name,
                          RowProblem& problem) {
  const std::vector<std::string> names = names_in(parent);
  problem.fields = list(names);
  if (!names.empty()) problem.found = problem.fields;
  std::string pointer = dotted(root, name);
  if (pointer.empty()) pointer = nested(root, name);
  if (!pointer.empty()) {
    problem.hint =
        fmt::format("did you mean {}? A JSON pointer names a field in an object", preview(pointer));
    return;
  }
  const std::string near = nearest(name, names.data(), names.size());
  if (!near.empty()) problem.hint = fmt::format("did you mean '{}'?", preview(near));
}

void advise_object_field(dom::element value, const std::string& field, RowProblem& problem) {
  const std::vector<std::string> names = names_in(value);
  if (names.empty()) return;
  const std::string path = field.starts_with('/') ? field : "/" + token_of(field);
  problem.found = fmt::format("an object with {}", list(names));
  problem.hint = fmt::format("name a field in it, as in {}/{}", preview(path),
                             preview(token_of(names.front())));
}

}  // namespace encode
