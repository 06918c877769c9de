#include "protocol/same_build.h"

#include "base/hash.h"
#include "base/units.h"
#include "protocol/protocol_refusal.h"

namespace encode {

const std::string& protocol_id() {
  static const std::string id =
      std::string(ENCODE_VERSION " ") + xxh3_hex(job_schema() + event_schema());
  return id;
}

void require_this_build(const Json& message) {
  const auto found = message.find(kProtocolKey);
  if (found != message.end() && *found == protocol_id()) return;
  refuse_document("encode and encode-worker are of different builds",
                  found == message.end() ? "no protocol" : preview(found->dump()), protocol_id());
}

std::string greeting() {
  const Json line = {{"kind", "greeting"}, {kProtocolKey, protocol_id()}};
  return line.dump() + "\n";
}

std::optional<WorkerEvent> EventReader::read(std::string_view line) {
  if (greeted_) return worker_event_from_json(line);
  require_this_build(parse_message(line));
  greeted_ = true;
  return std::nullopt;
}

}  // namespace encode
