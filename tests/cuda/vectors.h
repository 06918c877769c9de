// The vectors that a tiny reference model gives on a device, and how they differ.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encode/encoder.h"
#include "encode/types.h"

namespace encode::testing {

// Random rows, see random_rows().
struct TestRows {
  int64_t count;
  int64_t max_tokens;
  int64_t launch_tokens;  // see BatchPlan
  // True: the tokens have the types 0, 1, 0, 1, .. in turn. Otherwise all have type 0.
  bool typed = false;
  // True: each row of n tokens has two vectors, those of its tokens [0, n) and [n / 2, n).
  bool spans = false;
};

// Rows that every reference model takes: llama_rope_dynamic takes no longer ones.
inline constexpr TestRows kRowsOfAnyModel = {.count = 24, .max_tokens = 16, .launch_tokens = 256};

// The folders of tests/data/models, sorted.
std::vector<std::string> reference_models();

// The lowest cosine of a row in bfloat16 to the row in float32. A model that chooses experts may
// choose others in 16 bits if their scores are nearly equal, and the random scores of qwen3_moe
// are.
inline double least_bfloat16_cosine(const std::string& model) {
  return model == "qwen3_moe" ? 0.99 : 0.999;
}

struct TestModelChoice {
  std::string model;  // a folder of tests/data/models
  ComputeType dtype;
};

// Unit vectors of rows, [rows, dim]. A row without tokens has the vector 0.
struct Vectors {
  std::vector<float> values;
  size_t dim = 0;

  // Returns the largest difference of two numbers, or infinity if a number is not finite.
  double largest_difference(const Vectors& other) const;
  // Returns the lowest cosine of two vectors of the same row, without the rows of which the vector
  // is 0. Returns -1 if a cosine is not finite.
  double lowest_cosine(const Vectors& other) const;
};

std::unique_ptr<Encoder> load_on(const std::string& device, const TestModelChoice& choice,
                                 int64_t launch_tokens);
Vectors encode_with(Encoder& encoder, const TestRows& rows);
// Loads the model and encodes the rows.
Vectors encode_on(const std::string& device, const TestModelChoice& choice, const TestRows& rows);

}  // namespace encode::testing
