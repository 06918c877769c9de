#include "vectors.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "batching/pack.h"
#include "load_for_test.h"
#include "random_rows.h"
#include "support/temp_dir.h"

namespace encode::testing {

std::vector<std::string> reference_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test_data("models")))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

double Vectors::largest_difference(const Vectors& other) const {
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(static_cast<double>(values[i]) - other.values[i]);
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

double Vectors::lowest_cosine(const Vectors& other) const {
  double lowest = 1;
  for (size_t begin = 0; begin < values.size(); begin += dim) {
    double cosine = 0;
    double squares = 0;
    for (size_t i = begin; i < begin + dim; ++i) {
      cosine += static_cast<double>(values[i]) * other.values[i];
      squares += static_cast<double>(other.values[i]) * other.values[i];
    }
    if (!std::isfinite(cosine)) return -1;
    if (squares > 0) lowest = std::min(lowest, cosine);
  }
  return lowest;
}

std::unique_ptr<Encoder> load_on(const std::string& device, const TestModelChoice& choice,
                                 int64_t launch_tokens) {
  ResultOptions result;
  result.dtype = choice.dtype;
  result.normalize = true;
  TestModel opened = open_test_model(choice.model, result);
  opened.effective.launch_tokens = launch_tokens;
  EncoderOptions options;
  options.hardware.device = parse_device(device);
  return load_test_encoder(opened, options);
}

Vectors encode_with(Encoder& encoder, const TestRows& rows) {
  Vectors vectors;
  vectors.dim = static_cast<size_t>(encoder.dim());
  Sequences sequences = {.ids = random_rows(rows.count, rows.max_tokens)};
  for (size_t i = 0; rows.typed && i < sequences.ids.ids.size(); ++i)
    sequences.type_ids.push_back(static_cast<int32_t>(i % 2));
  if (rows.spans) sequences.vectors.offsets = {0};
  for (int64_t row = 0; rows.spans && row < rows.count; ++row) {
    const auto length = static_cast<int32_t>(sequences.ids.row(row).size());
    sequences.vectors.spans.push_back({.begin = 0, .end = length});
    sequences.vectors.spans.push_back({.begin = length / 2, .end = length});
    sequences.vectors.offsets.push_back(std::ssize(sequences.vectors.spans));
  }
  vectors.values.resize(static_cast<size_t>(rows.count * (rows.spans ? 2 : 1)) * vectors.dim);
  EXPECT_TRUE(encoder.encode(pack(sequences, rows.launch_tokens), vectors.values,
                             [](const PackedBatch&) { return true; }));
  return vectors;
}

Vectors encode_on(const std::string& device, const TestModelChoice& choice, const TestRows& rows) {
  return encode_with(*load_on(device, choice, rows.launch_tokens), rows);
}

}  // namespace encode::testing
