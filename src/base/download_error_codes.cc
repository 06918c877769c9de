#include "base/download_error_codes.h"

namespace encode {

std::vector<ErrorCodes> download_error_codes() {
  return {
      {{"hub.answer"},
       "69",
       "`encode pull`: the server does not answer as a Hugging Face Hub does"},
      {{"hub.busy", "hub.cut"},
       "75",
       "`encode pull`: the server is busy, or a transfer was cut off or came to a stop, more often "
       "than `--retries` allows; the next call goes on where this one stopped"},
      {{"hub.cache"},
       "74 (77, 66, 71)",
       "`encode pull`: a file or a lock of the Hugging Face cache cannot be used"},
      {{"hub.changed"}, "75", "`encode pull`: the model changed on the server in the meantime"},
      {{"hub.connect", "hub.tls"},
       "69",
       "`encode pull`: the server cannot be reached, or its certificate cannot be trusted"},
      {{"hub.disk"}, "74", "`encode pull`: the model does not fit on the disk"},
      {{"hub.file", "hub.model", "hub.revision"},
       "66",
       "`encode pull`: the server has no such model, revision or file, or hides the model from "
       "this "
       "account"},
      {{"hub.forbidden", "hub.gated"},
       "77",
       "`encode pull`: the account may not read the model, or must accept its conditions first"},
      {{"hub.hash", "hub.size"},
       "65",
       "`encode pull`: the server sends something else than the file that it announces; nothing of "
       "it is kept"},
      {{"hub.library"}, "69", "`encode pull`: there is no libcurl on this machine"},
      {{"hub.limit", "hub.path"},
       "65",
       "`encode pull`: the server's list of files is too long, or has a path that leads out of the "
       "model"},
      {{"hub.name"}, "64", "`encode pull`: the argument is not ORG/NAME or ORG/NAME@REVISION"},
      {{"hub.offline"}, "69", "`encode pull`: HF_HUB_OFFLINE forbids the use of the network"},
      {{"hub.setting"},
       "64 (66, 77, 74)",
       "`encode pull`: a variable such as HF_ENDPOINT or HF_TOKEN has a value that cannot be used"},
  };
}

}  // namespace encode
