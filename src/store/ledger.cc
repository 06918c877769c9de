#include "store/ledger.h"

#include <fmt/format.h>

#include "store/sealed_file.h"
#include "store/set_aside.h"

namespace encode {
namespace {

std::string line_of(const TruncatedRow& row) {
  return fmt::format("{{\"row\":{},\"tokens\":{},\"lost_tokens\":{}}}\n", row.row, row.tokens,
                     row.lost_tokens);
}

}  // namespace

void LedgerWriter::append(std::span<const TruncatedRow> rows) {
  std::string text;
  for (const TruncatedRow& row : rows) text += line_of(row);
  if (!text.empty()) write(text);
}

void LedgerWriter::append(std::span<const SetAsideRow> rows) {
  for (const SetAsideRow& row : rows) write(ledger_line(row));
}

void LedgerWriter::append_file(const std::string& path, const FileSeal& seal) {
  read_sealed_file(path, seal, [this](std::string_view block) { write(block); });
}

FileSeal LedgerWriter::publish() {
  file_.value().commit();
  return seal();
}

FileSeal LedgerWriter::sync() {
  file_.value().sync();
  return seal();
}

FileSeal LedgerWriter::seal() const {
  return {.file_bytes = file_.value().bytes_written(), .xxh3_128 = hash_.hex()};
}

void LedgerWriter::write(std::string_view text) {
  if (!file_) file_.emplace(path_, 0);
  file_->write(text.data(), text.size());
  hash_.update(text.data(), text.size());
}

}  // namespace encode
