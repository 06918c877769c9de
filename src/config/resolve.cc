#include "config/resolve.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/allocator_conf.h"
#include "base/units.h"
#include "config/derived_defaults.h"
#include "config/effective_value.h"
#include "config/key_values.h"
#include "config/schema.h"

namespace encode {
namespace {

constexpr const char* kCommandLine = "command line";

class Resolver {
 public:
  Resolver(const ConfigFile& file, const std::vector<Override>& overrides) : file_(file) {
    loaded_.run.retired_keys = file.retired_keys;
    for (const Override& given : overrides) add_flag(given);
  }

  LoadedConfig resolve(const FieldLister& list_fields) {
    loaded_.run.config_path = file_.name;
    places_ = check_form() ? std::vector<StreamPlace>{single_stream()} : file_.streams;
    for (const StreamPlace& place : places_) {
      StreamConfig stream;
      stream.split = place.split;
      stream.stream = place.stream;
      loaded_.run.streams.push_back(std::move(stream));
    }
    bool streams_done = false;
    for (const KeySpec& key : config_keys()) {
      if (key.in_stream().empty()) {
        apply_run_key(key);
      } else if (!streams_done) {
        for (size_t i = 0; i < places_.size(); ++i) apply_stream_keys(i);
        streams_done = true;
      }
    }
    add_combined();
    // Only checks the settings; encode-worker merges them with its environment.
    merge_allocator_conf({{.where = origin_of("hardware.allocator.conf").where,
                           .text = loaded_.run.hardware.allocator_conf}});
    check_streams(loaded_.run, places_, origin_of("output.file"), origin_of("output.combine"));
    const OriginFinder find_origin = [this](const std::string& path, size_t stream) {
      return stream == kEveryStream ? origin_of(path) : origin_of(path, stream);
    };
    check_fields(loaded_.run, places_, find_origin, list_fields);
    settle_passages(loaded_.run, find_origin);
    settle_filters(loaded_.run, find_origin);
    check_output(loaded_.run, places_, origin_of("output.file"), origin_of("output.columns"));
    return std::move(loaded_);
  }

 private:
  void add_flag(const Override& given) {
    if (const RetiredKey* retired = retired_key(given.key)) {
      loaded_.run.retired_keys.push_back(describe(*retired, given.flag));
      return;
    }
    const SchemaNode* node = &config_schema();
    std::string path;
    for (const std::string& name : split_key(given.key)) {
      const SchemaNode* child = node->child(name);
      if (child == nullptr || child == node->wildcard()) refuse_flag(given, *node, name);
      path = join_key(path, child->name);
      node = child;
    }
    if (node->key == nullptr) refuse_flag(given, *node, "");
    // A user of --chunk-size may not know semantic.chunk_size.
    const std::string& name = given.flag == "--set" ? path : given.flag;
    flags_[path] = {
        .value = parse_value(node->key->value, given.value,
                             {.key = name, .where = given.flag, .exit_code = ExitCode::kUsage}),
        .where = given.flag};
  }

  [[noreturn]] static void refuse_flag(const Override& given, const SchemaNode& section,
                                       const std::string& name) {
    throw Error({.code = "config.key",
                 .exit_code = ExitCode::kUsage,
                 .what = "unknown key",
                 .where = given.flag,
                 .expected = "a key of docs/config.md that names no split and no stream",
                 .found = fmt::format("'{}'", preview(given.key)),
                 .hint = name.empty() ? "see docs/config.md" : suggest_key(section, name)});
  }

  bool has_file_section(const std::string& path) const { return file_.sections.contains(path); }
  std::string file_or_command_line() const {
    return file_.name.empty() ? kCommandLine : file_.name;
  }
  ExitCode content_error() const {
    return file_.name.empty() ? ExitCode::kUsage : ExitCode::kConfig;
  }

