#include "protocol/protocol_refusal.h"

#include <utility>

#include "encode/error.h"

namespace encode {
namespace {

constexpr ErrorCode kCode = "job.protocol";

}  // namespace

void refuse_document(std::string what, std::string found) {
  throw Error({.code = kCode,
               .what = std::move(what),
               .where = "the messages between encode and encode-worker",
               .expected = "a message of this build",
               .found = std::move(found),
               .hint = "install encode and encode-worker from the same build"});
}

Json parse_document(std::string_view text, int64_t max_bytes) {
  try {
    return parse_json(text, {.max_bytes = max_bytes, .max_depth = 16}, "", kCode);
  } catch (const Error& error) {
    refuse_document(error.detail().what, error.detail().found);
  }
}

}  // namespace encode
