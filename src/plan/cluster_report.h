// Renders the plan for a cluster for people and for programs. Any thread may call these functions.
// They throw no Error.
#pragma once

#include <string>

#include "base/json.h"
#include "plan/cluster_plan.h"

namespace encode {

// Returns several lines, which end in '\n' and are not broken. `config_path` is for the next
// command; it may be "".
std::string render(const ClusterPlan& plan, const std::string& config_path);
Json to_json(const ClusterPlan& plan);

}  // namespace encode