  // Returns true if the run has a single stream, described by `input` or by flags. Returns false if
  // it has the streams of `data`. Throws Error if both forms or none are given.
  bool check_form() const {
    const auto flag = flags_.find("input.file");
    const bool input = has_file_section("input") || flag != flags_.end();
    if (has_file_section("data") && input) {
      const bool by_flag = !has_file_section("input");
      throw Error({.code = "config.conflict",
                   .exit_code = by_flag ? ExitCode::kUsage : ExitCode::kConfig,
                   .what = "data and input exclude each other",
                   .where = by_flag ? flag->second.where : file_.sections.at("input"),
                   .expected = "the streams of data, or one input",
                   .found = "both; data is at " + file_.sections.at("data"),
                   .hint = by_flag ? "leave one of the two out" : "delete one of the two"});
    }
    if (!input && file_.streams.empty()) {
      throw Error(
          {.code = "config.required",
           .exit_code = content_error(),
           .what = "no input is given",
           .where = has_file_section("data") ? file_.sections.at("data") : file_or_command_line(),
           .expected = "--input FILE, or a config with input or data.splits",
           .found = "neither",
           .hint = "give --config FILE (docs/config.md describes it), or --input FILE (--input - "
                   "reads standard input); a command about a run needs the settings of that run"});
    }
    check_shared_streams();
    return input;
  }

  // Refuses a stream of data.streams that no split has, because its name is probably a typo.
  void check_shared_streams() const {
    std::vector<std::string> used;
    for (const StreamPlace& place : file_.streams) used.push_back(place.stream);
    for (const auto& [path, where] : file_.sections) {
      const std::vector<std::string> parts = split_key(path);
      if (parts.size() != 3 || !path.starts_with("data.streams.")) continue;
      if (std::find(used.begin(), used.end(), parts.back()) != used.end()) continue;
      const std::string near = nearest(parts.back(), used.data(), used.size());
      throw Error({.code = "config.key",
                   .what = "no split has this stream",
                   .where = where,
                   .expected = "the name of a stream in data.splits",
                   .found = fmt::format("'{}'", parts.back()),
                   .hint = near.empty() ? "add the stream to a split, or delete its settings"
                                        : fmt::format("did you mean '{}'?", near)});
    }
  }

  // Returns the text of a flag, or "" if it is not given.
  std::string text_of_flag(const std::string& path) const {
    const Given* given = find(flags_, path);
    const auto* text = given == nullptr ? nullptr : std::get_if<std::string>(&given->value);
    return text == nullptr ? "" : *text;
  }

  StreamPlace single_stream() {
    std::string rows;
    for (const char* key : {"input.field", "input.text", "input.where"}) rows += text_of_flag(key);
    const auto flag = flags_.find("input.file");
    return {.split = "",
            .stream = output_file().empty() && file_.name.empty()
                          ? stream_name_of(text_of_flag("input.file"), rows,
                                           text_of_flag("semantic.model"))
                          : default_stream_name(output_file()),
            .where = flag != flags_.end() ? flag->second.where : file_.sections.at("input"),
            .exit_code = flag != flags_.end() ? ExitCode::kUsage : ExitCode::kConfig};
  }

  static const Given* find(const std::map<std::string, Given>& values, const std::string& path) {
    const auto found = values.find(path);
    return found == values.end() ? nullptr : &found->second;
  }

  static Effective from_flag(const Given& flag) {
    return {.value = flag.value, .origin = flag.where, .layer = Layer::kFlag};
  }
  static Effective from_file(const Given& given, const std::string& path, Layer layer) {
    return {.value = given.value, .origin = given.where, .layer = layer, .source = path};
  }

  Effective run_value(const KeySpec& key) const {
    const std::string path = join_key(key.sections[0], key.name);
    if (const Given* flag = find(flags_, path)) return from_flag(*flag);
    if (const Given* given = find(file_.values, path))
      return from_file(*given, path, Layer::kAllStreams);
    if (key.default_text) return {.value = key.default_value()};
    return {.value = derived_default(path)};
  }

  static const KeySpec& spec(const std::string& section, const std::string& name) {
    return *config_schema().child(section)->child(name)->key;
  }

  std::string output_file() const {
    return std::get<std::string>(run_value(spec("output", "file")).value);
  }

