// The Python code of published repositories that encode knows. What the code does, encode does
// itself; the code never runs.
#pragma once

#include <string_view>

#include "encode/tokenizer_file.h"

namespace encode {

// Which entry of "auto_map" names the code.
enum class CodeRole { kConfig, kModel, kTokenizer };

// A class that a repository brings along, and what encode does in its place.
struct CodeRecipe {
  CodeRole role;
  std::string_view file;        // without ".py"
  std::string_view class_name;  // checked together with `file`, which may be a common name
  // The model_type of config.json; "" for a tokenizer, which may belong to any model. The recipe
  // applies only if encode has the architecture.
  std::string_view model_type = {};
  std::string_view name = {};  // the recipe's name in the log, the manifest and the fingerprint
  // True: a token sees the whole text where config.json has no is_causal.
  bool bidirectional = false;
  // True: without modules.json a vector is the mean of the tokens after the prompt, scaled to
  // length 1.
  bool pools_after_prompt = false;
  // A key of config.json that the code ignores, so encode treats it as null. "": none.
  std::string_view unused_key = {};
  TokenizerRecipe tokenizer = TokenizerRecipe::kNone;
  std::string_view source = {};  // where the code is published
};

// Returns the row of a class, or null if encode does not know the class. `reference` is a value of
// auto_map: "file.Class", or "org/name--file.Class" for the code of another repository.
const CodeRecipe* find_code_recipe(CodeRole role, std::string_view reference,
                                   std::string_view model_type);

}  // namespace encode
