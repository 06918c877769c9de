// One HTTP request over libcurl. HubClient handles redirects, retries and the meaning of a status.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace encode::hub {

struct HttpRequest {
  std::string url;
  bool head = false;                 // HEAD instead of GET
  bool direct = false;               // no proxy: the host is this machine
  std::vector<std::string> headers;  // "Range: bytes=5-"
  std::chrono::seconds stall{10};    // the request ends if no byte comes for this time
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;       // the names are in lower case
  std::optional<std::chrono::seconds> retry_after;  // the header Retry-After, as a time from now
  std::string url;                                  // the URL that gave this response

  std::string header(const std::string& name) const;  // "" if the response does not have it
  bool is_redirect() const;                           // has a Location that should be followed
};

// The reason why a transfer ended before the whole response had come.
struct TransferFault {
  enum class Kind {
    kConnect,  // no connection: the name, the host, the port or a proxy
    kTls,      // the certificate or the handshake; trying again does not help
    kCut,      // the connection was cut, or no byte came for HttpRequest::stall
  };
  Kind kind = Kind::kCut;
  std::string reason;
};

struct HttpResult {
  HttpResponse response;  // its status is 0 if the transfer failed before the status came
  std::optional<TransferFault> fault;
};

// Gets the body of a response with status 200 or 206 piece by piece. An exception ends the transfer
// and leaves get().
using BodySink = std::function<void(const HttpResponse& response, std::string_view bytes)>;

// Keeps its connections open from one request to the next. Not thread-safe.
class HttpSession {
 public:
  // `ca_file` has the certificates to trust; "": the certificates of the system. Throws Error
  // "hub.library".
  explicit HttpSession(std::string ca_file);
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;
  ~HttpSession();

  // Sends one request. Does not follow a redirect. The body is not decompressed. If the status is
  // neither 200 nor 206, the body is discarded. It may then be of any length: the response counts
  // as complete after its first 64 KiB. Headers of more than 1 MiB are a fault. Throws only what
  // `sink` throws.
  HttpResult get(const HttpRequest& request, const BodySink& sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace encode::hub
