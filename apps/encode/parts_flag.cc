#include "parts_flag.h"

#include "base/names.h"

namespace encode {

void PartsFlag::add(CLI::App& app) {
  std::vector<std::string> names;
  for (const auto& [name, value] : kOutputParts) names.emplace_back(name);
  app.add_option("--parts", name_,
                 "many: a file for each shard, without a copy. one: one .npy file, which is a copy "
                 "(default: output.parts of the config, else many)")
      ->check(CLI::IsMember(names))
      ->type_name("NAME");
}

void PartsFlag::set(RunConfig& config) const {
  if (!name_.empty()) config.store.parts = find_value(kOutputParts, name_).value();
}

std::vector<std::string> PartsFlag::words() const {
  if (name_.empty()) return {};
  return {"--parts=" + name_};
}

}  // namespace encode
