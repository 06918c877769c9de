// Makes the Errors for the answers of a server.
#pragma once

#include <string>

#include "encode/error.h"

#include "hub/http.h"

namespace encode::hub {

// The subject of a request, for messages.
struct Subject {
  std::string model;     // "org/name"
  std::string revision;  // a branch, a tag or a commit
  std::string path;      // "": the list of files
  bool with_token = false;
};

// Returns true for a temporary status, after which a retry may succeed: 408, 429, 500, 502, 503,
// 504.
bool may_pass(int status);

// Makes the Error for a status of 400 or above that a retry does not change:
//   "hub.model", "hub.revision", "hub.file"   kNoInput       there is none
//   "hub.gated", "hub.forbidden"              kNoPermission
//   "hub.answer"                              kUnavailable   any other status
Error refused_error(const HttpResponse& response, const Subject& subject);

// Makes the Error kTempFail "hub.busy" for a temporary status.
Error busy_error(const HttpResponse& response);

// Makes the Error for a transfer that failed: kUnavailable "hub.connect" or "hub.tls", kTempFail
// "hub.cut".
Error transfer_error(const TransferFault& fault, const std::string& url);

// Returns the Error for an answer that a retry may change: transfer_error() or busy_error(). Throws
// the Error of any other answer: "hub.tls", and refused_error(). `result` has a fault, or a status
// of 400 or above.
Error passing_error(const HttpResult& result, const Subject& subject, const std::string& url);

// Makes the Error kUnavailable "hub.answer" for a response that no hub would send.
Error answer_error(const std::string& url, std::string expected, std::string found);

}  // namespace encode::hub
