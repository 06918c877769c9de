// A worker without a model, for tests. It uses the real protocol, text readers and chunk store, and
// makes each vector from a hash of the text. FAKE_WORKER=<what>:<chunk>:<times> makes it misbehave:
// "crash:2:1" crashes once, in chunk 2. Chunk -1 is the time before the first chunk. "crash:2:1@1"
// is a misdeed of worker 1 only. "75:*:9" happens in any chunk. "exit78:0:1" ends with the exit
// code 78 and reports no error. With "gpus:-1:9" the worker claims to run on one of three GPUs, and
// with "unlike:-1:9" on a device of another kind. "cut:0:1" says that max_length has cut the first
// row of chunk 0 to one token of four. With "other_build:-1:9" the worker is of another build than
// `encode`; with "upgrade:2:1" it crashes in chunk 2, and the workers after it are of another
// build. "second:5:1" kills the worker in chunk 5 of the second unit. With "other_device:-1:9" the
// rows are of another kind of device.
//
// FAKE_WORKER_SHIFT=<number> adds the number to each value, as a device of another kind may compute
// other bits, and names the device after it.
//
// FAKE_WORKER_ROW=<row> says that max_length has cut this row of each stream, as "cut" does, and
// that the row after it could not be encoded. FAKE_WORKER_CUT=all says that it has cut every row.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "encode/error.h"
#include "encode/job.h"
#include "encode/store.h"
#include "encode/text.h"
#include "encode/worker_event.h"

#include "base/file.h"
#include "base/hash.h"
#include "protocol/same_build.h"
#include "store/file_list.h"

namespace encode {
namespace {

constexpr int64_t kBatchRows = 4;

volatile std::sig_atomic_t stop_requested = 0;

// Where the tests find what the worker has done: FAKE_WORKER_RECORDS, or the cache directory.
std::string records_in(const std::string& cache_dir) {
  const char* elsewhere = std::getenv("FAKE_WORKER_RECORDS");
  return elsewhere != nullptr ? elsewhere : cache_dir;
}

// The misdeed that FAKE_WORKER names. The count of misdeeds is in a file, because each one may
// happen in another process.
class Misdeed {
 public:
  // `job` is the path of the job file, which ends in "/job.1.json" for worker 1.
  Misdeed(const std::string& cache_dir, const std::string& job)
      : counter_(records_in(cache_dir) + "/misdeeds") {
    const char* text = std::getenv("FAKE_WORKER");
    if (text == nullptr) return;
    std::string spec = text;
    if (const size_t at = spec.find('@'); at != std::string::npos) {
      if (!job.ends_with("job." + spec.substr(at + 1) + ".json")) return;
      spec.resize(at);
    }
    const size_t first = spec.find(':');
    const size_t second = spec.find(':', first + 1);
    what_ = spec.substr(0, first);
    every_chunk_ = spec[first + 1] == '*';
    if (!every_chunk_) chunk_ = std::stoll(spec.substr(first + 1));
    times_ = std::stoll(spec.substr(second + 1));
  }

  // Returns true if the worker must do `what` now, and then counts one more misdeed.
  bool due(const std::string& what, int64_t chunk) const {
    const bool here = every_chunk_ ? chunk >= 0 : chunk == chunk_;
    if (what != what_ || !here || count() >= times_) return false;
    const int64_t next = count() + 1;
    std::ofstream(counter_) << next;
    return true;
  }
  // Returns the number N if the misdeed "exitN" is due now.
  std::optional<int> exit_due(int64_t chunk) const {
    const std::string exit = "exit";
    if (!what_.starts_with(exit) || !due(what_, chunk)) return std::nullopt;
    return std::stoi(what_.substr(exit.size()));
  }
  // Returns true if an earlier worker did `what`.
  bool done(const std::string& what) const { return what == what_ && count() > 0; }

 private:
  int64_t count() const {
    int64_t done = 0;
    std::ifstream(counter_) >> done;
    return done;
  }

  std::string counter_;
  std::string what_;
  int64_t chunk_ = 0;
  bool every_chunk_ = false;
  int64_t times_ = 0;
};

class FakeWorker {
 public:
  FakeWorker(JobSpec job, const std::string& job_path, int events_fd)
      : job_(std::move(job)), events_(events_fd), misdeed_(job_.cache_dir, job_path) {}

  int run() {
    greet();
    for (JobUnit& unit : job_.units) read_listed_files(unit.scan);
    load_model();
    ModelLoaded loaded;
    loaded.device.name = misdeed_.due("unlike", -1) ? "another" : "fake";
    if (misdeed_.due("gpus", -1)) {
      loaded.device.kind = DeviceKind::kCuda;
      loaded.device.places = 3;
    }
    send(loaded);
    if (job_.required_kind && job_.required_kind->device != loaded.device.name) {
      throw Error({.code = "run.unlike_devices",
                   .exit_code = ExitCode::kConfig,
                   .what = "the devices differ",
                   .where = loaded.device.name,
                   .expected = job_.required_kind->device,
                   .found = loaded.device.name,
                   .hint = ""});
    }
    for (unit_ = 0; unit_ < static_cast<int64_t>(job_.units.size()); ++unit_) encode_unit();
    send(WorkerFinished{});
    return 0;
  }

