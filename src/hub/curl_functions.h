// The functions of libcurl that encode calls. The library is opened only when a model is
// downloaded: its 30 dependencies would make every start of encode slower, and a program that does
// not use the network should not load network code.
#pragma once

#include <curl/curl.h>

namespace encode::hub {

struct CurlFunctions {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_easy_escape) easy_escape = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  decltype(&curl_url) url = nullptr;
  decltype(&curl_url_cleanup) url_cleanup = nullptr;
  decltype(&curl_url_set) url_set = nullptr;
  decltype(&curl_url_get) url_get = nullptr;
  decltype(&curl_free) free = nullptr;
};

// Opens the library on the first call; it stays open until the process ends. Throws Error
// kUnavailable "hub.library" if there is no libcurl of version 7.85 or later. Any number of threads
// may call it.
const CurlFunctions& curl();

}  // namespace encode::hub
