#include "report/statistics.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "report/repeatable_random.h"

namespace encode {
namespace {

// The number of directions in the subspace. Enough to find the two largest ones of real embeddings;
// in the test, their variances differ by only 10 %.
constexpr int kDirections = 12;
constexpr int kIterations = 60;

std::vector<Neighbour> nearest(const Eigen::Ref<const Eigen::RowVectorXf>& cosines, int64_t self,
                               int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(cosines.size()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + self);
  const auto kept = std::min<int64_t>(count, std::ssize(order));
  const auto closer = [&](int64_t a, int64_t b) {
    return cosines(a) != cosines(b) ? cosines(a) > cosines(b) : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), closer);
  std::vector<Neighbour> found;
  for (int64_t i = 0; i < kept; ++i) {
    const int64_t row = order[static_cast<size_t>(i)];
    found.push_back({row, cosines(row)});
  }
  return found;
}

}  // namespace

Histogram histogram(const std::vector<double>& values, int64_t bars) {
  Histogram result;
  if (values.empty() || bars < 1) return result;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  result.lowest = *lowest;
  result.highest = *highest;
  result.counts.assign(static_cast<size_t>(bars), 0);
  const double width = (result.highest - result.lowest) / static_cast<double>(bars);
  for (const double value : values) {
    const auto bar = width > 0 ? static_cast<int64_t>((value - result.lowest) / width) : int64_t{0};
    ++result.counts[static_cast<size_t>(std::clamp<int64_t>(bar, 0, bars - 1))];
  }
  return result;
}

std::vector<double> norms(const SampleMatrix& sample) {
  const Eigen::VectorXd lengths = sample.cast<double>().rowwise().norm();
  return {lengths.begin(), lengths.end()};
}

SampleMatrix unit_rows(const SampleMatrix& sample) {
  SampleMatrix units = sample;
  for (Eigen::Index row = 0; row < units.rows(); ++row) {
    const double norm = sample.row(row).cast<double>().norm();
    if (norm > 0) units.row(row) = (sample.row(row).cast<double>() / norm).cast<float>();
  }
  return units;
}

double mean_pair_cosine(const SampleMatrix& units) {
  const auto rows = static_cast<double>(units.rows());
  if (rows < 2) return 0;
  const Eigen::MatrixXd wide = units.cast<double>();
  const double all = wide.colwise().sum().squaredNorm();  // the sum over all ordered pairs
  return (all - wide.squaredNorm()) / (rows * (rows - 1));
}

std::vector<double> pair_cosines(const SampleMatrix& units, int64_t count) {
  std::vector<double> cosines;
  if (units.rows() < 2) return cosines;
  std::mt19937_64 random = repeatable_random();
  const auto rows = static_cast<uint64_t>(units.rows());
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t a = random() % rows;
    const uint64_t b = (a + 1 + random() % (rows - 1)) % rows;
    cosines.push_back(
        units.row(static_cast<Eigen::Index>(a)).dot(units.row(static_cast<Eigen::Index>(b))));
  }
  return cosines;
}

std::vector<std::vector<Neighbour>> neighbours(const SampleMatrix& units, int64_t count) {
  constexpr Eigen::Index kBlockRows = 256;
  std::vector<std::vector<Neighbour>> found;
  for (Eigen::Index first = 0; first < units.rows(); first += kBlockRows) {
    const Eigen::Index size = std::min(kBlockRows, units.rows() - first);
    const SampleMatrix cosines = units.middleRows(first, size) * units.transpose();
    for (Eigen::Index i = 0; i < size; ++i)
      found.push_back(nearest(cosines.row(i), first + i, count));
  }
  return found;
}

double near_duplicate_share(const std::vector<std::vector<Neighbour>>& neighbours) {
  if (neighbours.empty()) return 0;
  const auto near = std::count_if(neighbours.begin(), neighbours.end(), [](const auto& of_row) {
    return !of_row.empty() && of_row.front().cosine >= kNearDuplicateCosine;
  });
  return static_cast<double>(near) / static_cast<double>(neighbours.size());
}

Projection principal_components(const SampleMatrix& sample) {
  Projection result;
  result.points.setZero(sample.rows(), 2);
  if (sample.rows() < 2 || sample.cols() < 1) return result;
  const Eigen::MatrixXd centred =
      sample.cast<double>().rowwise() - sample.cast<double>().colwise().mean();
  const double variance = centred.squaredNorm();
  if (variance <= 0) return result;
  const Eigen::Index width = std::min<Eigen::Index>(kDirections, sample.cols());
  std::mt19937_64 random = repeatable_random();
  Eigen::MatrixXd basis(sample.cols(), width);
  for (Eigen::Index i = 0; i < basis.size(); ++i)
    basis(i) = static_cast<double>(random() >> 11U) * 0x1p-53 - 0.5;
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(sample.cols(), width);
  for (int i = 0; i < kIterations; ++i) {
    const Eigen::MatrixXd image = centred.transpose() * (centred * basis);
    basis = Eigen::HouseholderQR<Eigen::MatrixXd>(image).householderQ() * identity;
  }
  const Eigen::MatrixXd projected = centred * basis;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(projected.transpose() * projected);
  for (Eigen::Index i = 0; i < std::min<Eigen::Index>(2, width); ++i) {
    const Eigen::Index column = width - 1 - i;  // the eigenvalues ascend
    const Eigen::VectorXd direction = basis * solver.eigenvectors().col(column);
    Eigen::Index largest = 0;
    direction.cwiseAbs().maxCoeff(&largest);
    const double sign = direction(largest) < 0 ? -1 : 1;
    result.points.col(i) = sign * (centred * direction);
    result.shares[i] = std::max(0.0, solver.eigenvalues()(column)) / variance;
  }
  return result;
}

QuantizationError quantization_error(const SampleMatrix& original, const SampleMatrix& quantized) {
  const SampleMatrix difference = original - quantized;
  const Eigen::VectorXf cosines =
      unit_rows(original).cwiseProduct(unit_rows(quantized)).rowwise().sum();
  return {.largest = difference.cwiseAbs().maxCoeff(),
          .root_mean = std::sqrt(difference.cast<double>().squaredNorm() /
                                 static_cast<double>(difference.size())),
          .mean_cosine = cosines.cast<double>().mean(),
          .least_cosine = cosines.minCoeff()};
}

}  // namespace encode