  void report(const Error& error) { send(WorkerFailed{.error = error.detail()}); }

 private:
  const JobUnit& unit() const { return job_.units[static_cast<size_t>(unit_)]; }

  void send(const WorkerEvent& event) {
    const std::string line = to_json_line(event);
    write_all(events_, line.data(), line.size(), "events");
  }

  // A worker of another build then does nothing until it is killed.
  void greet() const {
    const bool other = misdeed_.done("upgrade") || misdeed_.due("other_build", -1);
    const std::string line =
        other ? "{\"kind\":\"greeting\",\"protocol\":\"of another build\"}\n" : greeting();
    write_all(events_, line.data(), line.size(), "events");
    if (other) std::this_thread::sleep_for(std::chrono::hours(1));
  }

  void misbehave(int64_t chunk) {
    using std::chrono::hours;
    if (misdeed_.due("crash", chunk) || misdeed_.due("upgrade", chunk)) std::raise(SIGSEGV);
    if (misdeed_.due("killed", chunk)) std::raise(SIGKILL);
    if (unit_ == 1 && misdeed_.due("second", chunk)) std::raise(SIGKILL);
    if (misdeed_.due("hang", chunk)) std::this_thread::sleep_for(hours(1));
    if (misdeed_.due("75", chunk)) std::_Exit(75);
    if (const std::optional<int> code = misdeed_.exit_due(chunk)) std::_Exit(*code);
    if (misdeed_.due("shout", chunk)) std::fputs("the sky is falling\n", stderr);
    if (misdeed_.due("garbage", chunk)) write_all(events_, "{]\nhello\n", 9, "events");
    if (misdeed_.due("noise", chunk)) {
      for (int i = 0; i < 100; ++i) write_all(events_, "noise\n", 6, "events");
      std::this_thread::sleep_for(hours(1));
    }
    if (misdeed_.due("lie", chunk)) {
      send(WorkerFinished{});
      std::_Exit(0);
    }
    if (misdeed_.due("69", chunk)) {
      throw Error({.code = "device.absent",
                   .exit_code = ExitCode::kUnavailable,
                   .what = "no such device",
                   .where = to_string(job_.hardware.device),
                   .expected = "cpu",
                   .found = "",
                   .hint = ""});
    }
  }

  // The misdeed "slow_load" takes longer than WorkerOptions::hang_floor for each of three parts of
  // a model. "stuck_load" never gets beyond a part.
  void load_model() {
    misbehave(-1);
    misdeed_.due("other_device", -1);
    send(ModelLoading{});
    load_parts(-1);
  }

