// The keys of tokenizer_config.json that a class of tokenizers reads when it is made from the older
// files.
#pragma once

#include <string>

#include "base/json.h"

namespace encode {

// `config` must outlive it. Immutable.
class SlowClassOptions {
 public:
  SlowClassOptions(const Json& config, std::string where);

  // Returns `fallback` if the key is absent, and false if it is null, as in Python. Throws Error
  // (kConfig) "tokenizer.format" for a value that is not a boolean.
  bool flag(const std::string& key, bool fallback) const;
  // Returns the same, but `fallback` also if the key is null.
  bool flag_or_null(const std::string& key, bool fallback) const;
  bool is_null_or_absent(const std::string& key) const;
  std::string text(const std::string& key, const std::string& fallback) const;
  // Throws Error (kConfig) "tokenizer.unsupported" unless the key is absent, null or `value`.
  void require(const std::string& key, const Json& value) const;
  int64_t extra_ids() const;  // the key of T5, 100 by default
  const std::string& where() const { return where_; }

 private:
  const Json& config_;
  std::string where_;
  JsonFields fields_;
};

}  // namespace encode
