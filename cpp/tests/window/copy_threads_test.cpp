#include "window/copies/copy_threads.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eventually.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/system/text_file.hpp"
#include "sizes.hpp"
#include "window/copies/copy_job.hpp"
#include "window/guarded_pages.hpp"

namespace isthmus::window {
namespace {

namespace fs = std::filesystem;
using test::eventually;
using Clock = std::chrono::steady_clock;

using contract::kKiB;
using contract::kMiB;
constexpr int kManyThreads = 8;

/// The helper threads of this process, according to /proc.
std::vector<fs::path> helpers() {
  std::vector<fs::path> found;
  std::error_code vanished;
  for (const auto& task : fs::directory_iterator("/proc/self/task", vanished)) {
    if (host::read_text(task.path() / "comm").value_or("").starts_with("isthmus-copy")) {
      found.push_back(task.path());
    }
  }
  return found;
}

/// "Cpus_allowed_list" of /proc/self/task/1/status, without blanks around it.
std::string status_of(const fs::path& task, const std::string& field) {
  const std::string text = host::read_text(task / "status").value_or("");
  const std::size_t at = text.find("\n" + field + ":");
  if (at == std::string::npos) return "";
  const std::size_t begin = text.find_first_not_of(" \t", at + field.size() + 2);
  return text.substr(begin, text.find('\n', begin) - begin);
}

bool is_asleep(const fs::path& task) { return status_of(task, "State").starts_with("S"); }

/// A way to copy that records which thread copied what.
struct Slice {
  const std::byte* mapping;
  std::size_t size_bytes;
  std::thread::id thread;
};
std::mutex slices_mutex;
std::vector<Slice> slices;

void note(const void* mapping, std::size_t size_bytes) {
  const std::lock_guard lock(slices_mutex);
  slices.push_back(
      {static_cast<const std::byte*>(mapping), size_bytes, std::this_thread::get_id()});
}

const StreamingCopy kNoting{"noting",
                            [](void* target, const void* source, std::size_t size_bytes) {
                              note(target, size_bytes);
                              std::memcpy(target, source, size_bytes);
                            },
                            [](void* target, const void* source, std::size_t size_bytes) {
                              note(source, size_bytes);
                              std::memcpy(target, source, size_bytes);
                            }};

std::set<std::thread::id> threads_noted() {
  std::set<std::thread::id> threads;
  for (const Slice& slice : slices) threads.insert(slice.thread);
  return threads;
}

/// Gives a second thread time to copy too.
void be_patient() {
  const auto end = Clock::now() + std::chrono::microseconds(300);
  while (Clock::now() < end) {
    {
      const std::lock_guard lock(slices_mutex);
      if (threads_noted().size() > 1) return;
    }
    std::this_thread::yield();  // on a busy machine it needs this core
  }
}

/// Like kNoting, but the first thread to copy is patient.
const StreamingCopy kPatient{"patient",
                             [](void* target, const void* source, std::size_t size_bytes) {
                               kNoting.write(target, source, size_bytes);
                               be_patient();
                             },
                             [](void* target, const void* source, std::size_t size_bytes) {
                               kNoting.read(target, source, size_bytes);
                               be_patient();
                             }};

constexpr std::size_t kSmallReadBytes = 4 * kKiB;

/// Like kPatient, but a small read that no second thread was asked to share waits for none: a
/// thread that it woke would be asleep again before the next read.
const StreamingCopy kPatientIfShared{"patient if shared", kPatient.write,
                                     [](void* target, const void* source, std::size_t size_bytes) {
                                       kNoting.read(target, source, size_bytes);
                                       if (size_bytes < kSmallReadBytes) be_patient();
                                     }};

/// The recorded slices cover [begin, begin + size_bytes) of the mapping once, divided at whole
/// lines.
void expect_cut_at_lines(const std::byte* begin, std::size_t size_bytes) {
  std::map<const std::byte*, std::size_t> in_order;
  for (const Slice& slice : slices) in_order[slice.mapping] = slice.size_bytes;
  ASSERT_EQ(in_order.size(), slices.size());
  const std::byte* at = begin;
  for (const auto& [mapping, slice_bytes] : in_order) {
    ASSERT_EQ(mapping, at);
    ASSERT_TRUE(at == begin || reinterpret_cast<std::uintptr_t>(at) % 64 == 0);
    ASSERT_GT(slice_bytes, 0U);
    at += slice_bytes;
  }
  ASSERT_EQ(at, begin + size_bytes);
}

class CopyThreadsTest : public testing::Test {
protected:
  void SetUp() override { slices.clear(); }