  void load_parts(int64_t chunk) {
    for (int part = 0; misdeed_.due("slow_load", chunk) && part < 3; ++part) {
      send(ModelLoading{});
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
    if (misdeed_.due("stuck_load", chunk)) {
      send(ModelLoading{});
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }

  void encode_unit() {
    send(UnitStarted{.unit = unit_, .plan = {}});
    rows_done_ = 0;
    reader_ = open_scanned_texts(unit().input, unit().scan);
    if (unit().chunk_files) {
      encode_chunks();
    } else {
      const auto final = begin_final(unit().final_path, unit().identity);
      const RowRange rows{0, unit().identity.rows};
      send_chunk_started(0, rows);
      encode_rows(rows, 0, *final);
      RowStats stats;
      stats.tokens = rows_done_;
      final->publish(stats, origin());
    }
    UnitDone done;
    done.unit = unit_;
    done.stages = stages();
    send(done);
  }

  // Several workers share the chunks, as UnitRun and TaskQueue do it.
  void encode_chunks() {
    const bool shared = job_.workers > 1;
    const auto store = ChunkStore::open(job_.cache_dir, unit().identity, unit().chunk_rows,
                                        ChunkStore::Open::kJoin);
    if (store == nullptr) return;
    for (const int64_t chunk : store->pending()) {
      const RowRange rows = store->chunk(chunk);
      const bool avoided = std::any_of(
          unit().avoid.begin(), unit().avoid.end(),
          [rows](RowRange other) { return other.begin < rows.end && rows.begin < other.end; });
      if (avoided || (shared && !store->claim(chunk))) continue;
      encode_chunk(*store, chunk);
    }
  }

  ChunkOrigin origin() const {
    if (const char* shift = std::getenv("FAKE_WORKER_SHIFT"); shift != nullptr)
      return {.device = std::string("fake ") + shift};
    return {.device = misdeed_.done("other_device") ? "another" : "fake"};
  }

  static std::optional<int64_t> marked_row() {
    const char* row = std::getenv("FAKE_WORKER_ROW");
    if (row == nullptr) return std::nullopt;
    return std::stoll(row);
  }

  // Claims that each row takes a second to encode.
  StageSeconds stages() const { return {.encode = static_cast<double>(rows_done_)}; }

  static void cut_all(RowRange rows, RowStats& stats, ChunkWriter& writer) {
    std::vector<TruncatedRow> cut;
    for (int64_t row = rows.begin; row < rows.end; ++row)
      cut.push_back({.row = row, .tokens = 256, .lost_tokens = 40});
    stats.truncated_rows = rows.size();
    stats.lost_tokens = 40 * rows.size();
    writer.append_truncated(cut);
  }

  void send_chunk_started(int64_t chunk, RowRange rows) {
    send(WindowStarted{.unit = unit_, .rows = rows, .stages = stages()});
    send(ChunkStarted{.unit = unit_, .chunk = chunk, .rows = rows});
  }

  void encode_chunk(ChunkStore& store, int64_t chunk) {
    const RowRange rows = store.chunk(chunk);
    send_chunk_started(chunk, rows);
    const auto writer = store.begin(chunk);
    encode_rows(rows, chunk, *writer);
    RowStats stats;
    stats.tokens = rows.size();
    if (misdeed_.due("cut", chunk)) {
      stats.truncated_rows = 1;
      stats.lost_tokens = 3;
      writer->append_truncated(
          std::vector<TruncatedRow>{{.row = rows.begin, .tokens = 1, .lost_tokens = 3}});
    }
    if (std::getenv("FAKE_WORKER_CUT") != nullptr) cut_all(rows, stats, *writer);
    if (const auto row = marked_row(); row && *row >= rows.begin && *row < rows.end) {
      stats.truncated_rows = 1;
      stats.lost_tokens = 3;
      writer->append_truncated(
          std::vector<TruncatedRow>{{.row = *row, .tokens = 1, .lost_tokens = 3}});
    }
    if (const auto row = marked_row(); row && *row + 1 >= rows.begin && *row + 1 < rows.end)
      writer->append_set_aside(
          std::vector<SetAsideRow>{{.row = *row + 1, .code = "worker.poison_row", .message = "m"}});
    const ChunkRecord record = writer->commit(stats, origin());
    std::ofstream(records_in(job_.cache_dir) + "/encoded_chunks", std::ios::app) << chunk << '\n';
    ChunkDone done;
    done.unit = unit_;
    done.chunk = chunk;
    done.rows = rows;
    done.path = store.chunk_path(chunk);
    done.file_bytes = record.file_bytes;
    done.seconds = 0.001;
    done.stats = record.stats;
    send(done);
  }

  void encode_rows(RowRange rows, int64_t chunk, MatrixWriter& writer) {
    misbehave(chunk);
    load_parts(chunk);
    reader_->seek(rows.begin);
    Text text;
    for (int64_t row = rows.begin; row < rows.end;) {
      for (const int64_t end = std::min(rows.end, row + kBatchRows); row < end;
           ++row, ++rows_done_) {
        reader_->next(text);
        const auto marked = marked_row();
        const bool fails = marked && row == *marked + 1;
        writer.append(fails ? std::vector<float>(static_cast<size_t>(unit().identity.dim))
                            : vector_of(text.utf8));
      }
      if (const char* slow = std::getenv("FAKE_WORKER_SLOW_MS")) {
        std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(slow)));
      }
      send(BatchDone{.unit = unit_, .rows_done = rows_done_, .tokens_done = rows_done_});
      if (stop_requested != 0) std::_Exit(143);
    }
  }

  std::vector<float> vector_of(const std::string& text) const {
    const std::string digits = xxh3_hex(text);
    const char* shift = std::getenv("FAKE_WORKER_SHIFT");
    const float more = shift != nullptr ? std::stof(shift) : 0;
    std::vector<float> vector;
    for (int64_t i = 0; i < unit().identity.dim; ++i) {
      vector.push_back(more + static_cast<float>(digits[static_cast<size_t>(i % 32)]));
    }
    return vector;
  }

  JobSpec job_;
  const UniqueFd events_;
  const Misdeed misdeed_;
  int64_t unit_ = 0;
  int64_t rows_done_ = 0;
  std::unique_ptr<ScannedTexts> reader_;
};

}  // namespace
}  // namespace encode

// Usage: encode-worker --job FILE --events FD
int main(int argc, char** argv) {
  if (argc != 5) return 64;
  std::signal(SIGTERM, [](int) { encode::stop_requested = 1; });
  const std::string job = encode::read_file(argv[2], 1 << 26, "io.read");
  encode::FakeWorker worker(encode::job_of_this_build(job), argv[2], std::stoi(argv[4]));
  try {
    return worker.run();
  } catch (const encode::Error& error) {
    worker.report(error);
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    return static_cast<int>(encode::ExitCode::kOsError);
  }
}