  // Returns the default of a key that has no KeySpec::default_text.
  Value derived_default(const std::string& path) const {
    if (path == "semantic.combine") {
      return flags_.contains("output.combine") || file_.values.contains("output.combine");
    }
    if (path == "output.combine") return std::vector<std::string>();
    if (path == "output.format")
      return std::string(to_string(default_matrix_format(output_file())));
    if (path == "semantic.cache_dir") return default_cache_dir(output_file());
    refuse_missing(path, has_file_section("semantic") ? file_.sections.at("semantic")
                                                      : file_or_command_line());
  }

  [[noreturn]] void refuse_missing(const std::string& path, const std::string& where) const {
    throw missing_setting(path, where, /*on_command_line=*/file_.name.empty());
  }

  void add_setting(const std::string& path, const Effective& value) {
    loaded_.settings.push_back({.key = path,
                                .value = to_yaml(value.value),
                                .origin = value.origin,
                                .source = value.source});
  }

  void apply_run_key(const KeySpec& key) {
    const std::string path = join_key(key.sections[0], key.name);
    const Effective& value = all_streams_[path] = settled_value(key);
    if (key.set_run != nullptr) key.set_run(loaded_.run, value.value);
    for (StreamConfig& stream : loaded_.run.streams) {
      if (key.set_stream != nullptr) key.set_stream(stream, value.value);
    }
    // An empty list stands for "nothing is combined". It is no valid value of a config, so it is
    // not printed.
    if (path != "output.combine" || value.layer != Layer::kDefault) add_setting(path, value);
  }

  Effective settled_value(const KeySpec& key) const {
    Effective prompt = run_value(spec("semantic", "prompt"));
    Effective name = run_value(spec("semantic", "prompt_name"));
    settle({"prompt", prompt}, {"prompt_name", name}, std::monostate());
    if (&key == &spec("hardware", "devices")) return settled_devices();
    if (&key == &spec("hardware", "device")) return settled_device();
    if (&key == &spec("semantic", "prompt")) return prompt;
    if (&key == &spec("semantic", "prompt_name")) return name;
    return run_value(key);
  }

  // `device` and `devices` exclude each other, unless they name the same device. A flag for one of
  // them overrides the other one in the file. The overridden key gets its default value, so that a
  // printed config can be read again.
  Effective settled_devices() const {
    Effective devices = run_value(spec("hardware", "devices"));
    const auto& names = std::get<std::vector<std::string>>(devices.value);
    if (names.size() > 1 && std::find(names.begin(), names.end(), kAllDevices) != names.end())
      refuse_devices(devices, "all without other devices", to_yaml(devices.value));
    const Effective device = run_value(spec("hardware", "device"));
    const std::string& name = std::get<std::string>(device.value);
    const bool agree = name == "auto" || names == std::vector<std::string>{name};
    if (names.empty() || agree || device.layer < devices.layer) return devices;
    if (device.layer == devices.layer)
      refuse_devices(devices, "device or devices", "both; device is at " + device.origin);
    return {.value = std::vector<std::string>(), .origin = device.origin, .layer = device.layer};
  }

  Effective settled_device() const {
    const Effective devices = settled_devices();
    Effective device = run_value(spec("hardware", "device"));
    const auto& names = std::get<std::vector<std::string>>(devices.value);
    const bool agree = names == std::vector<std::string>{std::get<std::string>(device.value)};
    if (names.empty() || agree) return device;
    return {.value = std::string("auto"), .origin = devices.origin, .layer = devices.layer};
  }

  [[noreturn]] static void refuse_devices(const Effective& devices, std::string expected,
                                          std::string found) {
    throw Error({.code = "config.conflict",
                 .exit_code = devices.exit_code(),
                 .what = "the settings of the devices exclude each other",
                 .where = devices.origin,
                 .expected = std::move(expected),
                 .found = std::move(found),
                 .hint = "delete one of the two"});
  }

