#include "store/verify/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "base/named_path.h"
#include "base/non_finite.h"
#include "columnar/matrix_reader.h"
#include "store/matrix/stored_values.h"
#include "store/parts_list.h"
#include "store/same_rows.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// Reads the numbers of a matrix from the first row to the last: of a matrix file, or of the parts
// in a list (x.parts.json).
class NumberReader {
 public:
  // Throws what open_matrix_reader(), StoredValues::of_file() and read_parts_list() throw.
  explicit NumberReader(const std::string& path);

  OutputType type() const { return type_; }
  int64_t rows() const { return rows_; }
  int64_t dim() const { return dim_; }
  std::string shape() const;

  // Returns the next rows, exactly `max_rows` of them while there are so many, or nothing at the
  // end. The view is valid until the next call. Throws what the constructor and MatrixReader throw,
  // and Error kData "store.damaged" if a part has another number of rows than the list says.
  std::span<const float> next(int64_t max_rows);

 private:
  struct File {
    std::string path;
    int64_t rows = -1;  // that a list says; -1: no list names the file
  };
  void open(const File& file);

  std::vector<File> files_;
  size_t next_file_ = 0;
  std::unique_ptr<MatrixReader> reader_;  // of a file; null if the next one is not open yet
  std::optional<StoredValues> values_;    // of this file
  OutputType type_ = OutputType::kFloat32;
  int64_t rows_ = 0;
  int64_t dim_ = 0;
  std::vector<float> buffer_;
  std::vector<float> joined_;  // rows of several files
};

NumberReader::NumberReader(const std::string& path) {
  if (is_parts_list(path)) {
    require_named_file(path, "npy.open");
    const PartsList list = read_parts_list(path);
    for (const PartsList::Entry& part : list.parts)
      files_.push_back({.path = part_path(path, part), .rows = part.vectors});
    type_ = list.type;
    rows_ = list.vectors();
    dim_ = list.identity.dim;
    return;
  }
  files_.push_back({.path = path});
  open(files_.front());
  next_file_ = 1;
  type_ = values_->type();
  rows_ = reader_->rows();
  dim_ = values_->dim();
}

std::string NumberReader::shape() const { return fmt::format("{} x {}", rows_, dim_); }

void NumberReader::open(const File& file) {
  reader_ = open_matrix_reader(file.path, Elements::kAny);
  values_.emplace(StoredValues::of_file(*reader_));
  if (file.rows < 0) return;
  if (reader_->rows() != file.rows || values_->dim() != dim_)
    throw damage("a part does not have the rows that the list says", file.path,
                 fmt::format("{} x {}", file.rows, dim_),
                 fmt::format("{} x {}", reader_->rows(), values_->dim()));
}

std::span<const float> NumberReader::next(int64_t max_rows) {
  const auto wanted = static_cast<size_t>(max_rows * dim_);
  joined_.clear();
  while (joined_.size() < wanted) {
    if (!reader_) {
      if (next_file_ == files_.size()) break;
      open(files_[next_file_++]);
    }
    const int64_t left = max_rows - std::ssize(joined_) / dim_;
    const std::span<const float> numbers = values_->convert(reader_->next_bytes(left), buffer_);
    if (joined_.empty() && numbers.size() == wanted) return numbers;
    if (numbers.empty()) reader_.reset();
    joined_.insert(joined_.end(), numbers.begin(), numbers.end());
  }
  return joined_;
}

