#include "pull_models.h"

#include <csignal>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "hub/pull.h"
#include "model_dir/hub_cache.h"
#include "pull_progress.h"

namespace encode {
namespace {

// Returns true if the model is not there, or is there in part. A model with any other fault is left
// to the run, which explains it.
bool is_missing(const ResultOptions& options) {
  try {
    open_model_directory(resolve_model(options.model, options.revision),
                         custom_code_policy(options.ignore_custom_code));
    return false;
  } catch (const Error& error) {
    return error.detail().code == "model.not_found" || error.detail().code == "model.missing";
  }
}

}  // namespace

void pull_missing_models(const RunConfig& config, Terminal& err) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const StreamConfig& stream : config.streams) {
    const ResultOptions& options = stream.result;
    const std::string revision = options.revision.value_or(kDefaultRevision);
    if (!seen.emplace(options.model, revision).second) continue;
    const bool is_hub_id = split_path(options.model).size() == 2 && is_safe_path(options.model);
    if (!is_hub_id || !is_missing(options)) continue;
    err.write(fmt::format("pulling {} ({})\n", options.model, revision));
    std::signal(SIGPIPE, SIG_IGN);  // a server may close a connection at any time
    PullProgress progress(err);
    hub::pull({.model = options.model,
               .revision = revision,
               .code = custom_code_policy(options.ignore_custom_code)},
              hub::hub_settings(), progress);
  }
}

}  // namespace encode
