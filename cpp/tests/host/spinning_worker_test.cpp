#include "host/cpu/spinning_worker.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../eventually.hpp"
#include "host/cpu/cpu_list.hpp"

namespace isthmus::host {
namespace {

/// A job for a test to observe.
struct Job {
  const std::function<void()>* run = nullptr;

  void operator()() const { (*run)(); }
};
using Worker = SpinningWorker<Job>;

constexpr const char* kName = "isthmus-test";

void do_by(Worker& worker, const std::function<void()>& run) {
  worker.post({&run});
  worker.wake();
  worker.wait();
}

void await_sleep(const Worker& worker) {
  ASSERT_TRUE(test::eventually([&] { return worker.asleep(); }));
}

TEST(ASpinningWorker, DoesEachJobOnceOnItsOwnThread) {
  Worker worker(kName, {});
  int count = 0;
  const std::function<void()> add = [&, caller = std::this_thread::get_id()] {
    EXPECT_NE(std::this_thread::get_id(), caller);
    ++count;
  };
  for (int i = 0; i < 1000; ++i) do_by(worker, add);
  EXPECT_EQ(count, 1000);
}

TEST(ASpinningWorker, NeedsNoWakingWhileItIsToStayAwake) {
  std::atomic<bool> stay_awake{true};
  Worker worker(kName, {}, std::chrono::microseconds(0), &stay_awake);
  int count = 0;
  const std::function<void()> add = [&] { ++count; };
  for (int i = 0; i < 100; ++i) {
    std::this_thread::yield();
    worker.post({&add});
    worker.wait();
  }
  EXPECT_EQ(count, 100);
  stay_awake = false;
  await_sleep(worker);
}

TEST(ASpinningWorker, HasItsNameItsCpusAndNoSignals) {
  const std::vector<int> cpus{allowed_cpus().front()};
  Worker worker(kName, cpus);
  do_by(worker, [&] {
    char name[16];
    ASSERT_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    EXPECT_STREQ(name, kName);
    EXPECT_EQ(allowed_cpus(), cpus);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_TRUE(sigismember(&blocked, SIGTERM));
    EXPECT_FALSE(sigismember(&blocked, SIGBUS));
  });
}

TEST(ASpinningWorker, DoesAJobOrItIsTakenBackButNeverBoth) {
  Worker worker(kName, {});
  int done = 0;
  int taken_back = 0;
  const std::function<void()> add = [&] { ++done; };
  for (int i = 0; i < 10000; ++i) {
    worker.post({&add});
    worker.wake();
    if (worker.take_back()) {
      ++taken_back;
    } else {
      worker.wait();
    }
  }
  EXPECT_EQ(done + taken_back, 10000);
}

TEST(ASpinningWorker, ThatSleepsIsWokenForAJob) {
  Worker worker(kName, {});
  int count = 0;
  const std::function<void()> add = [&] { ++count; };
  for (int i = 0; i < 20; ++i) {
    await_sleep(worker);
    do_by(worker, add);
  }
  EXPECT_EQ(count, 20);
}

TEST(ASpinningWorker, IsWokenByAnotherWorker) {
  Worker first(kName, {});
  Worker second(kName, {});
  int count = 0;
  const std::function<void()> wake_second = [&] { second.wake(); };
  const std::function<void()> add = [&] { ++count; };
  for (int i = 0; i < 20; ++i) {
    await_sleep(first);
    await_sleep(second);
    second.post({&add});
    do_by(first, wake_second);
    second.wait();
  }
  EXPECT_EQ(count, 20);
}

TEST(ASpinningWorker, TakesJobsOfManyThreadsOneAfterAnother) {
  Worker worker(kName, {});
  std::mutex turn;
  int count = 0;
  const std::function<void()> add = [&] { ++count; };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < 500; ++n) {
        const std::lock_guard lock(turn);
        do_by(worker, add);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(count, 2000);
}

TEST(ASpinningWorker, EndsWhileItSpinsOrSleepsOrHasDoneNothing) {
  const std::function<void()> nothing = [] {};
  for (int i = 0; i < 100; ++i) Worker(kName, {});
  for (int i = 0; i < 100; ++i) {
    Worker worker(kName, {});
    do_by(worker, nothing);
  }
  for (int i = 0; i < 20; ++i) {
    Worker worker(kName, {});
    await_sleep(worker);
  }
}

TEST(ASpinningWorker, WorksOnInAProcessThatHasForked) {
  auto worker = std::make_unique<Worker>(kName, std::vector<int>{});
  int count = 0;
  const std::function<void()> add = [&] { ++count; };
  do_by(*worker, add);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    [[maybe_unused]] const Worker* const forgotten = worker.release();
    _exit(0);
  }
  do_by(*worker, add);
  EXPECT_EQ(count, 2);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace isthmus::host
