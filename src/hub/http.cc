#include "hub/http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "base/units.h"
#include "hub/curl_functions.h"

namespace encode::hub {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxHeaders = 200;
// The most header bytes of one request, including interim responses.
constexpr size_t kMaxHeaderBytes = 1 << 20;
// The most bytes of an unwanted body that are read. Reading a short body to its end makes the
// connection usable for the next request.
constexpr size_t kMaxDiscardedBytes = 64 << 10;
// A transfer that is slower than this for a minute counts as cut.
constexpr long kSlowBytesPerSecond = 1024;
constexpr long kSlowSeconds = 60;

// What the callbacks of one request share. libcurl is C, so no exception may leave a callback.
struct Transfer {
  const BodySink* sink = nullptr;
  HttpResponse response;
  std::chrono::seconds stall{0};
  size_t header_bytes = 0;
  size_t discarded_bytes = 0;
  bool enough = false;  // the rest of the body is not needed
  curl_off_t bytes = -1;
  Clock::time_point last_byte = Clock::now();
  bool stalled = false;
  std::exception_ptr failure;
};

std::string trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

void read_header(std::string_view line, HttpResponse& response) {
  if (line.starts_with("HTTP/")) {  // a final response may follow an interim one
    response.headers.clear();
    const size_t space = line.find(' ');
    response.status = 0;
    if (space != std::string_view::npos)
      std::from_chars(line.data() + space + 1, line.data() + line.size(), response.status);
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || response.headers.size() >= kMaxHeaders) return;
  response.headers[lower_case(trimmed(line.substr(0, colon)))] = trimmed(line.substr(colon + 1));
}

size_t on_header(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.header_bytes += size * count;
  if (transfer.header_bytes > kMaxHeaderBytes) return 0;
  try {
    read_header({data, size * count}, transfer.response);
    return size * count;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

size_t on_body(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.response.status != 200 && transfer.response.status != 206) {
    transfer.discarded_bytes += size * count;
    transfer.enough = transfer.discarded_bytes > kMaxDiscardedBytes;
    return transfer.enough ? 0 : size * count;
  }
  try {
    (*transfer.sink)(transfer.response, {data, size * count});
    return size * count;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

// libcurl calls this at least once a second.
// NOLINTNEXTLINE(readability-function-size): the signature is libcurl's
int on_progress(void* user, curl_off_t /*total*/, curl_off_t now, curl_off_t /*up_total*/,
                curl_off_t /*up_now*/) {
  auto& transfer = *static_cast<Transfer*>(user);
  const Clock::time_point time = Clock::now();
  if (now != transfer.bytes) {
    transfer.bytes = now;
    transfer.last_byte = time;
  }
  transfer.stalled = time - transfer.last_byte > transfer.stall;
  return transfer.stalled ? 1 : 0;
}

TransferFault::Kind kind_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return TransferFault::Kind::kConnect;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return TransferFault::Kind::kTls;
    default:
      return TransferFault::Kind::kCut;
  }
}

struct FreeHeaders {
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeHeaders>;

HeaderList list_of(const std::vector<std::string>& headers) {
  curl_slist* list = nullptr;
  for (const std::string& header : headers) list = curl().slist_append(list, header.c_str());
  return HeaderList(list);
}

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

bool HttpResponse::is_redirect() const {
  const bool moved =
      status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  return moved && headers.contains("location");
}

struct HttpSession::State {
  std::string ca_file;
  CURL* handle = curl().easy_init();
  std::array<char, CURL_ERROR_SIZE> message = {};

  template <typename Value>
  void set(CURLoption option, Value value) {
    curl().easy_setopt(handle, option, value);
  }

  void prepare(const HttpRequest& request, const HeaderList& headers, Transfer& transfer) {
    curl().easy_reset(handle);  // keeps the connections
    message.fill('\0');
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_NOBODY, request.head ? 1L : 0L);
    if (request.direct) set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_ERRORBUFFER, message.data());
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(request.stall.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
    set(CURLOPT_LOW_SPEED_TIME, std::max<long>(kSlowSeconds, request.stall.count()));
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, &transfer);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &on_progress);
    set(CURLOPT_XFERINFODATA, &transfer);
    if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
  }
};

HttpSession::HttpSession(std::string ca_file) : state_(std::make_unique<State>()) {
  state_->ca_file = std::move(ca_file);
}
HttpSession::~HttpSession() { curl().easy_cleanup(state_->handle); }

HttpResult HttpSession::get(const HttpRequest& request, const BodySink& sink) {
  Transfer transfer;
  transfer.sink = &sink;
  transfer.response.url = request.url;
  transfer.stall = request.stall;
  const HeaderList headers = list_of(request.headers);
  state_->prepare(request, headers, transfer);
  const CURLcode code = curl().easy_perform(state_->handle);
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  HttpResult result;
  curl_off_t wait = 0;
  curl().easy_getinfo(state_->handle, CURLINFO_RETRY_AFTER, &wait);
  result.response = std::move(transfer.response);
  if (wait > 0) result.response.retry_after = std::chrono::seconds(wait);
  if (code == CURLE_OK || transfer.enough) return result;
  TransferFault& fault = result.fault.emplace();
  fault.kind = transfer.stalled ? TransferFault::Kind::kCut : kind_of(code);
  const std::string message = state_->message.data();
  fault.reason = transfer.stalled  ? fmt::format("no byte came for {} s", request.stall.count())
                 : message.empty() ? curl().easy_strerror(code)
                                   : message;
  return result;
}

}  // namespace encode::hub
