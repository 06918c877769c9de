// Where the time of a stream goes.
#pragma once

#include <array>
#include <string_view>

namespace encode {

// Wall-clock seconds. Stages of the producer's and the commit thread run beside those of the main
// thread, whose own add up to the stream's time: rows_awaited, encode, commit_awaited.
struct StageSeconds {
  double read = 0;          // producer
  double tokenize = 0;      // producer
  double pack = 0;          // producer
  double rows_awaited = 0;  // main thread: no window was ready
  double encode = 0;  // main thread: from token ids to rows, copies to a GPU and back included
  double commit_awaited = 0;  // main thread: two windows were on their way, or the end
  double commit = 0;          // commit thread: write, sync, log

  // From the moment the model is loaded to the last commit.
  double main_thread() const { return rows_awaited + encode + commit_awaited; }
  inline void add(const StageSeconds& other);

  bool operator==(const StageSeconds&) const = default;
};

// A stage and its name in logs and reports.
struct Stage {
  std::string_view name;
  double StageSeconds::*seconds;
};

inline constexpr std::array<Stage, 7> kStages = {{{"read", &StageSeconds::read},
                                                  {"tokenize", &StageSeconds::tokenize},
                                                  {"pack", &StageSeconds::pack},
                                                  {"rows awaited", &StageSeconds::rows_awaited},
                                                  {"encode", &StageSeconds::encode},
                                                  {"commit awaited", &StageSeconds::commit_awaited},
                                                  {"commit", &StageSeconds::commit}}};

void StageSeconds::add(const StageSeconds& other) {
  for (const Stage& stage : kStages) this->*stage.seconds += other.*stage.seconds;
}

}  // namespace encode
