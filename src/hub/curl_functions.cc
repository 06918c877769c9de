#include "hub/curl_functions.h"

#include <array>
#include <dlfcn.h>
#include <fmt/format.h>
#include <string>

#include "encode/error.h"

#include "base/units.h"

namespace encode::hub {
namespace {

// Debian has the library twice, with OpenSSL and with GnuTLS. Either one will do.
constexpr std::array<const char*, 2> kLibraries = {"libcurl.so.4", "libcurl-gnutls.so.4"};
constexpr unsigned kOldest = 0x075500;  // 7.85.0 has CURLOPT_PROTOCOLS_STR

Error no_library(std::string found) {
  return Error({.code = "hub.library",
                .what = "libcurl cannot be used, and downloads need it",
                .where = kLibraries[0],
                .expected = "libcurl 7.85 or later",
                .found = std::move(found),
                .hint = "install it (Debian: apt-get install libcurl4), or download the model with "
                        "another program: hf download ORG/NAME"});
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) throw no_library(fmt::format("a library without {}", name));
}

CurlFunctions functions_of(void* library) {
  decltype(&curl_version_info) version_info = nullptr;
  find(library, "curl_version_info", version_info);
  const curl_version_info_data* version = version_info(CURLVERSION_NOW);
  if (version->version_num < kOldest)
    throw no_library(fmt::format("libcurl {}", preview(version->version)));
  CurlFunctions f;
  find(library, "curl_global_init", f.global_init);
  find(library, "curl_easy_init", f.easy_init);
  find(library, "curl_easy_cleanup", f.easy_cleanup);
  find(library, "curl_easy_reset", f.easy_reset);
  find(library, "curl_easy_setopt", f.easy_setopt);
  find(library, "curl_easy_perform", f.easy_perform);
  find(library, "curl_easy_getinfo", f.easy_getinfo);
  find(library, "curl_easy_strerror", f.easy_strerror);
  find(library, "curl_easy_escape", f.easy_escape);
  find(library, "curl_slist_append", f.slist_append);
  find(library, "curl_slist_free_all", f.slist_free_all);
  find(library, "curl_url", f.url);
  find(library, "curl_url_cleanup", f.url_cleanup);
  find(library, "curl_url_set", f.url_set);
  find(library, "curl_url_get", f.url_get);
  find(library, "curl_free", f.free);
  if (f.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    throw no_library("a library that does not start");
  return f;
}

CurlFunctions open_library() {
  std::string reason;
  for (const char* name : kLibraries) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return functions_of(library);
    if (reason.empty()) reason = ::dlerror();
  }
  throw no_library(reason);
}

}  // namespace

const CurlFunctions& curl() {
  static const CurlFunctions functions = open_library();
  return functions;
}

}  // namespace encode::hub
