// Which of cuBLASLt's algorithms computes a matrix product: the products of a model, and the choice
// among the algorithms that cuBLASLt suggests for one of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/layers/activation.h"
#include "nn/layers/product_format.h"

namespace encode {

// Everything about a product y = activation(x w^T + bias + residual) that decides which algorithms
// can compute it.
struct ProductShape {
  int64_t rows = 0;  // of one launch
  int64_t in_features = 0;
  int64_t out_features = 0;
  ProductFormat format = ProductFormat::kFloat32;  // neither kInt8 nor kFp8
  bool bias = false;
  bool residual = false;
  Activation activation = Activation::kNone;  // or kRelu or kGeluTanh

  bool operator==(const ProductShape&) const = default;
};

// Returns "4096 x 384 x 1536 bfloat16, bias, gelu_tanh": rows, in_features and out_features. Two
// shapes have the same text only if they are equal.
std::string to_string(const ProductShape& shape);

// An algorithm as cuBLASLt describes it. Only the version of cuBLASLt that has made it can read it.
using ProductAlgorithm = std::array<uint64_t, 8>;

// 128 hexadecimal digits.
std::string to_hex(const ProductAlgorithm& algorithm);
std::optional<ProductAlgorithm> algorithm_from_hex(const std::string& text);

// What the search for an algorithm has found.
struct ProductFinding {
  // nullopt: LibTorch computes the product, because no algorithm that cuBLASLt suggested was good.
  std::optional<ProductAlgorithm> algorithm = {};
  double milliseconds = 0;        // the median time of the algorithm; 0 without one
  double first_milliseconds = 0;  // of the first good suggestion
  int64_t suggestions = 0;
  int64_t failed = 0;        // suggestions that did not run
  int64_t wrong = 0;         // suggestions with results that rounding does not explain
  int64_t unequal_rows = 0;  // suggestions for which equal rows did not get equal bits

  bool operator==(const ProductFinding&) const = default;
};

// The algorithms for one product. The search uses it in one thread.
class ProductCandidates {
 public:
  enum class Verdict { kGood, kFailed, kWrong, kUnequalRows };

  ProductCandidates() = default;
  ProductCandidates(const ProductCandidates&) = delete;
  ProductCandidates& operator=(const ProductCandidates&) = delete;
  virtual ~ProductCandidates() = default;

  // Returns the algorithms, in the order of cuBLASLt's estimate of their speed.
  virtual std::vector<ProductAlgorithm> suggest() = 0;
  virtual Verdict judge(const ProductAlgorithm& algorithm) = 0;
  // Returns how long the device takes for one product, in milliseconds. Infinity: it has failed.
  virtual double time(const ProductAlgorithm& algorithm) = 0;
};

// How many times each good algorithm is timed. The algorithms take turns, so a change of the
// device's clock hits all of them.
inline constexpr int kProductTimings = 7;
// A suggestion takes the place of an earlier one if it needs less than this share of its time.
// Smaller differences are noise, and the choice would be another one each time.
inline constexpr double kFasterShare = 0.98;

// Returns the fastest algorithm that is good, by the median of its times.
ProductFinding choose_algorithm(ProductCandidates& candidates);

}  // namespace encode
