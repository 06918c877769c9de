#include "supervisor/shard_hint.h"

#include <string>

namespace encode {

void give_hint_for_shard(ErrorDetail& detail) {
  if (detail.hint.find("--fresh") == std::string::npos) return;
  constexpr const char* kAnotherPlan = "`encode shards plan` with another --cache-dir DIR";
  if (detail.code == "text.changed" || detail.code == "model.changed") {
    detail.hint = std::string(
                      "the plan has the old content. Put it back and run the same command, or plan "
                      "the new content: ") +
                  kAnotherPlan;
  } else {
    detail.hint =
        std::string("remove the cause and run the same command, or start over: ") + kAnotherPlan;
  }
}

}  // namespace encode
