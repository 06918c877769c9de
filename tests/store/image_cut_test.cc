// Simulates power loss. The store runs on an ext4 image that is mounted through a loop device. The
// test stops the writer and copies the image file while it is mounted, so the copy holds only what
// has reached the simulated disk. Then it mounts the copy, which replays the journal as after a
// real power cut. The tests need root and loop mounts; without them they are skipped.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;

bool shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

class Mount {
 public:
  Mount(const std::string& image, std::string directory, const std::string& options)
      : directory_(std::move(directory)) {
    fs::create_directories(directory_);
    mounted_ = shell(fmt::format("mount -o loop,{} {} {}", options, image, directory_));
  }
  ~Mount() {
    if (!mounted_) return;
    // Tries again, because the mount may be busy while another program looks at new mounts.
    for (int i = 0; i < 100; ++i) {
      if (shell("umount " + directory_)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << "cannot unmount " << directory_;
    shell("umount -l " + directory_);
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string directory_;
  bool mounted_ = false;
};

// The writer is a child process. It sends an event after each system call and each acknowledged
// chunk, and then waits until the test lets it continue.
struct Event {
  enum Kind : int64_t { kCall, kAck, kFinished };
  int64_t kind = kCall;
  int64_t value = 0;  // kCall: the number of calls so far; kAck: the chunk; kFinished: unused
};

int event_pipe[2];
int go_pipe[2];

void stop_at(Event event) {
  char go = 0;
  if (::write(event_pipe[1], &event, sizeof event) != sizeof event ||
      ::read(go_pipe[0], &go, 1) != 1)
    ::_exit(97);
}

pid_t start_writer(const std::string& cache, const FakeJob& job, FaultPlan plan) {
  plan.after_call = [](int64_t count) { stop_at({.kind = Event::kCall, .value = count}); };
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::close(event_pipe[0]);
  ::close(go_pipe[1]);
  set_fault_plan(plan);
  try {
    run_fake_job(cache, job, [](int64_t index) { stop_at({.kind = Event::kAck, .value = index}); });
    stop_at({.kind = Event::kFinished, .value = 0});
    ::_exit(0);
  } catch (const Error& error) {
    ::_exit(static_cast<int>(error.exit_code()));
  }
}

struct CutPlan {
  FaultMode defect = FaultMode::kNone;
  FakeJob job;
  int64_t every_calls = 1;
  std::string mount_options = "commit=600";
  bool stop_at_first_problem = false;
};

class ImageCut : public ::testing::Test {
 protected:
  void SetUp() override {
    make_disk();
    const Mount probe(image_, mount_point_, "noatime");
    if (!probe.mounted())
      GTEST_SKIP() << "cannot mount an ext4 image by loop: needs root, loop devices and e2fsprogs";
  }

  // Runs the job, cuts the power at many calls, and returns all problems found after the cuts.
  std::vector<std::string> run(const CutPlan& plan) {
    problems_.clear();
    cuts_ = 0;
    EXPECT_TRUE(make_disk());
    const Mount mount(image_, mount_point_, plan.mount_options);
    EXPECT_TRUE(mount.mounted());
    EXPECT_EQ(::pipe(event_pipe), 0);
    EXPECT_EQ(::pipe(go_pipe), 0);
    const std::string cache = mount_point_ + "/cache";
    const pid_t writer = start_writer(cache, plan.job, fault_plan(cache, plan.defect, 0));
    ::close(event_pipe[1]);
    ::close(go_pipe[0]);
    std::vector<int64_t> acked;
    Event event;
    while (::read(event_pipe[0], &event, sizeof event) == sizeof event) {
      if (event.kind == Event::kAck) acked.push_back(event.value);
      const bool enough = plan.stop_at_first_problem && !problems_.empty();
      if (!enough && (event.kind != Event::kCall || event.value % plan.every_calls == 0)) {
        cut(plan, acked, event.kind == Event::kFinished);
      }
      if (::write(go_pipe[1], "g", 1) != 1) break;
    }
    ::close(event_pipe[0]);
    ::close(go_pipe[1]);
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(read_bytes(plan.job.final_path(cache)), expected_final(plan.job));
    return problems_;
  }

  int64_t cuts() const { return cuts_; }

 private:
  // Makes a new image file each time, because a loop device may still use the old file.
  bool make_disk() {
    fs::remove(image_);
    return shell(fmt::format("truncate -s 12M {} && mkfs.ext4 -q -F {}", image_, image_));
  }

  // Reads the image until two copies are equal. The kernel may write to the image during a copy,
  // and the copy would then mix two states.
  void copy_disk(const std::string& copy) const {
    std::string content = read_bytes(image_);
    for (std::string again = read_bytes(image_); again != content; again = read_bytes(image_))
      content.swap(again);
    write_bytes(copy, content);
  }

  void cut(const CutPlan& plan, const std::vector<int64_t>& acked, bool finished) {
    ++cuts_;
    const std::string copy = dir_.file("cut.img");
    const std::string mount_point = dir_.file("cut");
    fs::remove(copy);
    copy_disk(copy);
    const Mount mount(copy, mount_point, plan.mount_options);
    ASSERT_TRUE(mount.mounted());
    const std::string cache = mount_point + "/cache";
    std::string problem = torn_file(cache, plan.job);
    const std::string final_path = plan.job.final_path(cache);
    if (problem.empty() && finished &&
        final_state(final_path, plan.job.identity, true) != FinalState::kValid) {
      problem = "the final was published and is gone";
    }
    if (problem.empty()) problem = resume_problem(cache, plan.job, acked);
    if (!problem.empty()) problems_.push_back(fmt::format("cut {}: {}", cuts_, problem));
  }

  const TempDir dir_;
  const std::string image_ = dir_.file("disk.img");
  const std::string mount_point_ = dir_.file("disk");
  std::vector<std::string> problems_;
  int64_t cuts_ = 0;
};

CutPlan usual_plan(bool keep_chunks) {
  CutPlan plan;
  plan.job.keep_chunks = keep_chunks;
  plan.job.together = keep_chunks ? 2 : 1;
  plan.every_calls = soak_round() == 0 ? 7 : 1;
  return plan;
}

TEST_F(ImageCut, NoAcknowledgedChunkIsLostAndNoFileIsTorn) {
  for (const bool keep_chunks : {true, false}) {
    EXPECT_EQ(run(usual_plan(keep_chunks)), std::vector<std::string>());
    EXPECT_GT(cuts(), 20);
    std::cout << fmt::format("count: {} image cuts\n", cuts());
  }
}

TEST_F(ImageCut, NothingIsLostWithoutOrderedData) {
  CutPlan plan = usual_plan(true);
  plan.mount_options += ",data=writeback,noauto_da_alloc";
  EXPECT_EQ(run(plan), std::vector<std::string>());
  std::cout << fmt::format("count: {} image cuts\n", cuts());
}

// Shows that the test can fail: a store without one of its syncs must fail it.
class ImageCutControl : public ImageCut, public ::testing::WithParamInterface<FaultMode> {};

TEST_P(ImageCutControl, MissingSyncIsSeen) {
  CutPlan plan = usual_plan(true);
  plan.defect = GetParam();
  plan.stop_at_first_problem = true;
  EXPECT_FALSE(run(plan).empty());
}

INSTANTIATE_TEST_SUITE_P(Without, ImageCutControl,
                         ::testing::Values(FaultMode::kDropFileSync, FaultMode::kDropDirSync,
                                           FaultMode::kDropDataSync),
                         [](const auto& test) {
                           switch (test.param) {
                             case FaultMode::kDropFileSync:
                               return "FileSync";
                             case FaultMode::kDropDirSync:
                               return "DirectorySync";
                             default:
                               return "LogSync";
                           }
                         });

}  // namespace
}  // namespace encode::testing
