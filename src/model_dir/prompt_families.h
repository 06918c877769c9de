// The prompts that well-known models were trained with. Many repositories name them only in their
// model card. encode never adds one of them; it only warns that a run uses none. The functions
// throw no Error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "encode/model_directory.h"

namespace encode {

struct PromptFamily {
  std::string_view name;
  std::span<const std::string_view> repositories;  // hub ids
  std::string_view query;     // the prompt before a query, with the usual task in it
  std::string_view document;  // the prompt before a text that is searched; "" if there is none
  std::string_view others;    // prompts for other tasks, separated by commas, or ""
  std::string_view source;    // where the prompts stand
};

// Returns all families. They live as long as the process, and any thread may read them.
// docs/howto/prompts.md shows the same table. Only tests call this function.
std::span<const PromptFamily> prompt_families();

// Returns a prompt of the table with its line ends as "\n".
std::string one_line(std::string_view prompt);

struct KnownPrompts {
  const PromptFamily* family;
  std::string_view repository;  // the one that the directory names
  std::string place;            // where the directory names it
};

// Returns the family that lists the repository which the directory names: as the hub id of the
// Hugging Face cache, as the name of the directory ("e5-base-v2" or "intfloat--e5-base-v2"), or as
// _name_or_path of config.json. Names are compared as a whole, without regard to case.
std::optional<KnownPrompts> find_prompt_family(const ModelDirectory& directory);

// Returns a sentence that says which prompt every row gets, and who chose it.
std::string describe_prompt(const ModelDirectory& directory, const ResultOptions& options);

// Returns a sentence about the prompts of the model if nobody has chosen a prompt, not even an
// empty one, and the model is of a known family. Otherwise nullopt.
std::optional<std::string> prompt_advice(const ModelDirectory& directory,
                                         const ResultOptions& options);

}  // namespace encode
