// Tests that everything that decides a vector decides its key.
#include "cache/embedding_key.h"

#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace encode {
namespace {

const std::vector<int32_t> kIds = {101, 7, 8, 102};

KeyRules rules() {
  return {.fingerprint = R"({"model":1})",
          .numerics_version = 1,
          .prompt_tokens = 2,
          .token_types = "",
          .device = "cpu (amx)",
          .libtorch = "2.11.0",
          .driver = "580.65",
          .self_test = "ab"};
}

std::array<std::byte, 32> key(const KeyRules& rules, const std::vector<int32_t>& ids = kIds) {
  return KeyMaker(rules).key(ids).bytes;
}

std::string to_hex(const std::array<std::byte, 32>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

TEST(EmbeddingKey, ChangesWithEveryRule) {
  std::set<std::array<std::byte, 32>> keys = {key(rules())};
  size_t expected = 1;
  const auto changed = [&](const auto& change) {
    KeyRules other = rules();
    change(other);
    keys.insert(key(other));
    EXPECT_EQ(keys.size(), ++expected);
  };
  // If KeyRules gets a new field, this does not compile, which reminds its author to add a case.
  const auto& [fingerprint, numerics_version, prompt_tokens, token_types, device, libtorch, driver,
               self_test, kernels, cuda_numerics] = rules();
  changed([&](KeyRules& r) { r.fingerprint = fingerprint + " "; });
  changed([&](KeyRules& r) { r.numerics_version = numerics_version + 1; });
  changed([&](KeyRules& r) { r.prompt_tokens = prompt_tokens + 1; });
  changed([&](KeyRules& r) { r.token_types = token_types + "1|1|1"; });
  changed([&](KeyRules& r) { r.device = device + "x"; });
  changed([&](KeyRules& r) { r.libtorch = libtorch + "x"; });
  changed([&](KeyRules& r) { r.driver = driver + "x"; });
  changed([&](KeyRules& r) { r.self_test = self_test + "x"; });
  changed([&](KeyRules& r) { r.kernels = kernels + "off"; });
  changed([&](KeyRules& r) {
    r.kernels = kernels + "off";
    r.cuda_numerics = cuda_numerics + 1;
  });
}

// So the rows of a cache that an older version has filled are found. The expected key was computed
// with Python's hashlib from the array of the rules.
TEST(EmbeddingKey, IsThatOfOlderVersions) {
  EXPECT_EQ(to_hex(key(rules())),
            "148dd018564d7c0fe0c8705e1792c02fce87cdcd105f3a313367debddfb0517a");
}

TEST(EmbeddingKey, TellsWhichRuleATextBelongsTo) {
  KeyRules other = rules();
  other.libtorch = rules().libtorch + rules().driver;
  other.driver = "";
  EXPECT_NE(key(other), key(rules()));
}

TEST(EmbeddingKey, ChangesWithTheTokenIds) {
  std::set<std::array<std::byte, 32>> keys = {key(rules())};
  keys.insert(key(rules(), {101, 7, 8}));
  keys.insert(key(rules(), {101, 7, 8, 102, 0}));
  keys.insert(key(rules(), {101, 8, 7, 102}));
  keys.insert(key(rules(), {101, 7, 8, 103}));
  EXPECT_EQ(keys.size(), 5U);
}

TEST(EmbeddingKey, ChangesWithTheSpansOfTheVectors) {
  KeyMaker maker(rules());
  std::set<std::array<std::byte, 32>> keys = {maker.key(kIds).bytes};
  for (const std::vector<TokenSpan>& spans :
       {std::vector<TokenSpan>{{0, 4}}, {{1, 3}}, {{1, 2}, {2, 3}}, {{1, 2}}})
    keys.insert(maker.key(kIds, spans).bytes);
  EXPECT_EQ(keys.size(), 5U);
}

TEST(EmbeddingKey, IsTheSameForTheSameRow) {
  KeyMaker maker(rules());
  maker.key(std::vector<int32_t>(500, 3));
  EXPECT_EQ(maker.key(kIds).bytes, key(rules()));
}

}  // namespace
}  // namespace encode
