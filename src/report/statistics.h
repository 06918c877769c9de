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

// Returns the Euclidean norm of each row.
std::vector<double> norms(const SampleMatrix& sample);

// Returns the rows divided by their norms. A row of zeros stays as it is.
SampleMatrix unit_rows(const SampleMatrix& sample);

// Returns the mean cosine of all pairs of different rows, from the sum of the unit rows. It is near
// 0 for vectors in all directions, near 1 for vectors in one direction (anisotropy), and 0 for
// fewer than two rows.
double mean_pair_cosine(const SampleMatrix& units);

// Returns the cosines of `count` random pairs of different rows, from a fixed seed. Empty for fewer
// than two rows.
std::vector<double> pair_cosines(const SampleMatrix& units, int64_t count);

struct Neighbour {
  int64_t row = 0;  // a row of the sample
  double cosine = 0;
};

// Returns for each row the `count` other rows with the highest cosines, the highest first; equal
// cosines in the order of the rows. Takes time rows^2 x dim and memory 256 x rows.
std::vector<std::vector<Neighbour>> neighbours(const SampleMatrix& units, int64_t count);

// Rows with at least this cosine are near duplicates. near_duplicate_share() returns the share of
// rows, 0 to 1, whose nearest neighbour is a near duplicate.
inline constexpr double kNearDuplicateCosine = 0.98;
double near_duplicate_share(const std::vector<std::vector<Neighbour>>& neighbours);

// The two directions of the greatest variance (principal component analysis).
struct Projection {
  Eigen::Matrix<double, Eigen::Dynamic, 2> points;  // [rows, 2], relative to their mean
  double shares[2] = {0, 0};  // their shares of the whole variance, from 0 to 1
};
// Computes the directions by subspace iteration from a fixed seed. The largest component of each
// direction is positive.
Projection principal_components(const SampleMatrix& sample);

// How far quantized vectors are from the vectors that they were made of.
struct QuantizationError {
  double largest = 0;      // |difference| of two values
  double root_mean = 0;    // root of the mean squared difference
  double mean_cosine = 0;  // the mean cosine of a row and its quantized form
  double least_cosine = 0;
};
// Both matrices have the same shape and at least one row.
QuantizationError quantization_error(const SampleMatrix& original, const SampleMatrix& quantized);

}  // namespace encode
