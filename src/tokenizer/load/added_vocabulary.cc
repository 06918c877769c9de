#include "tokenizer/load/added_vocabulary.h"

#include <algorithm>
#include <fmt/format.h>

#include "tokenizer/tokenizer_refusal.h"

namespace encode {

AddedVocabulary::Entry& AddedVocabulary::put(const AddedToken& token) {
  const auto [place, is_new] = index_.emplace(token.content, entries_.size());
  if (is_new) entries_.emplace_back();
  Entry& entry = entries_[place->second];
  entry.token = token;
  // Once a token is special, the text in which it is searched for no longer changes. Before that,
  // each addition of the token can add the other text.
  if (!entry.was_special) {
    entry.was_special = token.special;
    (token.normalized ? entry.in_normalized_text : entry.in_raw_text) = true;
  }
  return entry;
}

void AddedVocabulary::add_with_id(const AddedToken& token) { put(token); }

void AddedVocabulary::add(AddedToken token) {
  if (token.content.empty() || has_same(token)) return;
  const int32_t known = find(token.content);
  changed_ = true;
  token.id = known >= 0 ? known : next_id();
  put(token);
}

bool AddedVocabulary::has_same(const AddedToken& token) const {
  const auto found = index_.find(token.content);
  return found != index_.end() && same_token(entries_[found->second].token, token);
}

int32_t AddedVocabulary::find(const std::string& content) const {
  const auto found = index_.find(content);
  return found != index_.end() ? entries_[found->second].token.id : vocabulary_.find(content);
}

int32_t AddedVocabulary::next_id() const {
  auto next = static_cast<int32_t>(vocabulary_.size());
  for (const Entry& entry : entries_) next = std::max(next, entry.token.id + 1);
  return next;
}

namespace {

Json entry_json(const AddedToken& token, bool normalized) {
  return {{"id", token.id},          {"content", token.content}, {"single_word", token.single_word},
          {"lstrip", token.lstrip},  {"rstrip", token.rstrip},   {"normalized", normalized},
          {"special", token.special}};
}

}  // namespace

void AddedVocabulary::require_id(const std::string& content, const StatedId& stated) const {
  const int32_t actual = find(content);
  if (content.empty() || actual == stated.id) return;
  refuse_contradiction(
      {.what = fmt::format("the added token {} cannot have the id that is stated for it",
                           quoted_token(content)),
       .where = stated.where,
       .expected = fmt::format("id {}, which the vocabulary and the tokens before it give", actual),
       .found = fmt::format("id {} in {}", stated.id, stated.file),
       .hint = "save the tokenizer with save_pretrained() of the transformers version that the "
               "model was trained with"});
}

Json AddedVocabulary::to_json(const std::string& where) const {
  Json list = Json::array();
  for (const Entry& entry : entries_) {
    const AddedToken& token = entry.token;
    if (entry.in_raw_text && entry.in_normalized_text) {
      refuse_contradiction({.what = "the files state the token " + quoted_token(token.content) +
                                    " with different flags",
                            .where = where,
                            .expected = "\"normalized\": false everywhere, or true everywhere",
                            .found = "both",
                            .hint = "correct the flag of the token in one of the files"});
    }
    list.push_back(entry_json(token, entry.in_normalized_text));
  }
  return list;
}

Json AddedVocabulary::to_json_of_both_texts() const {
  Json list = Json::array();
  for (const Entry& entry : entries_) {
    if (entry.in_raw_text) list.push_back(entry_json(entry.token, false));
    if (entry.in_normalized_text) list.push_back(entry_json(entry.token, true));
  }
  return list;
}

}  // namespace encode
