#include "job/time_products.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/host.h"
#include "base/stopwatch.h"
#include "engine/product_bench.h"
#include "job/loaded_model.h"
#include "job/window_producer.h"

namespace encode {
namespace {

// The number of batches for which the matrix products are timed. The batches of a window are sorted
// by the length of their rows, so eight batches at even distances cover all lengths. More batches
// would take longer to run.
constexpr size_t kTimedBatches = 8;

// Returns `count` of the batches at even distances, or all if there are fewer.
std::vector<PackedBatch> spread(const std::vector<PackedBatch>& batches, size_t count) {
  count = std::min(count, batches.size());
  std::vector<PackedBatch> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(batches[i * batches.size() / count]);
  return chosen;
}

}  // namespace

bool time_products(const WorkerContext& context) {
  constexpr int64_t kTimedUnit = 0;
  const JobUnit& unit = context.unit(kTimedUnit);
  const Stopwatch watch;
  const ModelDirectory directory = open_model_directory(
      unit.model_path, unit.model_files, custom_code_policy(unit.effective.ignore_custom_code));
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer_for(unit, directory);
  ProductBench bench(directory, unit.effective, encoder_options(context, unit));
  context.events.send(ModelLoaded{.unit = kTimedUnit,
                                  .device = bench.device(),
                                  .dim = unit.effective.dim,
                                  .seconds = watch.seconds(),
                                  .tokenizer = tokenizer ? tokenizer->description() : "",
                                  .host_rss_bytes = resident_bytes()});
  for (const LoadNote& note : bench.notes()) context.log(note.level, note.message);
  int64_t number = 0;
  for (const JobUnit& each : context.job.units)
    context.events.send(UnitStarted{.unit = number++, .plan = batch_plan_of(each, bench.device())});

  WindowProducer producer(
      unit, std::vector<ChunkTask>{{.index = 0, .rows = unit.identity.range()}},
      plan_tokenizing(unit, directory, tokenizer.get(), batch_plan_of(unit, bench.device())));
  std::vector<PackedBatch> batches;
  if (const auto window = producer.next()) batches = spread(window->batches, kTimedBatches);
  const ProductRates rates =
      bench.run(batches, context.job.product_seconds, [&context] { return !context.stopped(); });
  if (context.stopped()) return false;
  context.events.send(ProductsTimed{.unit = kTimedUnit, .rates = rates});
  return true;
}

}  // namespace encode
