// Statistics of a sample of vectors. All functions are pure: equal samples give equal results. They
// throw no Error. Any thread may call them.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace encode {

// Row-major [rows, dim], finite values.
using SampleMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Bars of equal width from `lowest` to `highest`; the last bar contains `highest`.
struct Histogram {
  double lowest = 0;
  double highest = 0;
  std::vector<int64_t> counts;  // empty if there are no values
};
Histogram histogram(const std::vector<double>& values, int64_t bars);

// The Euclidean norm of each row.
std::vector<double> norms(const SampleMatrix& sample);

// The rows divided by their norms. A row of zeros stays as it is.
SampleMatrix unit_rows(const SampleMatrix& sample);

// The mean cosine of all pairs of two different rows, from the sum of the unit rows. Near 0 for
// vectors in all directions, near 1 for vectors in one direction (anisotropy). 0 for less than two
// rows.
double mean_pair_cosine(const SampleMatrix& units);

// The cosines of `count` random pairs of two different rows, from a fixed seed. Empty for less than
// two rows.
std::vector<double> pair_cosines(const SampleMatrix& units, int64_t count);

struct Neighbour {
  int64_t row = 0;  // of the sample
  double cosine = 0;
};

// For each row the `count` other rows with the highest cosines, the highest first; equal cosines in
// the order of the rows. Takes time rows^2 x dim and memory 256 x rows.
std::vector<std::vector<Neighbour>> neighbours(const SampleMatrix& units, int64_t count);

// The part of the rows whose nearest neighbour has at least this cosine, from 0 to 1.
inline constexpr double kNearDuplicateCosine = 0.98;
double near_duplicate_share(const std::vector<std::vector<Neighbour>>& neighbours);

// The two directions of the greatest variance (principal component analysis).
struct Projection {
  Eigen::Matrix<double, Eigen::Dynamic, 2> points;  // [rows, 2], about their mean
  double shares[2] = {0, 0};                        // of the whole variance, from 0 to 1
};
// The sign of a direction is that which makes its largest component positive. Found by subspace
// iteration from a fixed seed.
Projection principal_components(const SampleMatrix& sample);

// How far quantized vectors are from the vectors that they were made of.
struct QuantizationError {
  double largest = 0;      // |difference| of two values
  double root_mean = 0;    // root of the mean squared difference
  double mean_cosine = 0;  // of equal rows
  double least_cosine = 0;
};
// Both matrices have the same shape and at least one row.
QuantizationError quantization_error(const SampleMatrix& original, const SampleMatrix& quantized);

}  // namespace encode
