#include "protocol/protocol_refusal.h"

#include <utility>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

constexpr ErrorCode kCode = "job.protocol";
constexpr const char* kWhere = "the messages between encode and encode-worker";

}  // namespace

void refuse_document(std::string what, std::string found, std::string expected) {
  throw Error({.code = kCode,
               .what = std::move(what),
               .where = kWhere,
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = "install encode and encode-worker from one package, then run the same "
                       "command again; committed chunks are kept"});
}

Json parse_document(std::string_view text, int64_t max_bytes) {
  try {
    return parse_json(text, {.max_bytes = max_bytes, .max_depth = 16}, "", kCode);
  } catch (const Error& error) {
    refuse_document(error.detail().what, error.detail().found);
  }
}

Json parse_message(std::string_view line) {
  constexpr int64_t kMaxBytes = int64_t{1} << 20;
  ErrorDetail garbage = {.code = "worker.garbage",
                         .what = "the message has no kind",
                         .where = kWhere,
                         .expected = "an event",
                         .found = preview(line),
                         .hint =
                             "report it with this text, which encode-worker or a library in it "
                             "has written among the events"};
  try {
    Json message = parse_document(line, kMaxBytes);
    if (message.is_object() && message.contains("kind") && message["kind"].is_string())
      return message;
  } catch (const Error& error) {
    garbage.what = error.detail().what;
  }
  throw Error(std::move(garbage));
}

}  // namespace encode
