#include "stream_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "encode/text.h"

#include "job/cache_session.h"

namespace encode::testing {

StreamRun::StreamRun(const Shape& shape) : job(shape.batch_tokens) {
  constexpr int64_t kIds = 1000;
  std::string lines;
  for (int64_t row = 0; row < shape.rows; ++row) {
    std::vector<int64_t> ids(static_cast<size_t>(shape.row_tokens), 7);
    ids[0] = row / kIds;
    ids[1] = row % kIds;
    lines += fmt::format("{{\"t\":[{}]}}\n", fmt::join(ids, ","));
  }
  job.spec.cache_dir = job.dir.file("cache");
  job.spec.hardware.memory_pressure_percent = 0;  // windows do not depend on this machine
  unit().input.path = job.dir.write("rows.jsonl", lines);
  unit().input.field = "t";
  unit().scan = scan_texts(unit().input, {});
  unit().identity.rows = shape.rows;
  unit().identity.dim = shape.dim;
  unit().identity.fingerprint = "{}";
  unit().chunk_rows = shape.chunk_rows;
  unit().effective.launch_tokens = shape.batch_tokens;
  unit().effective.max_length = 512;
  unit().effective.dim = shape.dim;
  ChunkStore::open(job.spec.cache_dir, unit().identity, unit().chunk_rows,
                   ChunkStore::Open::kResume);
}

UnitRun::End StreamRun::run(std::unique_ptr<Encoder>& encoder) {
  LoadedModel model;
  model.effective = unit().effective;
  model.wider_redo =
      std::make_unique<WiderRedo>(model.directory, model.effective, EncoderOptions{});
  model.encoder = std::move(encoder);
  CacheSession cache(job.context);
  Retirement retirement(job.spec.hardware, DeviceKind::kCuda, /*start_seconds=*/0);
  UnitRun unit_run(job.context, 0, model, cache);
  const UnitRun::End end = unit_run.run(retirement);
  encoder = std::move(model.encoder);
  return end;
}

std::unique_ptr<ChunkStore> StreamRun::store() const {
  const JobUnit& unit = job.spec.units[0];
  return ChunkStore::open(job.spec.cache_dir, unit.identity, unit.chunk_rows,
                          ChunkStore::Open::kResume);
}

std::vector<int64_t> StreamRun::committed() const {
  std::vector<int64_t> chunks;
  for (const ChunkRecord& record : store()->committed()) chunks.push_back(record.index);
  return chunks;
}

std::string StreamRun::bytes() const {
  std::string bytes;
  const auto chunks = store();
  for (const ChunkRecord& record : chunks->committed())
    bytes += read_bytes(chunks->chunk_path(record.index));
  return bytes;
}

}  // namespace encode::testing
