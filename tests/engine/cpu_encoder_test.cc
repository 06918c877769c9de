#include <cstring>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/encoder.h"
#include "encode/error.h"

#include "batching/pack.h"
#include "load_for_test.h"
#include "random_rows.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using testing::kTinyVocab;
using testing::random_rows;

std::unique_ptr<Encoder> load(const std::string& model, int64_t threads,
                              ComputeType dtype = ComputeType::kFloat32,
                              std::optional<PoolingMode> pooling = {}) {
  ResultOptions result;
  result.pooling = pooling;
  result.dtype = dtype;
  result.normalize = !pooling;
  EncoderOptions options;
  options.hardware.device = parse_device("cpu");
  options.threads = threads;
  return testing::load_test_encoder(testing::open_test_model(model, result), options);
}

std::vector<float> encode_rows(Encoder& encoder, const TokenizedRows& rows,
                               int64_t capacity_tokens) {
  std::vector<float> out(static_cast<size_t>(rows.size() * encoder.dim()));
  EXPECT_TRUE(encoder.encode(pack({.ids = rows}, capacity_tokens), out,
                             [](const PackedBatch&) { return true; }));
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class SameRowSameVector : public ::testing::TestWithParam<std::tuple<std::string, ComputeType>> {};

TEST_P(SameRowSameVector, WhateverTheThreadsAndBatches) {
  const auto& [model, dtype] = GetParam();
  const TokenizedRows rows = random_rows(120);
  const auto one = load(model, 1, dtype);
  const auto two = load(model, 2, dtype);
  const std::vector<float> expected = encode_rows(*one, rows, 512);
  EXPECT_TRUE(same_bits(encode_rows(*two, rows, 512), expected)) << "two threads";
  EXPECT_TRUE(same_bits(encode_rows(*one, rows, 40), expected)) << "a few rows a batch";
  EXPECT_TRUE(same_bits(encode_rows(*one, rows, 2048), expected)) << "batches of several blocks";
}

INSTANTIATE_TEST_SUITE_P(Models, SameRowSameVector,
                         ::testing::Combine(::testing::Values("bert", "qwen2"),
                                            ::testing::Values(ComputeType::kFloat32,
                                                              ComputeType::kBFloat16)));

// Shows that the test above can fail: one other token changes the bits.
TEST(SameRowSameVectorControl, AnotherTokenIsAnotherVector) {
  TokenizedRows rows = random_rows(20);
  const auto encoder = load("bert", 1);
  const std::vector<float> before = encode_rows(*encoder, rows, 512);
  rows.ids[0] = (rows.ids[0] + 1) % kTinyVocab;
  EXPECT_FALSE(same_bits(encode_rows(*encoder, rows, 512), before));
}

// The mean of the token vectors of a row must be the vector of mean pooling. The token vectors must
// not depend on the batch.
TEST(TokenEmbeddings, AreWhatPoolingWouldPool) {
  TokenizedRows rows = random_rows(60);
  rows.offsets.insert(rows.offsets.begin() + 1, 0);  // adds a row without tokens
  rows.lost_tokens.push_back(0);
  const auto pooled = load("bert", 1, ComputeType::kFloat32, PoolingMode::kMean);
  const auto tokens = load("bert", 2, ComputeType::kFloat32, PoolingMode::kNone);
  ASSERT_TRUE(tokens->token_embeddings());
  const auto dim = static_cast<size_t>(tokens->dim());
  const auto encode_tokens = [&](int64_t capacity) {
    std::vector<float> out(rows.ids.size() * dim);
    EXPECT_TRUE(tokens->encode(pack(sequences_of(rows, /*token_embeddings=*/true), capacity), out,
                               [](const PackedBatch&) { return true; }));
    return out;
  };
  const std::vector<float> vectors = encode_tokens(512);
  EXPECT_TRUE(same_bits(encode_tokens(40), vectors));
  const std::vector<float> means = encode_rows(*pooled, rows, 512);
  for (int64_t row = 0; row < rows.size(); ++row) {
    const auto begin = static_cast<size_t>(rows.offsets[static_cast<size_t>(row)]);
    const size_t length = rows.row(row).size();
    for (size_t column = 0; column < dim && length > 0; ++column) {
      double sum = 0;
      for (size_t t = begin; t < begin + length; ++t) sum += vectors[t * dim + column];
      EXPECT_NEAR(sum / static_cast<double>(length), means[static_cast<size_t>(row) * dim + column],
                  1e-5)
          << "row " << row;
    }
  }
}

// Three overlapping spans for each row, together with more tokens than the batch, so that they are
// pooled in several parts.
Sequences with_spans(const TokenizedRows& rows) {
  Sequences sequences = {.ids = rows};
  sequences.vectors.offsets = {0};
  for (int64_t row = 0; row < rows.size(); ++row) {
    const auto length = static_cast<int32_t>(rows.row(row).size());
    for (const TokenSpan& span :
         {TokenSpan{0, length}, TokenSpan{length / 2, length}, TokenSpan{0, std::min(length, 1)}})
      sequences.vectors.spans.push_back(span);
    sequences.vectors.offsets.push_back(std::ssize(sequences.vectors.spans));
  }
  return sequences;
}

// The vector of a span is the mean of its token vectors, to the same bits in batches of any size.
TEST(Spans, AreMeansOfTheirTokensInAnyBatch) {
  const TokenizedRows rows = random_rows(60);
  const auto pooled = load("bert", 2, ComputeType::kFloat32, PoolingMode::kMean);
  const auto tokens = load("bert", 1, ComputeType::kFloat32, PoolingMode::kNone);
  const auto dim = static_cast<size_t>(tokens->dim());
  std::vector<float> of_tokens(rows.ids.size() * dim);
  tokens->encode(pack(sequences_of(rows, /*token_embeddings=*/true), 512), of_tokens,
                 [](const PackedBatch&) { return true; });
  Sequences sequences = with_spans(rows);
  const auto encode_spans = [&](int64_t capacity) {
    std::vector<float> out(sequences.vectors.spans.size() * dim);
    pooled->encode(pack(sequences, capacity), out, [](const PackedBatch&) { return true; });
    return out;
  };
  const std::vector<float> vectors = encode_spans(512);
  EXPECT_TRUE(same_bits(encode_spans(40), vectors));
  EXPECT_TRUE(same_bits(encode_spans(1), vectors));
  for (int64_t row = 0; row < rows.size(); ++row) {
    const auto first = static_cast<size_t>(rows.offsets[static_cast<size_t>(row)]);
    for (int64_t v = sequences.vectors.first(row); v < sequences.vectors.first(row + 1); ++v) {
      const TokenSpan& span = sequences.vectors.spans[static_cast<size_t>(v)];
      for (size_t column = 0; column < dim && span.end > span.begin; ++column) {
        double sum = 0;
        for (int32_t t = span.begin; t < span.end; ++t)
          sum += of_tokens[(first + static_cast<size_t>(t)) * dim + column];
        EXPECT_NEAR(sum / (span.end - span.begin), vectors[static_cast<size_t>(v) * dim + column],
                    1e-5);
      }
    }
  }
  std::swap(sequences.vectors.spans[0], sequences.vectors.spans[1]);
  EXPECT_FALSE(same_bits(encode_spans(512), vectors)) << "the control";
}

TEST(CpuEncoder, RefusesAnIdOutsideTheVocabulary) {
  const auto encoder = load("bert", 1);
  for (const int32_t id : {-1, kTinyVocab}) {
    TokenizedRows rows;
    rows.ids = {1, id};
    rows.offsets = {0, 2};
    rows.lost_tokens = {0};
    std::vector<float> out(static_cast<size_t>(encoder->dim()));
    try {
      encoder->encode(pack({.ids = rows}, 512), out, [](const PackedBatch&) { return true; });
      FAIL() << "id " << id << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "batch.token_id");
      EXPECT_EQ(error.exit_code(), ExitCode::kData);
      EXPECT_THAT(error.what(), HasSubstr("0 to 127"));
    }
  }
}

