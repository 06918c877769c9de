#include "job/self_test.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "batching/pack.h"
#include "engine/spread_id.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr std::array<std::string_view, 4> kTexts = {
    "a", "The quick brown fox jumps over the lazy dog.", "int main() { return 0; }",
    "Grüße, 世界! 1234"};
constexpr double kLeastCosine = 0.999;
constexpr int64_t kBatchTokens = 512;  // enough for all fixed texts in one batch

using Vectors = std::vector<float>;

TokenizedRows fixed_rows(const Encoder& encoder, const Tokenizer* tokenizer) {
  TokenizedRows rows;
  for (size_t i = 0; i < kTexts.size(); ++i) {
    if (tokenizer != nullptr) {
      tokenizer->encode(kTexts[i], {.max_length = encoder.max_length(), .add_special_tokens = true},
                        rows);
      continue;
    }
    const auto length = static_cast<int64_t>(1 + 5 * i);
    for (int64_t t = 0; t < std::min(length, encoder.max_length()); ++t)
      rows.ids.push_back(spread_id(t + 1, encoder.vocab_size()));
    rows.end_row();
  }
  return rows;
}

// Returns the bytes in hexadecimal, because a decimal number may not keep all bits.
std::string to_hex(const Vectors& values) { return hex_of(std::as_bytes(std::span(values))); }

std::optional<Vectors> from_hex(const std::string& text, size_t count) {
  const std::optional<std::vector<std::byte>> bytes = bytes_of_hex(text);
  if (!bytes || bytes->size() != count * sizeof(float)) return std::nullopt;
  Vectors values(count);
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

Json read_entries(const std::string& path) {
  try {
    return unseal(read_file(path, kMaxSealedBytes, "self_test.file"), path);
  } catch (const Error&) {
    return Json::object();
  }
}

double least_cosine(const Vectors& a, const Vectors& b, int64_t dim) {
  double least = 1;
  for (size_t begin = 0; begin < a.size(); begin += static_cast<size_t>(dim)) {
    double product = 0;
    double norm_a = 0;
    double norm_b = 0;
    for (size_t i = begin; i < begin + static_cast<size_t>(dim); ++i) {
      product += static_cast<double>(a[i]) * b[i];
      norm_a += static_cast<double>(a[i]) * a[i];
      norm_b += static_cast<double>(b[i]) * b[i];
    }
    if (norm_a == 0 && norm_b == 0) continue;  // the model knows no token of this text
    const double cosine = product / std::sqrt(norm_a * norm_b);
    if (std::isnan(cosine)) return -1;  // one vector is zero, or one is not finite
    least = std::min(least, cosine);
  }
  return least;
}

double largest_difference(const Vectors& a, const Vectors& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

// Compares the new vectors with the earlier ones. Does not set `vectors_sha256`.
SelfTest compare(const Vectors& now, const Vectors& before, const Encoder& encoder,
                 const std::string& path) {
  const size_t bytes = now.size() * sizeof(float);
  if (std::memcmp(now.data(), before.data(), bytes) == 0)
    return {.outcome = SelfTest::Outcome::kSame, .largest_difference = 0};
  const double cosine = least_cosine(now, before, encoder.dim());
  if (cosine < kLeastCosine) {
    throw Error({.code = "self_test.changed",
                 .what = "the vectors of fixed texts have changed since the start of this cache",
                 .where = fmt::format("{}, {}", path, describe(encoder.device())),
                 .expected = fmt::format("a cosine of at least {}", kLeastCosine),
                 .found = fmt::format("{:.6f}", cosine),
                 .hint = "a driver, a library or this program has changed, or the device is "
                         "broken; give --cache-dir DIR, or delete this file to accept it"});
  }
  return {.outcome = SelfTest::Outcome::kRounded,
          .largest_difference = largest_difference(now, before)};
}

Vectors fixed_vectors(Encoder& encoder, const Tokenizer* tokenizer) {
  const Sequences rows = sequences_of(fixed_rows(encoder, tokenizer), encoder.token_embeddings());
  const size_t count = encoder.token_embeddings() ? rows.ids.ids.size() : kTexts.size();
  Vectors vectors(count * static_cast<size_t>(encoder.dim()));
  encoder.encode(pack(rows, kBatchTokens), vectors, [](const PackedBatch&) { return true; });
  return vectors;
}

}  // namespace

double least_cosine_of_fixed_texts(Encoder& a, Encoder& b, const Tokenizer* tokenizer) {
  return least_cosine(fixed_vectors(a, tokenizer), fixed_vectors(b, tokenizer), a.dim());
}

SelfTest run_self_test(Encoder& encoder, const Tokenizer* tokenizer, const std::string& identity,
                       const std::string& path) {
  const Vectors vectors = fixed_vectors(encoder, tokenizer);
  const std::string hash = sha256_hex(to_hex(vectors));
  const std::string key = xxh3_hex(identity + '\n' + encoder.device().name);
  Json entries = read_entries(path);
  const auto known = entries.find(key);
  if (known != entries.end() && known->is_object() && known->contains("vectors")) {
    const auto before = from_hex(known->at("vectors").get<std::string>(), vectors.size());
    if (before) {
      SelfTest test = compare(vectors, *before, encoder, path);
      test.vectors_sha256 = hash;
      return test;
    }
  }
  entries[key] = {
      {"device", describe(encoder.device())}, {"dim", encoder.dim()}, {"vectors", to_hex(vectors)}};
  write_file_durably(path, seal(entries, /*indent=*/1));
  return {.vectors_sha256 = hash};
}

}  // namespace encode
