#include "tokenizer/pipeline.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/utf8.h"
#include "tokenizer/aligned_encoder.h"
#include "tokenizer/scratch_pool.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

// The pipeline counts bytes with 32 bits.
static_assert(RewriteBudget::kMaxTextBytes <= UINT32_MAX);
// The memory that each buffer of a scratch keeps after a long row.
constexpr size_t kKeptBytes = size_t{1} << 20;

// A buffer of ids. Unlike std::vector, it does not initialize the ids that a caller will write.
class IdBuffer {
 public:
  void clear() { size_ = 0; }
  void push(int32_t id) {
    *reserve(1) = id;
    ++size_;
  }
  int32_t* reserve(size_t more) {
    if (size_ + more > capacity_) grow(size_ + more);
    return ids_.get() + size_;
  }
  void set_end(const int32_t* end) { size_ = static_cast<size_t>(end - ids_.get()); }
  std::span<const int32_t> view() const { return {ids_.get(), size_}; }
  void shrink(size_t max_bytes) {
    if (capacity_ * sizeof(int32_t) <= max_bytes) return;
    ids_.reset();
    capacity_ = 0;
    size_ = 0;
  }

 private:
  void grow(size_t capacity) {
    capacity = std::max(capacity, capacity_ * 2);
    std::unique_ptr<int32_t[]> larger(new int32_t[capacity]);
    std::copy_n(ids_.get(), size_, larger.get());
    ids_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<int32_t[]> ids_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

bool are_zero(const std::vector<int32_t>& types) {
  return std::ranges::all_of(types, [](int32_t type) { return type == 0; });
}

class Pipeline final : public JoinableTokenizer {
 public:
  explicit Pipeline(PipelineParts parts) : parts_(std::move(parts)) {}

  void encode(std::string_view utf8, const TokenizeOptions& options,
              TokenizedRows& rows) const override {
    std::string repaired;
    utf8 = check_text(utf8, kMaxTextBytes, repaired);
    const auto scratch = borrow();
    scratch->budget.start(utf8.size());
    encode_text(utf8, *scratch);
    append_row(scratch->ids.view(), parts_.row_form, options, rows);
    if (utf8.size() > kKeptBytes / sizeof(int32_t)) scratch->shrink();
  }

  void encode_with_offsets(std::string_view utf8, const TokenizeOptions& options,
                           TokenizedRows& rows, std::vector<TokenOffset>& offsets) const override {
    std::string repaired;
    utf8 = check_text(utf8, kMaxAlignedBytes, repaired);
    const auto scratch = borrow();
    scratch->budget.start(utf8.size());
    encode_text(utf8, *scratch);  // first, because encode_aligned() does not limit its work
    const std::vector<AlignedToken> tokens = encode_aligned(utf8, parts_, *scratch->model);
    // Refuses the text if the two passes give different tokens, because the offsets would be wrong.
    if (!std::ranges::equal(scratch->ids.view(), tokens, {}, {}, &AlignedToken::id))
      refuse_offsets();
    append_row(scratch->ids.view(), parts_.row_form, options, rows);
    append_offsets({.tokens = tokens,
                    .size = rows.row(rows.size() - 1).size(),
                    .has_special_tokens = options.add_special_tokens},
                   parts_.row_form, offsets);
    if (utf8.size() > kKeptBytes / sizeof(int32_t)) scratch->shrink();
  }

  JoinPlaces joins() const override { return parts_.joins; }
  const RowForm& row_form() const override { return parts_.row_form; }
  int64_t vocab_size() const override { return static_cast<int64_t>(parts_.tokens.size()); }
  std::string description() const override { return parts_.description; }
  RowTypeIds type_ids() const override { return parts_.row_form.special.types; }
  std::string token(int32_t id) const override {
    const bool exists = id >= 0 && static_cast<size_t>(id) < parts_.tokens.size();
    return exists ? std::string(parts_.tokens[static_cast<size_t>(id)]) : std::string();
  }
  bool is_special(int32_t id) const override {
    return parts_.row_form.has_special(id) || parts_.raw_tokens.has_special(id) ||
           parts_.normalized_tokens.has_special(id);
  }

 private:
  struct Scratch {
    explicit Scratch(std::unique_ptr<TokenizerModel::Scratch> model_scratch)
        : model(std::move(model_scratch)) {}
    void shrink() {
      normalized.shrink(kKeptBytes);
      pre_tokenized.shrink(kKeptBytes);
      ids.shrink(kKeptBytes);
      model->shrink(kKeptBytes);
    }

    std::vector<AddedTokenFinder::Section> raw, sections;
    RewriteBudget budget;
    TextBuffer normalized;
    PreTokenizedText pre_tokenized;
    IdBuffer ids;
    std::unique_ptr<TokenizerModel::Scratch> model;
  };

  ScratchPool<Scratch>::Lease borrow() const {
    return pool_.borrow([this] { return std::make_unique<Scratch>(parts_.model->make_scratch()); });
  }

  void encode_text(std::string_view utf8, Scratch& scratch) const {
    scratch.ids.clear();
    scratch.raw.clear();
    parts_.raw_tokens.split(utf8, scratch.raw);
    for (const auto& section : scratch.raw) {
      if (section.id >= 0) {
        scratch.ids.push(section.id);
      } else {
        encode_raw(section.text, section.text.data() == utf8.data(), scratch);
      }
    }
  }

  void encode_raw(std::string_view text, bool at_origin, Scratch& scratch) const {
    scratch.normalized.reset(text, at_origin, &scratch.budget);
    if (parts_.normalizer != nullptr) parts_.normalizer->normalize(scratch.normalized);
    const std::string_view normalized = scratch.normalized.view();
    scratch.sections.clear();
    parts_.normalized_tokens.split(normalized, scratch.sections);
    for (const auto& section : scratch.sections) {
      if (section.id >= 0) {
        scratch.ids.push(section.id);
      } else {
        const bool first = section.text.data() == normalized.data();
        encode_normalized(section.text, first && scratch.normalized.at_origin(), scratch);
      }
    }
  }

  void encode_normalized(std::string_view text, bool at_origin, Scratch& scratch) const {
    PreTokenizedText& pre_tokenized = scratch.pre_tokenized;
    pre_tokenized.text.reset(text, at_origin, &scratch.budget);
    pre_tokenized.start();
    if (parts_.pre_tokenizer != nullptr) parts_.pre_tokenizer->pre_tokenize(pre_tokenized);
    const std::string_view view = pre_tokenized.text.view();
    int32_t* out = scratch.ids.reserve(view.size() + TokenizerModel::kSlackIds);
    scratch.ids.set_end(parts_.model->tokenize(view, pre_tokenized.pieces, *scratch.model, out));
  }

  [[noreturn]] static void refuse_offsets() {
    throw Error({.code = "tokenizer.offsets",
                 .what = "the offsets of a text cannot be determined",
                 .where = std::string(kUnnamedRow),
                 .expected = "the offsets of the row's tokens",
                 .found = "the offsets of other tokens",
                 .hint = "run without --offsets; the ids are not affected"});
  }

  PipelineParts parts_;
  mutable ScratchPool<Scratch> pool_;
};

}  // namespace

std::string_view check_text(std::string_view utf8, size_t max_bytes, std::string& repaired) {
  if (utf8.size() > max_bytes) {
    throw Error(
        {.code = "tokenizer.too_long",
         .what = "a text is too long to be tokenized",
         .where = std::string(kUnnamedRow),
         .expected = fmt::format("at most {} bytes", max_bytes),
         .found = fmt::format("{} bytes", utf8.size()),
         .hint =
             "split the row; or leave such rows out with --bad-row reject and a smaller limit, as "
             "in --set input.max_row_bytes=65536"});
  }
  // Checks for ASCII first, because this is faster and most rows are ASCII.
  if (unicode::ascii_prefix(utf8) == utf8.size() || is_valid_utf8(utf8)) return utf8;
  append_repaired_utf8(utf8, repaired);
  return repaired;
}

bool RowForm::has_special(int32_t id) const {
  return std::ranges::find(special.prefix, id) != special.prefix.end() ||
         std::ranges::find(special.suffix, id) != special.suffix.end();
}

void append_row(std::span<const int32_t> ids, const RowForm& form, const TokenizeOptions& options,
                TokenizedRows& rows) {
  const SpecialTokens& special = form.special;
  const std::span<const int32_t> none;
  const std::span<const int32_t> prefix = options.add_special_tokens ? special.prefix : none;
  const std::span<const int32_t> suffix = options.add_special_tokens ? special.suffix : none;
  const size_t all = prefix.size() + ids.size() + suffix.size();
  const size_t room = options.max_length > 0 ? static_cast<size_t>(options.max_length) : all;
  const size_t special_size = prefix.size() + suffix.size();
  const size_t kept = all <= room ? ids.size() : room - std::min(room, special_size);
  const size_t row_begin = rows.ids.size();
  rows.ids.insert(rows.ids.end(), prefix.begin(), prefix.end());
  const auto kept_ids = form.truncation == TruncationSide::kLeft ? ids.last(kept) : ids.first(kept);
  rows.ids.insert(rows.ids.end(), kept_ids.begin(), kept_ids.end());
  rows.ids.insert(rows.ids.end(), suffix.begin(), suffix.end());
  // If max_length is smaller than the number of special tokens, some of these are cut off too.
  if (rows.ids.size() - row_begin > room) rows.ids.resize(row_begin + room);
  rows.end_row(static_cast<int64_t>(all - (rows.ids.size() - row_begin)));
}

Error naming_row(const Error& error, const std::string& place) {
  ErrorDetail detail = error.detail();
  if (detail.where == kUnnamedRow) detail.where = place;
  return Error(std::move(detail));
}

std::unique_ptr<Tokenizer> make_pipeline(PipelineParts parts) {
  return std::make_unique<Pipeline>(std::move(parts));
}

const JoinableTokenizer* joinable(const Tokenizer& tokenizer) {
  const auto* found = dynamic_cast<const JoinableTokenizer*>(&tokenizer);
  return found != nullptr && found->joins() != JoinPlaces::kNone ? found : nullptr;
}

bool RowTypeIds::all_zero() const { return text == 0 && are_zero(before) && are_zero(after); }

void fill_type_ids(const RowTypeIds& types, bool has_special_tokens, std::span<int32_t> row) {
  std::ranges::fill(row, types.text);
  if (!has_special_tokens) return;
  // A row that is shorter than its special tokens has the first of them, and no text.
  const size_t before = std::min(types.before.size(), row.size());
  std::copy_n(types.before.begin(), before, row.begin());
  const size_t after = std::min(types.after.size(), row.size() - before);
  std::copy_n(types.after.begin(), after, row.end() - static_cast<std::ptrdiff_t>(after));
}

void TokenizedRows::append(const TokenizedRows& other) {
  const int64_t base = std::ssize(ids);
  ids.insert(ids.end(), other.ids.begin(), other.ids.end());
  for (size_t i = 1; i < other.offsets.size(); ++i) offsets.push_back(base + other.offsets[i]);
  lost_tokens.insert(lost_tokens.end(), other.lost_tokens.begin(), other.lost_tokens.end());
}

void TokenizedRows::clear() {
  ids.clear();
  offsets.assign(1, 0);
  lost_tokens.clear();
}

}  // namespace encode
