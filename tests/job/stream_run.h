// Runs the worker's main loop over a stream of token ids, with an encoder that needs no model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encoder_stand_in.h"
#include "job/unit_run.h"

namespace encode::testing {

// A stream of rows that differ from each other, in chunks. Each run() is a new worker.
class StreamRun {
 public:
  // `batch_tokens` is the size of a batch and of a launch.
  struct Shape {
    int64_t rows = 0;
    int64_t row_tokens = 2;  // at least 2
    int64_t chunk_rows = 1;
    int64_t batch_tokens = 1;
    int64_t dim = 3;
  };
  explicit StreamRun(const Shape& shape);

  JobUnit& unit() { return job.spec.units[0]; }
  // Encodes the pending chunks.
  UnitRun::End run(std::unique_ptr<Encoder>& encoder);
  // The numbers of the committed chunks, and the bytes of all of them.
  std::vector<int64_t> committed() const;
  std::string bytes() const;

  StandInJob job;

 private:
  std::unique_ptr<ChunkStore> store() const;
};

}  // namespace encode::testing
