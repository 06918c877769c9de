#include "architecture_list.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model_dir/architecture_table.h"

namespace encode {
namespace {

// Returns the names in ArchitectureNotes::examples. "models on NAME" says that models are trained
// from NAME, which is no embedding model itself.
std::vector<std::string> examples(const ArchitectureEntry& entry) {
  std::vector<std::string> names;
  for (std::string_view rest = entry.notes.examples; !rest.empty();) {
    const size_t comma = rest.find(", ");
    names.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
  }
  return names;
}

}  // namespace

Json architectures_json() {
  static constexpr std::string_view kOn = "models on ";
  Json list = Json::array();
  for (const ArchitectureEntry& entry : kArchitectures) {
    Json json = {{"model_type", entry.model_type},
                 {"layers", entry.notes.block},
                 {"paper", entry.notes.source},
                 {"examples", Json::array()},
                 {"bases", Json::array()}};
    for (const std::string& name : examples(entry)) {
      if (name.starts_with(kOn)) {
        json["bases"].push_back(name.substr(kOn.size()));
      } else {
        json["examples"].push_back(name);
      }
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace encode
