#include "store/final_file.h"

#include "base/output_types.h"
#include "store/matrix_file.h"
#include "store/table_file.h"

namespace encode {

std::unique_ptr<FinalFile> begin_final_file(const std::string& path, const Manifest& manifest,
                                            const FinalColumns& columns) {
  if (manifest.file == MatrixFormat::kNpy) {
    return std::make_unique<NpyWriter>(path,
                                       MatrixShape{.rows = {.begin = 0, .end = manifest.vectors()},
                                                   .columns = manifest.columns,
                                                   .item = facts_of(manifest.type).item});
  }
  return std::make_unique<TableFile>(path, manifest, columns);
}

}  // namespace encode
