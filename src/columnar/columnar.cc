#include "columnar/columnar.h"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <system_error>

#include "encode/error.h"

#include "base/environment.h"
#include "columnar/arrow_plugin.h"

namespace encode {
namespace {

// Opens the plugin. Adds the reason to `reasons` if it cannot. The library is never closed, because
// Arrow keeps threads and tables until the process ends.
const ArrowPlugin* open_at(const std::string& path, std::string& reasons) {
  if (!reasons.empty()) reasons += "; ";
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    reasons += ::dlerror();
    return nullptr;
  }
  const auto entry = reinterpret_cast<ArrowPluginEntry>(::dlsym(handle, kArrowPluginEntry));
  const ArrowPlugin* const plugin = entry != nullptr ? entry() : nullptr;
  if (plugin != nullptr && plugin->version == ArrowPlugin::kVersion) return plugin;
  reasons += path + " is a plugin of another version of encode";
  return nullptr;
}

// Opens the libraries of Arrow C++ in the folder that ARROW_ROOT names, if it is set. The loader
// then uses them for the plugin. Adds the reason to `reasons` if it cannot open them.
void open_arrow_root(std::string& reasons) {
  const std::string root = environment_variable("ARROW_ROOT");
  if (root.empty()) return;
  for (const char* name : {"libarrow.so.", "libparquet.so."}) {  // libparquet needs libarrow
    std::string path;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(root, failure)) {
      if (entry.path().filename().string().starts_with(name)) path = entry.path().string();
    }
    if (!path.empty() && ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) continue;
    if (!reasons.empty()) reasons += "; ";
    reasons += path.empty() ? fmt::format("no {}* in ARROW_ROOT={}", name, root) : ::dlerror();
  }
}

const ArrowPlugin& plugin(const std::string& path) {
  static std::mutex mutex;
  static const ArrowPlugin* opened = nullptr;
  const std::scoped_lock lock(mutex);
  std::string reasons;
  if (opened != nullptr) return *opened;
  open_arrow_root(reasons);
  for (const std::string& place : plugin_places("libencode_arrow.so")) {
    opened = open_at(place, reasons);
    if (opened != nullptr) return *opened;
  }
  throw Error(
      {.code = "arrow.plugin",
       .what = "Parquet and Arrow files need the plugin for Arrow",
       .where = path,
       .expected = "libencode_arrow.so beside the program, and Arrow C++ (libarrow.so and "
                   "libparquet.so) of the version for which it was built",
       .found = std::move(reasons),
       .hint = "install pyarrow and set ARROW_ROOT to its folder (docs/install.md); in a clone, "
               "run scripts/setup.sh and scripts/build.sh; or use JSONL and .npy instead"});
}

}  // namespace

std::unique_ptr<ColumnReader> open_column(ByteFile& file, const ColumnRequest& request) {
  return plugin(request.path).open_column(file, request);
}

void require_columnar(const std::string& path) { plugin(path); }

std::unique_ptr<TableWriter> open_table_writer(ByteSink& sink, const TableSchema& schema) {
  return plugin(schema.path).open_table_writer(sink, schema);
}

std::unique_ptr<VectorReader> open_vectors(ByteFile& file, bool parquet, const std::string& path) {
  return plugin(path).open_vectors(file, parquet, path);
}

}  // namespace encode
