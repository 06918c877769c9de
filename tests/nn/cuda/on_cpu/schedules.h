// The schedules that each kernel is tested in.
#pragma once

#include "emulator.h"

namespace encode::testing {

inline constexpr emulator::Schedule kSchedules[] = {
    {.order = emulator::Order::kForward},
    {.order = emulator::Order::kReversed},
    {.order = emulator::Order::kRandom, .seed = 7},
};

inline const char* name_of(const emulator::Schedule& schedule) {
  switch (schedule.order) {
    case emulator::Order::kForward:
      return "forward";
    case emulator::Order::kReversed:
      return "reversed";
    case emulator::Order::kRandom:
      break;
  }
  return "random";
}

}  // namespace encode::testing
