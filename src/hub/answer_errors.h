// The Errors for what a server answers.
#pragma once

#include <string>

#include "encode/error.h"

#include "hub/http.h"

namespace encode::hub {

// What a request was about, for messages.
struct Subject {
  std::string model;     // "org/name"
  std::string revision;  // a branch, a tag or a commit
  std::string path;      // "": the list of files
  bool with_token = false;
};

// Returns true for a status that may pass: 408, 429, 500, 502, 503, 504.
bool may_pass(int status);

// The Error for a status of 400 or above that trying again does not change:
//   "hub.model", "hub.revision", "hub.file"   kNoInput       there is none
//   "hub.gated", "hub.forbidden"              kNoPermission
//   "hub.answer"                              kUnavailable   any other status
Error refused_error(const HttpResponse& response, const Subject& subject);

// The Error kTempFail "hub.busy" for a status that may pass.
Error busy_error(const HttpResponse& response);

// The Error for a transfer that did not end well: kUnavailable "hub.connect" or "hub.tls",
// kTempFail "hub.cut".
Error transfer_error(const TransferFault& fault, const std::string& url);

// The Error for an answer that trying again may change: transfer_error() or busy_error(). Throws
// the Error if it may not: "hub.tls", and refused_error(). `result` has a fault, or a status of 400
// or above.
Error passing_error(const HttpResult& result, const Subject& subject, const std::string& url);

// The Error kUnavailable "hub.answer" for a response that is not what a hub sends.
Error answer_error(const std::string& url, std::string expected, std::string found);

}  // namespace encode::hub
