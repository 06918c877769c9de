// The time that each stage of a stream takes. Plain data.
#pragma once

#include <array>
#include <string_view>

namespace encode {

// Wall-clock seconds of the stages of one stream. Three threads work at the same time: the
// producer, the main thread and the commit thread. Only the stages of the main thread add up to the
// time of the stream.
struct StageSeconds {
  // The producer.
  double read = 0;
  double tokenize = 0;
  double pack = 0;
  // The main thread.
  double rows_awaited = 0;    // waiting for the producer
  double encode = 0;          // from token ids to vectors, including the copies to and from a GPU
  double commit_awaited = 0;  // waiting for the commit thread, during the stream and at its end
  // The commit thread.
  double commit = 0;  // writing and syncing files

  // Returns the time from the end of loading the model to the last commit.
  double main_thread() const { return rows_awaited + encode + commit_awaited; }
  inline void add(const StageSeconds& other);

  bool operator==(const StageSeconds&) const = default;
};

// One stage, with its name in logs and reports.
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
