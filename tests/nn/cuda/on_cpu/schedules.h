// The schedules that each kernel is tested in.
#pragma once

#include <ostream>

#include "emulator.h"

namespace encode::emulator {

inline const char* name_of(Order order) {
  switch (order) {
    case Order::kForward:
      return "forward";
    case Order::kReversed:
      return "reversed";
    case Order::kRandom:
      break;
  }
  return "random";
}

// GoogleTest calls this function to print a parameter.
inline void PrintTo(const Schedule& schedule, std::ostream* out) {
  *out << name_of(schedule.order);
}

}  // namespace encode::emulator

namespace encode::testing {

inline constexpr emulator::Schedule kSchedules[] = {
    {.order = emulator::Order::kForward},
    {.order = emulator::Order::kReversed},
    {.order = emulator::Order::kRandom, .seed = 7},
};

}  // namespace encode::testing
