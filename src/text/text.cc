#include "encode/text.h"

#include <memory>

#include "text/row_reader.h"
#include "text/scanned_reader.h"

namespace encode {

std::unique_ptr<TextReader> open_texts(const InputOptions& options) {
  return std::make_unique<RowReader>(options, RowReader::Purpose::kRead);
}

std::unique_ptr<ScannedTexts> open_scanned_texts(const InputOptions& options,
                                                 const InputScan& scan) {
  return std::make_unique<ScannedReader>(options, scan);
}

InputScan scan_texts(const InputOptions& options,
                     const std::function<void(const RejectedRow&)>& on_rejected) {
  return RowReader(options, RowReader::Purpose::kScan).scan(on_rejected);
}

}  // namespace encode
