// Finds the Python code that the files of a model directory name. Any thread may call this
// function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encode/model_directory.h"

#include "model_dir/model_folder.h"

namespace encode {

// The code of a directory for which encode has recipes.
struct CodeRecipes {
  std::vector<AppliedRecipe> applied;
  std::optional<bool> causal;  // as ModelDirectory::recipe_causal
  TokenizerRecipe tokenizer = TokenizerRecipe::kNone;
  bool pools_after_prompt = false;       // as CodeRecipe::pools_after_prompt
  std::vector<std::string> unused_keys;  // keys of config.json, as CodeRecipe::unused_key
  std::vector<std::string> warnings;     // one sentence for each piece of code that is ignored
};

// Reads what config.json and tokenizer_config.json say in "auto_map", and the types in
// modules.json. transformers runs the code of AutoConfig, AutoModel and AutoTokenizer with
// trust_remote_code=True, and sentence-transformers the code of a module. Only these files decide:
// this function does not look for the .py files. With kIgnore no recipe applies. Throws Error
// kConfig:
// - "model.custom_code" if there is no recipe for a class, and `policy` is kRefuse,
// - "model.config" and "model.tokenizer_config" if an auto_map is malformed,
// and what ModelFolder and read_module_entries() throw.
CodeRecipes find_custom_code(const ModelFolder& root, CustomCodePolicy policy);

}  // namespace encode
