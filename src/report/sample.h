// Reads a sample of the rows of a stream: vectors, texts and lengths, in bounded memory. Any thread
// may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/store.h"

#include "base/empty_rows.h"
#include "report/statistics.h"
#include "store/matrix/matrix.h"

namespace encode {

inline constexpr int64_t kSampleRows = 2000;

// Returns `count` different numbers below `rows`, ascending; all numbers below `rows` if there are
// at most `count`. Equal arguments give equal numbers. Does not throw Error.
std::vector<int64_t> sample_rows(int64_t rows, int64_t count);

// Returns the rows of the input that these vectors of a matrix belong to. Throws what
// read_vector_rows() throws.
std::vector<int64_t> rows_of(const Matrix& matrix, const std::vector<int64_t>& vectors);

// Reads vectors of a final matrix as the numbers that they stand for. Throws what StoredValues()
// and Matrix::stored() throw.
SampleMatrix read_vectors(const Matrix& matrix, const std::vector<int64_t>& rows);

// Reads the vectors of a sample with read_committed_rows().
std::optional<SampleMatrix> read_chunk_vectors(const std::string& cache_dir,
                                               const StreamIdentity& identity,
                                               const std::vector<int64_t>& rows);

struct SampleText {
  std::string text;     // the beginning of the text, valid UTF-8 without control characters
  int64_t tokens = -1;  // before the cut at max_length; -1: not known
};

struct SampleTexts {
  std::vector<SampleText>
      rows;                // in the order of the sample; fewer if the input has become shorter
  EmptyRows empty_rows;    // how many of these rows have no text
  int64_t max_length = 0;  // the limit of the stream, in tokens; 0: not known
  std::string problem;     // why there are no token lengths, or ""
};

// Hashes the files of the input, reads them up to the last row of the sample, and tokenizes these
// rows if the model is on this machine. `encoded` is the identity of the matrix. Throws what
// open_texts() and TextReader throw, and Error: kUsage "report.stdin" for "-", kData "report.texts"
// if the input has changed since it was encoded.
SampleTexts read_texts(const StreamConfig& stream, const StreamIdentity& encoded,
                       const std::vector<int64_t>& rows);

}  // namespace encode
