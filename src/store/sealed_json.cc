#include "store/sealed_json.h"

#include <fmt/format.h>
#include <utility>

#include "base/file.h"
#include "base/hash.h"

namespace encode {
namespace {

constexpr std::string_view kOpening = "{\"checksum\":\"";
constexpr std::string_view kClosing = "\",";
constexpr size_t kDigits = 32;
constexpr size_t kPrefixBytes = kOpening.size() + kDigits + kClosing.size();
constexpr JsonLimits kLimits = {.max_bytes = kMaxSealedBytes, .max_depth = 40};

}  // namespace

std::string seal(const Json& object, int indent) {
  const std::string rest =
      object.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace).substr(1);
  return fmt::format("{}{}{}{}", kOpening, xxh3_hex(rest), kClosing, rest);
}

std::string stated_checksum(std::string_view text) {
  if (text.size() <= kPrefixBytes || !text.starts_with(kOpening)) return "";
  if (text.substr(kOpening.size() + kDigits, kClosing.size()) != kClosing) return "";
  return std::string(text.substr(kOpening.size(), kDigits));
}

Json unseal(std::string_view text, const std::string& where) {
  const std::string stated = stated_checksum(text);
  if (stated.empty()) {
    throw damage("the text does not begin with a checksum", where, fmt::format("{}...", kOpening),
                 "other bytes, or too few");
  }
  const std::string actual = xxh3_hex(text.substr(kPrefixBytes));
  if (actual != stated) throw damage("the checksum is wrong", where, stated, actual);
  try {
    Json object = parse_json(text, kLimits, where, "store.damaged");
    object.erase("checksum");
    return object;
  } catch (const Error& error) {
    throw damage("the text is not strict JSON", where, "", error.detail().found);
  }
}

SealedFile unseal_file(const std::string& path, int64_t max_bytes, ErrorCode code) {
  std::string text = read_file(path, max_bytes, code);
  if (!text.ends_with('\n'))
    throw damage("the file does not end with a newline", path, "a whole file",
                 "a file that was cut off");
  text.pop_back();
  return {.object = unseal(text, path), .checksum = stated_checksum(text)};
}

Error damage(std::string what, std::string where, std::string expected, std::string found) {
  return Error(
      {.code = "store.damaged",
       .what = std::move(what),
       .where = std::move(where),
       .expected = std::move(expected),
       .found = std::move(found),
       .hint = "the file was changed or damaged after it was written; delete it and run again"});
}

Error misuse(std::string what, std::string where, std::string expected, std::string found) {
  return Error({.code = "store.misuse",
                .what = std::move(what),
                .where = std::move(where),
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = kDefectHint});
}

}  // namespace encode
