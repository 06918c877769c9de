#include "job/product_book.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <thread>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/json.h"
#include "base/system_call.h"
#include "base/units.h"
#include "store/run_files.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr const char* kCode = "products.file";
constexpr int64_t kMaxBytes = 16 << 20;
constexpr int64_t kFormat = 1;
constexpr int64_t kMaxCount = 1'000'000;
constexpr double kMaxMilliseconds = 1e9;

bool is_of(const Json& device, const ProductRequest& request, const std::string& where) {
  const JsonFields fields(device, where, kCode);
  return fields.string("device") == request.device.name &&
         fields.string("driver") == request.device.driver &&
         fields.string("libtorch") == request.device.libtorch &&
         fields.integer("cublaslt", 0, INT64_MAX / 2) == request.cublaslt;
}

Json to_json(const ProductFinding& finding) {
  return {{"algorithm", finding.algorithm ? Json(to_hex(*finding.algorithm)) : Json()},
          {"milliseconds", finding.milliseconds},
          {"first_milliseconds", finding.first_milliseconds},
          {"suggestions", finding.suggestions},
          {"failed", finding.failed},
          {"wrong", finding.wrong},
          {"unequal_rows", finding.unequal_rows}};
}

ProductFinding finding_of(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kCode);
  const auto count = [&fields](const char* key) { return fields.integer(key, 0, kMaxCount); };
  ProductFinding finding = {
      .algorithm = {},
      .milliseconds = fields.number("milliseconds", 0, kMaxMilliseconds),
      .first_milliseconds = fields.number("first_milliseconds", 0, kMaxMilliseconds),
      .suggestions = count("suggestions"),
      .failed = count("failed"),
      .wrong = count("wrong"),
      .unequal_rows = count("unequal_rows")};
  if (!fields.has("algorithm")) return finding;
  const std::string hex = fields.string("algorithm");
  finding.algorithm = algorithm_from_hex(hex);
  if (!finding.algorithm) fields.refuse("algorithm", "128 hexadecimal digits", preview(hex));
  return finding;
}

// Returns the list "devices" of the file, or nullopt if there is no file.
std::optional<Json> read_devices(const std::string& path) {
  if (!entry_exists(path, kCode)) return std::nullopt;
  std::string text = read_file(path, kMaxBytes, kCode);
  if (text.ends_with('\n')) text.pop_back();
  const Json document = unseal(text, path);
  const JsonFields fields(document, path, kCode);
  fields.integer("format", kFormat, kFormat);
  return fields.array("devices");
}

// The algorithms of one kind of device and one version of the libraries, among those of others.
class Entries {
 public:
  Entries(const std::optional<Json>& devices, const ProductRequest& request,
          const std::string& where)
      : devices_(devices.value_or(Json::array())), where_(where) {
    for (own_ = 0; own_ < devices_.size(); ++own_) {
      if (is_of(devices_[own_], request, where)) return;
    }
    devices_.push_back({{"device", request.device.name},
                        {"driver", request.device.driver},
                        {"libtorch", request.device.libtorch},
                        {"cublaslt", request.cublaslt},
                        {"products", Json::object()}});
  }

  // Returns nullopt if the product was never searched.
  std::optional<ProductFinding> find(const ProductShape& shape) const {
    const JsonFields fields(devices_[own_], where_, kCode);
    const Json& products = fields.object("products");
    const auto found = products.find(to_string(shape));
    if (found == products.end()) return std::nullopt;
    return finding_of(*found, where_);
  }
  void add(const ProductShape& shape, const ProductFinding& finding) {
    devices_[own_]["products"][to_string(shape)] = to_json(finding);
  }
  std::string text() const {
    return seal({{"format", kFormat}, {"devices", devices_}}, /*indent=*/1) + "\n";
  }

 private:
  Json devices_;
  std::string where_;
  size_t own_ = 0;
};

// Reads the whole file. Fields that are missing or wrong throw here and not later.
Entries read_entries(const std::string& path, const ProductRequest& request) {
  Entries entries(read_devices(path), request, path);
  for (const ProductShape& shape : request.shapes) entries.find(shape);
  return entries;
}

// A file that cannot be used is an Error of kData or kConfig. Every other error is one of the file
// system.
bool is_damage(const Error& error) {
  return error.exit_code() == ExitCode::kData || error.exit_code() == ExitCode::kConfig;
}

// Waits for the lock of the file. The kernel frees it when the process ends.
UniqueFd take_lock(const std::string& path, const std::function<void()>& alive) {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  constexpr mode_t kMode = 0644;
  UniqueFd fd(retried(
      [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode); }));
  if (!fd) throw system_error(kCode, "open", path, errno);
  struct flock region = {};
  region.l_type = F_WRLCK;
  region.l_whence = SEEK_SET;
  while (retried([&] { return ::fcntl(fd.get(), F_OFD_SETLK, &region); }) != 0) {
    if (errno != EAGAIN) throw system_error(kCode, "lock", path, errno);
    alive();
    std::this_thread::sleep_for(kInterval);
  }
  return fd;
}

std::string describe(const ProductShape& shape, const ProductFinding& finding) {
  const std::string counts = fmt::format(
      "{} suggestions, of which {} failed, {} gave wrong numbers and {} gave equal rows "
      "unequal bits",
      finding.suggestions, finding.failed, finding.wrong, finding.unequal_rows);
  if (!finding.algorithm)
    return fmt::format("product {}: LibTorch computes it; {}", to_string(shape), counts);
  return fmt::format("product {}: {:.4f} ms, the first suggestion {:.4f} ms; {}", to_string(shape),
                     finding.milliseconds, finding.first_milliseconds, counts);
}

}  // namespace

ProductBook::ProductBook(const std::string& cache_dir, Signals signals)
    : path_(RunFiles(cache_dir).products()),
      lock_path_(RunFiles(cache_dir).products_lock()),
      signals_(std::move(signals)) {}

std::vector<ProductFinding> ProductBook::choose(const ProductRequest& request) const {
  const UniqueFd lock = take_lock(lock_path_, signals_.alive);
  std::optional<Entries> entries;
  try {
    entries.emplace(read_entries(path_, request));
  } catch (const Error& error) {
    if (!is_damage(error)) throw;
    signals_.warn(fmt::format("{}: {}; the algorithms of the matrix products are searched again",
                              path_, error.detail().what));
    entries.emplace(std::nullopt, request, path_);
  }
  std::vector<ProductFinding> findings;
  bool searched = false;
  for (const ProductShape& shape : request.shapes) {
    std::optional<ProductFinding> known = entries->find(shape);
    if (known && known->algorithm && !request.can_compute(shape, *known->algorithm)) {
      signals_.warn(
          fmt::format("{}: cuBLASLt does not take the algorithm of the product {}; it is "
                      "searched again",
                      path_, to_string(shape)));
      known.reset();
    }
    if (!known) {
      known = request.search(shape);
      signals_.inform(describe(shape, *known));
      signals_.alive();
      entries->add(shape, *known);
      searched = true;
    }
    findings.push_back(*known);
  }
  if (searched) write_file_durably(path_, entries->text());
  return findings;
}

}  // namespace encode
