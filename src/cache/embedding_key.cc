#include "cache/embedding_key.h"

#include "base/hash.h"
#include "base/json.h"

namespace encode {
namespace {

constexpr size_t kRulesBytes = sizeof(EmbeddingKey::bytes);

// The structured binding names every field. So if a field is added, this file does not compile
// until the field is part of the key.
std::string to_text(const KeyRules& rules) {
  const auto& [fingerprint, numerics_version, prompt_tokens, token_types, device, libtorch, driver,
               self_test, kernels, cuda_numerics] = rules;
  Json parts = Json::array(
      {fingerprint, numerics_version, prompt_tokens, device, libtorch, driver, self_test});
  // Empty parts are left out. The key then equals the key of earlier versions, which did not have
  // these parts, so their vectors are found.
  if (!token_types.empty()) parts.push_back({{"token_types", token_types}});
  if (!kernels.empty()) parts.push_back({{"kernels", kernels}, {"cuda_numerics", cuda_numerics}});
  return parts.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace

KeyMaker::KeyMaker(const KeyRules& rules) {
  const std::string text = to_text(rules);
  const std::array<std::byte, kRulesBytes> hash = sha256_bytes(std::as_bytes(std::span(text)));
  text_.assign(hash.begin(), hash.end());
}

EmbeddingKey KeyMaker::key(std::span<const int32_t> ids, std::span<const TokenSpan> spans) {
  text_.resize(kRulesBytes);
  if (!spans.empty()) {
    // No token id is negative, so no sequence without spans has the same bytes.
    const int32_t count = -static_cast<int32_t>(spans.size());
    add(std::as_bytes(std::span(&count, 1)));
    add(std::as_bytes(spans));
  }
  add(std::as_bytes(ids));
  return {.bytes = sha256_bytes(text_)};
}

void KeyMaker::add(std::span<const std::byte> bytes) {
  text_.insert(text_.end(), bytes.begin(), bytes.end());
}

}  // namespace encode