// Collects non-negative numbers in buckets of about equal relative width. The bucket of a number is
// the upper 20 bits of its float without the sign: the exponent and 12 bits of the fraction. The
// memory is 16 MB for any number of rows.
class Histogram {
 public:
  void add(double value) {
    Bucket& bucket = buckets_[std::bit_cast<uint32_t>(static_cast<float>(value)) >> kShift];
    ++bucket.count;
    bucket.sum += value;
    ++total_;
    sum_ += value;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  Distribution distribution() const {
    if (total_ == 0) return {};
    return {.min = min_,
            .p0_1 = quantile(0.001),
            .p1 = quantile(0.01),
            .p50 = quantile(0.5),
            .mean = sum_ / static_cast<double>(total_),
            .p99 = quantile(0.99),
            .p99_9 = quantile(0.999),
            .max = max_};
  }

 private:
  static constexpr int kShift = 11;
  static constexpr size_t kBuckets = size_t{1} << (31 - kShift);

  struct Bucket {
    int64_t count = 0;
    double sum = 0;
  };

  // Returns the mean of the bucket that holds the quantile. If the bucket has only one number, this
  // mean is the quantile.
  double quantile(double fraction) const {
    const auto rank = static_cast<int64_t>(std::ceil(fraction * static_cast<double>(total_)));
    int64_t seen = 0;
    for (const Bucket& bucket : buckets_) {
      seen += bucket.count;
      if (seen < rank) continue;
      return std::clamp(bucket.sum / static_cast<double>(bucket.count), min_, max_);
    }
    return max_;
  }

  std::vector<Bucket> buckets_ = std::vector<Bucket>(kBuckets);
  int64_t total_ = 0;
  double sum_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = 0;
};

RowDifference compare_rows(std::span<const float> a, std::span<const float> b) {
  RowDifference difference;
  double dot = 0;
  double a_square = 0;
  double b_square = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    const double y = b[i];
    dot += x * y;
    a_square += x * x;
    b_square += y * y;
    if (const double distance = std::abs(x - y); distance > difference.max_difference) {
      difference.max_difference = distance;
      difference.column = static_cast<int64_t>(i);
    }
  }
  const bool any_zero = a_square == 0 || b_square == 0;
  // The cosine of equal rows is set to 1, and other cosines are clamped, because rounding can make
  // the quotient larger than 1, or different from 1 for equal rows.
  if (difference.max_difference == 0) {
    difference.cosine = 1;
  } else if (!any_zero) {
    difference.cosine = std::clamp(dot / std::sqrt(a_square) / std::sqrt(b_square), -1.0, 1.0);
  }
  return difference;
}

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options) : options_(options) {}

  void add_block(std::span<const float> a, std::span<const float> b, size_t dim) {
    identical_ = identical_ && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
    for (size_t at = 0; at < a.size(); at += dim, ++row_)
      add_row(a.subspan(at, dim), b.subspan(at, dim));
  }

  void finish(CompareReport& report) const {
    report.identical = identical_;
    report.non_finite_rows = non_finite_rows_;
    const Distribution distance = cosine_distance_.distribution();
    const bool any_rows = row_ > non_finite_rows_;
    if (any_rows) {
      report.cosine = {.min = 1 - distance.max,
                       .p0_1 = 1 - distance.p99_9,
                       .p1 = 1 - distance.p99,
                       .p50 = 1 - distance.p50,
                       .mean = 1 - distance.mean,
                       .p99 = 1 - distance.p1,
                       .p99_9 = 1 - distance.p0_1,
                       .max = 1 - distance.min};
    }
    report.max_difference = max_difference_.distribution();
    report.different_rows = different_rows_;
    report.worst = worst_;
    if (non_finite_rows_ > 0) {
      report.failures.push_back(
          fmt::format("the number of rows with NaN or infinity is {}; the first is row {}",
                      non_finite_rows_, first_non_finite_));
    }
    if (any_rows && options_.max_difference &&
        report.max_difference.max > *options_.max_difference) {
      report.failures.push_back(fmt::format("max |a - b| is {:.9g}, above the limit {:.9g}",
                                            report.max_difference.max, *options_.max_difference));
    }
    if (any_rows && options_.min_cosine && report.cosine.min < *options_.min_cosine) {
      report.failures.push_back(fmt::format("the smallest cosine is {:.9g}, below the limit {:.9g}",
                                            report.cosine.min, *options_.min_cosine));
    }
  }

 private:
  void add_row(std::span<const float> a, std::span<const float> b) {
    if (find_non_finite(a) || find_non_finite(b)) {
      if (non_finite_rows_++ == 0) first_non_finite_ = row_;
      return;
    }
    RowDifference difference = compare_rows(a, b);
    difference.row = row_;
    cosine_distance_.add(1 - difference.cosine);
    max_difference_.add(difference.max_difference);
    if (difference.max_difference == 0) return;
    ++different_rows_;
    const auto further = [](const RowDifference& x, const RowDifference& y) {
      return x.max_difference > y.max_difference;
    };
    worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), difference, further), difference);
    if (static_cast<int64_t>(worst_.size()) > options_.worst_rows) worst_.pop_back();
  }

  CompareOptions options_;
  bool identical_ = true;
  int64_t row_ = 0;
  int64_t non_finite_rows_ = 0;
  int64_t first_non_finite_ = 0;
  int64_t different_rows_ = 0;
  Histogram cosine_distance_;
  Histogram max_difference_;
  std::vector<RowDifference> worst_;
};

constexpr const char* kSameRowsHint = "compare two matrices of the same rows and the same model";

}  // namespace

CompareReport compare_matrices(const std::string& a_path, const std::string& b_path,
                               const CompareOptions& options) {
  NumberReader a(a_path);
  NumberReader b(b_path);
  if (a.shape() != b.shape()) {
    throw Error({.code = "compare.shape",
                 .what = "matrices of different shapes cannot be compared",
                 .where = b_path,
                 .expected = fmt::format("{}, as in {}", a.shape(), a_path),
                 .found = b.shape(),
                 .hint = kSameRowsHint});
  }
  require_same_rows(a_path, b_path,
                    {.code = "compare.shape",
                     .what = "matrices that lack different rows cannot be compared",
                     .hint = kSameRowsHint});
  Comparison comparison(options);
  constexpr int64_t kBlockNumbers = 1 << 18;
  const int64_t block_rows = std::max<int64_t>(1, kBlockNumbers / a.dim());
  for (auto values = a.next(block_rows); !values.empty(); values = a.next(block_rows)) {
    comparison.add_block(values, b.next(block_rows), static_cast<size_t>(a.dim()));
  }
  CompareReport report;
  report.a_path = a_path;
  report.b_path = b_path;
  report.a_type = a.type();
  report.b_type = b.type();
  report.rows = a.rows();
  report.dim = a.dim();
  comparison.finish(report);
  return report;
}

}  // namespace encode
