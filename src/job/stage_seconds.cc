#include "job/stage_seconds.h"

#include <array>
#include <cstdio>

namespace encode {
namespace {

struct Stage {
  const char* name;
  double StageSeconds::*seconds;
};

constexpr std::array<Stage, 7> kStages = {{{"read", &StageSeconds::read},
                                           {"tokenize", &StageSeconds::tokenize},
                                           {"pack", &StageSeconds::pack},
                                           {"rows awaited", &StageSeconds::rows_awaited},
                                           {"encode", &StageSeconds::encode},
                                           {"commit awaited", &StageSeconds::commit_awaited},
                                           {"commit", &StageSeconds::commit}}};

}  // namespace

void StageSeconds::add(const StageSeconds& other) {
  for (const Stage& stage : kStages) this->*stage.seconds += other.*stage.seconds;
}

std::string StageSeconds::text() const {
  std::string text = "seconds:";
  for (const Stage& stage : kStages) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), " %s %.3f,", stage.name, this->*stage.seconds);
    text += line.data();
  }
  text.pop_back();
  return text;
}

}  // namespace encode