TEST(CpuEncoder, RefusesASequenceBeyondItsPositions) {
  const auto encoder = load("bert", 1);
  TokenizedRows rows;
  rows.ids.assign(static_cast<size_t>(encoder->max_length() + 1), 5);
  rows.offsets = {0, encoder->max_length() + 1};
  rows.lost_tokens = {0};
  std::vector<float> out(static_cast<size_t>(encoder->dim()));
  EXPECT_THROW(
      encoder->encode(pack({.ids = rows}, 512), out, [](const PackedBatch&) { return true; }),
      Error);
}

TEST(CpuEncoder, StopsWhenAsked) {
  const auto encoder = load("bert", 1);
  const TokenizedRows rows = random_rows(50);
  std::vector<float> out(static_cast<size_t>(rows.size() * encoder->dim()));
  int batches = 0;
  EXPECT_FALSE(encoder->encode(pack({.ids = rows}, 40), out,
                               [&](const PackedBatch&) { return ++batches < 2; }));
  EXPECT_EQ(batches, 2);
}

TEST(CpuEncoder, AnAbsentGpuIsSaidToBeAbsent) {
  EncoderOptions options;
  options.hardware.device = parse_device("cuda:77");
  try {
    testing::load_test_encoder(testing::open_test_model("bert"), options);
    FAIL() << "cuda:77 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUnavailable);
    EXPECT_EQ(error.detail().code.name(), "device.absent");
    EXPECT_FALSE(error.detail().found.empty());
  }
}

}  // namespace
}  // namespace encode
