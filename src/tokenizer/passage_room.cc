#include "tokenizer/passage_room.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "encode/error.h"

#include "base/text_template.h"

namespace encode {
namespace {

// Returns the tokens of the prompt, these texts and the special tokens.
int64_t tokens_around(const PassageSettings& settings, std::string_view before,
                      std::string_view after) {
  TokenizedRows row;
  std::string text = settings.prompt;
  text.append(before).append(after);
  settings.tokenizer.encode(text, {.add_special_tokens = settings.add_special_tokens}, row);
  return std::ssize(row.ids) + row.lost_tokens.front();
}

}  // namespace

FrameText literal_frame(const InputOptions& input) {
  if (input.passage_field.empty()) return {};
  const TextTemplate text(input.text_template);
  const std::vector<std::string_view> nothing(text.fields().size());
  const auto field = std::find(text.fields().begin(), text.fields().end(), input.passage_field);
  FrameText frame;
  text.render(nothing, std::string::npos, frame.before);
  const size_t begin = text.begin_of(static_cast<size_t>(field - text.fields().begin()), nothing);
  frame.after = frame.before.substr(begin);
  frame.before.resize(begin);
  return frame;
}

int64_t passage_room(const PassageSettings& settings, const std::string& where) {
  const auto& [before, after] = settings.frame;
  const PassageRule& rule = settings.rule;
  if (rule.late()) {
    if (rule.max_tokens > rule.overlap) return rule.max_tokens;
    throw Error({.code = "model.max_length",
                 .what = "max_tokens has no room for the text of a passage",
                 .where = where,
                 .expected = fmt::format("a max_tokens above the overlap of {}", rule.overlap),
                 .found = fmt::to_string(rule.max_tokens),
                 .hint = "give a larger max_tokens or a smaller overlap"});
  }
  const int64_t around = tokens_around(settings, before, after);
  if (rule.max_tokens - around > rule.overlap)
    return rule.max_tokens - tokens_around(settings, "", "");
  const bool framed = !before.empty() || !after.empty();
  throw Error({.code = "model.max_length",
               .what = "max_tokens has no room for the text of a passage",
               .where = where,
               .expected = fmt::format(
                   "a max_tokens above {}, which are the {} of the prompt{} and "
                   "the special tokens, and the overlap of {}",
                   around + rule.overlap, around, framed ? ", the template" : "", rule.overlap),
               .found = fmt::to_string(rule.max_tokens),
               .hint = fmt::format("give a larger max_tokens, a smaller overlap or a shorter {}",
                                   framed ? "prompt or template" : "prompt")});
}

int64_t passage_room(const PassageSettings& settings, const FramedText& text) {
  const PassageRule& rule = settings.rule;
  const int64_t around = tokens_around(settings, text.before, text.after);
  if (rule.max_tokens - around > rule.overlap) return rule.max_tokens - around;
  throw Error({.code = kNoPassageRoom,
               .what = "what stands around a passage leaves no room for its text",
               .where = std::string(kUnnamedRow),
               .expected = fmt::format("fewer than {} tokens of the prompt, the other fields of "
                                       "the template and the special tokens",
                                       rule.max_tokens - rule.overlap),
               .found = fmt::to_string(around),
               .hint = "raise --passage-tokens (semantic.passages.max_tokens), or shorten the "
                       "other fields"});
}

}  // namespace encode
