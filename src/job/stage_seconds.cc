#include "job/stage_seconds.h"

#include <array>
#include <cstdio>
#include <utility>

namespace encode {

void StageSeconds::add(const StageSeconds& other) {
  read += other.read;
  tokenize += other.tokenize;
  pack += other.pack;
  rows_awaited += other.rows_awaited;
  encode += other.encode;
  commit_awaited += other.commit_awaited;
  commit += other.commit;
}

std::string StageSeconds::text() const {
  const std::array<std::pair<const char*, double>, 7> stages = {{{"read", read},
                                                                 {"tokenize", tokenize},
                                                                 {"pack", pack},
                                                                 {"rows awaited", rows_awaited},
                                                                 {"encode", encode},
                                                                 {"commit awaited", commit_awaited},
                                                                 {"commit", commit}}};
  std::string text = "seconds:";
  for (const auto& [name, seconds] : stages) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), " %s %.3f,", name, seconds);
    text += line.data();
  }
  text.pop_back();
  return text;
}

}  // namespace encode