  CopyThreads threads_;
  GuardedPages source_{2 * kMiB};
  GuardedPages target_{2 * kMiB};
};

#define SKIP_WITHOUT_HELPERS(threads) \
  (threads).start(kManyThreads);      \
  if ((threads).num_started() == 0) GTEST_SKIP() << "no core to spare here"

constexpr std::size_t kBorders[] = {0,          1,          64,        kKiB,      2 * kKiB,
                                    4 * kKiB,   8 * kKiB,   16 * kKiB, 32 * kKiB, 64 * kKiB,
                                    128 * kKiB, 512 * kKiB, kMiB};
constexpr std::size_t kOffsets[] = {0, 4, 63};

TEST_F(CopyThreadsTest, EverySizeAroundTheBordersIsCopied) {
  source_.fill_randomly(1);
  target_.fill(kUntouched);
  const StreamingCopy& way = best_streaming_copy();
  for (const std::size_t border : kBorders) {
    for (std::size_t size = border - std::min<std::size_t>(border, 1); size <= border + 1; ++size) {
      for (const std::size_t offset : kOffsets) {
        for (const int num_threads : {1, 2, 3, kManyThreads}) {
          std::byte* const target = target_.data() + offset;
          const std::byte* const source = source_.data() + 64 + num_threads;
          threads_.write(way, target, source, size, num_threads);
          ASSERT_EQ(std::memcmp(target, source, size), 0) << size << " bytes at " << offset;
          ASSERT_TRUE(target_.untouched_around(offset, size)) << size << " bytes at " << offset;
          std::memset(target, std::to_integer<int>(kUntouched), size);
          threads_.read(way, target, source, size, num_threads);
          ASSERT_EQ(std::memcmp(target, source, size), 0) << size << " bytes at " << offset;
          ASSERT_TRUE(target_.untouched_around(offset, size)) << size << " bytes at " << offset;
          std::memset(target, std::to_integer<int>(kUntouched), size);
        }
      }
    }
  }
}

TEST_F(CopyThreadsTest, SlicesAreWholeLinesOfTheMapping) {
  for (const std::size_t border : kBorders) {
    const std::size_t size = border + 5;
    for (const int num_threads : {2, 3, kManyThreads}) {
      for (const std::size_t offset : kOffsets) {
        slices.clear();
        threads_.write(kNoting, target_.data() + offset, source_.data() + 7, size, num_threads);
        ASSERT_NO_FATAL_FAILURE(expect_cut_at_lines(target_.data() + offset, size));
        slices.clear();
        threads_.read(kNoting, target_.data() + 7, source_.data() + offset, size, num_threads);
        ASSERT_NO_FATAL_FAILURE(expect_cut_at_lines(source_.data() + offset, size));
      }
    }
  }
}

TEST_F(CopyThreadsTest, ASmallCopyIsTheCallersAlone) {
  threads_.write(kNoting, target_.data(), source_.data(), 32 * kKiB - 1, kManyThreads);
  threads_.read(kNoting, target_.data(), source_.data(), kKiB, kManyThreads);
  threads_.write(kNoting, target_.data(), source_.data(), kMiB, 1);
  threads_.read(kNoting, target_.data(), source_.data(), kMiB, 1);
  EXPECT_EQ(slices.size(), 4U);
  EXPECT_EQ(threads_noted(), std::set{std::this_thread::get_id()});
  EXPECT_EQ(threads_.num_started(), 0);
}

TEST_F(CopyThreadsTest, HelpersTakePart) {
  SKIP_WITHOUT_HELPERS(threads_);
  EXPECT_TRUE(eventually([&] {
    slices.clear();
    threads_.read(kPatient, target_.data(), source_.data(), kMiB, kManyThreads);
    return threads_noted().size() > 1;
  }));
  EXPECT_TRUE(eventually([&] {
    slices.clear();
    threads_.write(kPatient, target_.data(), source_.data(), kMiB, kManyThreads);
    return threads_noted().size() > 1;
  }));
}

TEST_F(CopyThreadsTest, NoMoreThanTwoThreadsWrite) {
  SKIP_WITHOUT_HELPERS(threads_);
  for (int i = 0; i < 50; ++i) {
    threads_.write(kNoting, target_.data(), source_.data(), kMiB, kManyThreads);
  }
  EXPECT_LE(threads_noted().size(), 2U);
}

TEST_F(CopyThreadsTest, NoMoreHelpersThanCoresToSpare) {
  threads_.start(1000);
  EXPECT_LE(threads_.num_started(), std::max(0.0, host::effective_cores() - 1));
  EXPECT_TRUE(eventually(
      [&] { return helpers().size() == static_cast<std::size_t>(threads_.num_started()); }));
}

TEST_F(CopyThreadsTest, NoMoreHelpersThanAskedFor) {
  threads_.start(2);
  EXPECT_LE(threads_.num_started(), 1);
}

TEST(ACopyTeam, WakesEachSleeperOnce) {
  for (const std::size_t num_awake : {0, 1, 5}) {
    for (const std::size_t num_helpers :
         {num_awake, num_awake + 1, num_awake + 2, num_awake + 11}) {
      CopyTeam team;
      team.num_awake = num_awake;
      team.num_helpers = num_helpers;
      std::size_t next = num_awake;
      for (std::size_t place = 0; place <= num_helpers - num_awake; ++place) {
        const CopyTeam::Range woken = team.woken_by(place);
        EXPECT_EQ(woken.begin, next) << "nobody is left out, and nobody is woken twice";
        EXPECT_TRUE(place == 0 || woken.begin == woken.end || num_awake + place - 1 < woken.begin)
            << "who wakes another is awake before";
        next = woken.end;
      }
      EXPECT_EQ(next, num_helpers);
    }
  }
}

TEST_F(CopyThreadsTest, SleepingHelpersDelayNobodyAndWakeForABurst) {
  SKIP_WITHOUT_HELPERS(threads_);
  source_.fill_randomly(2);
  const auto all_asleep = [&] {
    const auto tasks = helpers();
    return tasks.size() == static_cast<std::size_t>(threads_.num_started()) &&
           std::all_of(tasks.begin(), tasks.end(), is_asleep);
  };
  ASSERT_TRUE(eventually(all_asleep));
  // The first small copy after a pause doesn't wake a thread.
  threads_.read(kPatient, target_.data(), source_.data(), kSmallReadBytes, kManyThreads);
  EXPECT_EQ(threads_noted(), std::set{std::this_thread::get_id()});
  EXPECT_EQ(std::memcmp(target_.data(), source_.data(), kSmallReadBytes), 0);
  // A thread needs tens of microseconds to wake: the burst has to be longer.
  constexpr int kBurst = 1000;
  EXPECT_TRUE(eventually([&] {
    slices.clear();
    for (int i = 0; i < kBurst && threads_noted().size() < 2; ++i) {
      threads_.read(kPatientIfShared, target_.data(), source_.data(), kSmallReadBytes,
                    kManyThreads);
    }
    return threads_noted().size() > 1;
  }));
  EXPECT_TRUE(eventually(all_asleep));
}

TEST_F(CopyThreadsTest, SeveralCallersAtOnceCopyTheirOwn) {
  constexpr int kNumCallers = 4;
  constexpr int kNumCopies = 150;
  constexpr std::size_t kShare = 2 * kMiB / kNumCallers;
  source_.fill_randomly(3);
  std::atomic<int> num_wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kNumCallers; ++caller) {
    callers.emplace_back([&, caller] {
      std::mt19937_64 random(static_cast<std::uint64_t>(caller));
      for (int i = 0; i < kNumCopies; ++i) {
        const std::size_t size = random() % (128 * kKiB);
        const std::size_t from = random() % kMiB;
        const std::size_t to =
            static_cast<std::size_t>(caller) * kShare + random() % (kShare - size);
        const auto copy = i % 2 == 0 ? &CopyThreads::write : &CopyThreads::read;
        (threads_.*copy)(best_streaming_copy(), target_.data() + to, source_.data() + from, size,
                         kManyThreads);
        if (std::memcmp(target_.data() + to, source_.data() + from, size) != 0) ++num_wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST_F(CopyThreadsTest, HelpersOfAPinnedCallerRunElsewhere) {
  std::vector<std::vector<int>> allowed;
  std::thread([&] {
    const int own = host::allowed_cpus().front();
    if (!host::allow_cpus({own})) return;
    threads_.start(kManyThreads);
    const auto has_moved = [&](const fs::path& task) {
      return status_of(task, "Cpus_allowed_list") != std::to_string(own);
    };
    EXPECT_TRUE(eventually([&] {
      const auto tasks = helpers();
      return tasks.size() == static_cast<std::size_t>(threads_.num_started()) &&
             std::all_of(tasks.begin(), tasks.end(), has_moved);
    }));
    for (const fs::path& task : helpers()) {
      allowed.push_back(host::parse_cpu_list(status_of(task, "Cpus_allowed_list")));
      EXPECT_EQ(std::count(allowed.back().begin(), allowed.back().end(), own), 0);
    }
  }).join();
  if (allowed.empty()) GTEST_SKIP() << "no helpers or no affinity here";
}

TEST_F(CopyThreadsTest, HelpersLeaveSignalsToTheProgram) {
  SKIP_WITHOUT_HELPERS(threads_);
  ASSERT_TRUE(eventually([] { return !helpers().empty(); }));
  const auto blocked = std::stoull(status_of(helpers().front(), "SigBlk"), nullptr, 16);
  const auto blocks = [&](int signal) { return (blocked >> (signal - 1) & 1U) != 0; };
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1}) EXPECT_TRUE(blocks(signal));
  for (const int fault : {SIGSEGV, SIGBUS}) EXPECT_FALSE(blocks(fault));
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0);
}

TEST_F(CopyThreadsTest, ThreadsEndWithTheirOwner) {
  {
    CopyThreads threads;
    threads.start(kManyThreads);
  }
  // The kernel still lists a thread for a moment after others have seen it end.
  EXPECT_TRUE(eventually([] { return helpers().empty(); }));
}

TEST_F(CopyThreadsTest, AForkedChildCopiesAloneAndForgetsTheThreads) {
  auto threads = std::make_unique<CopyThreads>();
  threads->start(kManyThreads);
  source_.fill_randomly(4);
  const auto copies = [&] {
    target_.fill(kUntouched);
    threads->write(kNoting, target_.data(), source_.data(), kMiB, kManyThreads);
    threads->read(kNoting, target_.data() + kMiB, source_.data() + kMiB, kMiB, kManyThreads);
    return std::memcmp(target_.data(), source_.data(), 2 * kMiB) == 0;
  };
  const pid_t child = fork();
  if (child == 0) {
    const bool copied = copies();
    const bool alone = threads_noted() == std::set{std::this_thread::get_id()};
    threads.reset();
    _exit(copied && alone ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(copies());
}

}  // namespace
}  // namespace isthmus::window