  Effective stream_value(const KeySpec& key, const StreamPlace& place) const {
    const std::string name = key.in_stream();
    if (key.in(kSingleInput)) {
      const std::string path = below(kSingleInput, name);
      if (const Given* flag = find(flags_, path)) return from_flag(*flag);
      const Given* given = place.split.empty() ? find(file_.values, path) : nullptr;
      if (given != nullptr) return from_file(*given, path, Layer::kSplitStream);
    }
    const auto inherited = all_streams_.find(key.inherits);
    if (inherited != all_streams_.end() && inherited->second.layer == Layer::kFlag)
      return inherited->second;
    const std::string split_path = below(stream_path(place), name);
    if (const Given* given = find(file_.values, split_path))
      return from_file(*given, split_path, Layer::kSplitStream);
    const std::string shared_path = below(join_key("data.streams", place.stream), name);
    const Given* shared = place.split.empty() ? nullptr : find(file_.values, shared_path);
    if (shared != nullptr) return from_file(*shared, shared_path, Layer::kSharedStream);
    if (inherited != all_streams_.end()) return inherited->second;
    if (!key.default_text) refuse_missing(split_path, place.where);
    return {.value = key.default_value()};
  }

  static std::string stream_path(const StreamPlace& place) {
    return place.split.empty() ? kSingleInput
                               : join_key(join_key("data.splits", place.split), place.stream);
  }

  // Returns the path of a key of KeySpec::in_stream() below the section of a stream.
  static std::string below(const std::string& section, const std::string& key) {
    return section + "." + key;
  }

  void apply_stream_keys(size_t index) {
    const StreamPlace& place = places_[index];
    std::map<std::string, Effective>& values = stream_values_.emplace_back();
    for (const KeySpec& key : config_keys()) {
      if (const std::string name = key.in_stream(); !name.empty())
        values[name] = stream_value(key, place);
    }
    settle({"prompt", values.at("prompt")}, {"prompt_name", values.at("prompt_name")},
           std::monostate());
    settle({"field", values.at("field")}, {"text", values.at("text")}, std::string());
    for (const KeySpec& key : config_keys()) {
      const std::string name = key.in_stream();
      if (name.empty()) continue;
      const Effective& value = values.at(name);
      key.set_stream(loaded_.run.streams[index], value.value);
      if (!place.split.empty() || key.in(kSingleInput))
        add_setting(below(stream_path(place), name), value);
    }
  }

  void add_combined() {
    if (!std::get<bool>(all_streams_.at("semantic.combine").value)) return;
    const auto& streams =
        std::get<std::vector<std::string>>(all_streams_.at("output.combine").value);
    std::vector<CombineConfig>& combine = loaded_.run.combine;
    for (const StreamPlace& place : places_) {
      if (combine.empty() || combine.back().split != place.split)
        combine.push_back({.split = place.split, .streams = streams});
      // Without a list, a combined matrix has all streams of its split.
      if (streams.empty()) combine.back().streams.push_back(place.stream);
    }
    for (const CombineConfig& split : combine) {
      if (split.streams.size() < 2) throw combine_of_one(split, origin_of("semantic.combine"));
    }
  }

  // Returns the place at which a key was given.
  Origin origin_of(const std::string& path) const {
    const Effective& value = all_streams_.at(path);
    return {.where = value.origin, .exit_code = value.exit_code()};
  }
  Origin origin_of(const std::string& name, size_t stream) const {
    const Effective& value = stream_values_[stream].at(name);
    return {.where = value.origin, .exit_code = value.exit_code()};
  }

  const ConfigFile& file_;
  std::map<std::string, Given> flags_;
  std::vector<StreamPlace> places_;
  std::map<std::string, Effective> all_streams_;  // by key; only keys that apply to all streams
  std::vector<std::map<std::string, Effective>> stream_values_;  // by KeySpec::in_stream()
  LoadedConfig loaded_;
};

}  // namespace

LoadedConfig resolve(const ConfigFile& file, const std::vector<Override>& overrides,
                     const FieldLister& list_fields) {
  return Resolver(file, overrides).resolve(list_fields);
}

}  // namespace encode
