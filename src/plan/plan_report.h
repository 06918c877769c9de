// Renders a plan for people and for programs.
#pragma once

#include <string>

#include "base/json.h"
#include "plan/experiment_plan.h"
#include "plan/profile.h"

namespace encode {

std::string render(const ExperimentPlan& plan);    // several lines, each ends in '\n'
std::string render(const ProfileResult& profile);  // the same
Json to_json(const ExperimentPlan& plan);
Json to_json(const ProfileResult& profile);

}  // namespace encode
