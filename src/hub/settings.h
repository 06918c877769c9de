// The settings of downloads. They are the settings of huggingface_hub.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace encode::hub {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // without a final slash
  std::string token;                                // "": none
  std::string cache;                                // the folder of models--org--name
  std::string ca_file;                              // certificates to trust; "": the system's
  bool offline = false;                             // no request is allowed
  std::chrono::seconds metadata_timeout{10};  // the longest time without a byte, for a small answer
  std::chrono::seconds download_timeout{10};  // the same, for a file
  // How often a request is repeated after a temporary failure. Progress resets the count.
  int64_t retries = 5;
};

// Reads the environment: HF_ENDPOINT, HF_TOKEN or the file HF_TOKEN_PATH or $HF_HOME/token,
// HF_HUB_DISABLE_IMPLICIT_TOKEN, HF_HUB_CACHE and the other variables of hub_cache_folders(),
// HF_HUB_OFFLINE or else TRANSFORMERS_OFFLINE, HF_HUB_ETAG_TIMEOUT, HF_HUB_DOWNLOAD_TIMEOUT,
// SSL_CERT_FILE. Throws Error kUsage "hub.setting" for a value that cannot be used; the message
// never has the token. Throws "hub.setting" with the exit code of the system error if the file of
// the token cannot be read. Not thread-safe while another thread changes the environment.
HubSettings hub_settings();

}  // namespace encode::hub
