// Renders a plan for people and for programs. Any thread may call these functions. They throw no
// Error.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "plan/experiment_plan.h"
#include "plan/profile.h"

namespace encode {

// Each returns several lines, which end in '\n'. `columns` is the width of the terminal; 0: the
// text is for a file or a program, and no line is broken.
std::string render(const ExperimentPlan& plan, size_t columns);
std::string render(const ProfileResult& profile, size_t columns);
Json to_json(const ExperimentPlan& plan);
Json to_json(const ProfileResult& profile);

}  // namespace encode
