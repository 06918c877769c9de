#include "tokenizer/passage_row.h"

#include <algorithm>
#include <iterator>

namespace encode {
namespace {

constexpr TokenizeOptions kOnlyText = {.max_length = 0, .add_special_tokens = false};

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

PassageRow::PassageRow(const PassageSettings& settings, const FramedText& text,
                       SentenceWindow& sentences)
    : settings_(settings),
      joined_(joinable(settings.tokenizer)),
      sentences_(sentences),
      before_(settings.prompt + std::string(text.before)),
      text_(text.text),
      after_(text.after) {}

int64_t PassageRow::count_unit(size_t begin, size_t end) {
  std::string_view unit = text_.substr(begin, end - begin);
  if (unit.ends_with(' ')) unit.remove_suffix(1);
  unit_.clear();
  append_text(unit, unit_);
  return std::ssize(unit_.ids);
}

int64_t PassageRow::count_sentence(Sentence& sentence) {
  const int64_t tokens = count_unit(sentence.begin, sentence.end);
  if (uses_sentences()) sentence.ids = unit_.ids;
  return tokens;
}

int64_t PassageRow::count_passage(size_t begin, size_t end, TokenizedRows& row) {
  row.clear();
  if (joined_ == nullptr) {
    settings_.tokenizer.encode(framed(before_, begin, end, after_),
                               {.max_length = settings_.rule.max_tokens,
                                .add_special_tokens = settings_.add_special_tokens},
                               row);
  } else {
    set_ids(begin, end);
    append_row(ids_.ids, joined_->row_form(),
               {.max_length = settings_.rule.max_tokens,
                .add_special_tokens = settings_.add_special_tokens},
               row);
  }
  return std::ssize(row.ids) + row.lost_tokens.front();
}

// Returns whether ids can be joined at the end of a cluster, because a space is before it.
bool PassageRow::is_after_space(size_t at) const {
  return uses_sentences() && (text_[at - 1] == ' ' || text_[at - 1] == '\n');
}

// Returns the last place in (begin, end] where ids can be joined, or `begin`. Both must be ends of
// clusters.
size_t PassageRow::last_join(size_t begin, size_t end) const {
  if (end > begin && is_after_space(end)) return end;
  const std::string_view part = text_.substr(begin, end - begin);
  if (part.size() < 3) return begin;
  for (size_t at = part.rfind(' ', part.size() - 2); at != std::string_view::npos && at > 0;
       at = part.rfind(' ', at - 1)) {
    if (is_ascii_letter(part[at - 1]) && is_ascii_letter(part[at + 1])) return begin + at;
  }
  return begin;
}

void PassageRow::set_ids(size_t begin, size_t end) {
  const size_t common = begin == begin_ ? std::min(end, end_) : begin;
  const size_t join = last_join(begin, common);
  if (join == begin) {
    ids_.clear();
    append_part(before_, begin, end, ids_);
  } else {
    tail_.clear();
    append_part("", join, end_, tail_);
    ids_.ids.resize(ids_.ids.size() - tail_.ids.size());
    append_part("", join, end, ids_);
  }
  begin_ = begin;
  end_ = end;
}

// Appends the ids of `before`, the bytes [begin, end) of the text, and the text after a passage.
void PassageRow::append_part(std::string_view before, size_t begin, size_t end,
                             TokenizedRows& ids) {
  size_t from = begin;  // the ids of the bytes before are appended
  size_t i = uses_sentences() && end > begin ? sentences_.index_of(begin) : 0;
  for (size_t at = begin; uses_sentences() && at < end; ++i) {
    const Sentence& sentence = *sentences_.at(i);
    const bool whole = sentence.begin == at && sentence.end <= end && !sentence.ids.empty();
    const bool begins = at == begin ? before.empty() : is_after_space(at);
    const bool ends = sentence.end == end ? after_.empty() : is_after_space(sentence.end);
    at = sentence.end;
    if (!whole || !begins || !ends) continue;
    if (from < sentence.begin) append_text(framed(before, from, sentence.begin, ""), ids);
    ids.ids.insert(ids.ids.end(), sentence.ids.begin(), sentence.ids.end());
    before = "";
    from = sentence.end;
  }
  if (from < end || !before.empty() || !after_.empty())
    append_text(framed(before, from, end, after_), ids);
}

void PassageRow::append_text(std::string_view text, TokenizedRows& ids) const {
  settings_.tokenizer.encode(text, kOnlyText, ids);
}

std::string_view PassageRow::framed(std::string_view before, size_t begin, size_t end,
                                    std::string_view after) {
  const std::string_view part = text_.substr(begin, end - begin);
  if (before.empty() && after.empty()) return part;
  framed_.assign(before).append(part).append(after);
  return framed_;
}

}  // namespace encode
