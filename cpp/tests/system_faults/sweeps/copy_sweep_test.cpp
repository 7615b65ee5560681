// Every system and driver call that a copy makes fails once: the copy still succeeds, or fails with
// a documented error that says why. Nothing is freed early or leaked, no byte outside the target is
// written, and the next copy works.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <isthmus/errors.hpp>

#include "faults.hpp"
#include "transfer/mapped_file.hpp"
#include "transfer/random_file.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

using isthmus::test::ArmedFault;
using isthmus::test::Fault;
using isthmus::test::Possessions;
using isthmus::test::sweeps_ring;

constexpr std::size_t kBytes = 300 * kKiB + 7;
constexpr int kMaxCalls = 2000;
constexpr std::uint8_t kWatched = 0x5B;

enum class HostEnd { pageable, pinned, file };

/// A copy between the host and the device, by any path.
struct Operation {
  const char* name;
  HostEnd host;
  bool uploads;
  const char* path;        ///< or ""
  std::size_t size_bytes;  ///< up to kBytes
  bool is_asynchronous = false;
  SourceOrder source_order = SourceOrder::call;
  bool is_at_once = false;  ///< the stream has no work, and the window is open
};

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  return out << operation.name;
}

constexpr Operation kOperations[] = {
    {"window_upload", HostEnd::pageable, true, "window", 100},
    {"window_download", HostEnd::pageable, false, "window", 100},
    {"window_threads_upload", HostEnd::pageable, true, "window_threads", kBytes},
    {"window_threads_download", HostEnd::pageable, false, "window_threads", kBytes},
    {"driver_upload", HostEnd::pageable, true, "driver", kBytes},
    {"driver_download", HostEnd::pageable, false, "driver", kBytes},
    {"staged_upload", HostEnd::pageable, true, "staged", kBytes},
    {"staged_download", HostEnd::pageable, false, "staged", kBytes},
    {"registered_upload", HostEnd::pageable, true, "registered", kBytes},
    {"registered_download", HostEnd::pageable, false, "registered", kBytes},
    {"chosen_upload", HostEnd::pageable, true, "", kBytes},
    {"chosen_download", HostEnd::pageable, false, "", kBytes},
    {"pinned_upload", HostEnd::pinned, true, "", kBytes},
    {"pinned_download", HostEnd::pinned, false, "", kBytes},
    {"upload_from_a_file", HostEnd::file, true, "driver", kBytes},
    {"download_to_a_file", HostEnd::file, false, "driver", kBytes},
    {"staged_upload_from_a_file", HostEnd::file, true, "staged", kBytes},
    {"window_upload_from_a_file", HostEnd::file, true, "window", 100},
    {"async_upload", HostEnd::pageable, true, "", kBytes, true},
    {"async_upload_read_later", HostEnd::pageable, true, "", kBytes, true, SourceOrder::stream},
    {"async_download", HostEnd::pageable, false, "", kBytes, true},
    {"async_pinned_upload", HostEnd::pinned, true, "", kBytes, true, SourceOrder::stream},
    {"async_pinned_download", HostEnd::pinned, false, "", kBytes, true},
    {"upload_at_once", HostEnd::pageable, true, "", 100, true, SourceOrder::call, true},
    {"download_at_once", HostEnd::pageable, false, "", 100, true, SourceOrder::call, true},
};

/// Opens a gate when it is destroyed, or after a while: to unpin memory, the driver waits for all
/// work, including the gate.
class Opener {
public:
  explicit Opener(contract::Gate& gate) : gate_(gate), thread_([this] { run(); }) {}
  ~Opener() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;

private:
  void run() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(25), [this] { return over_; });
    gate_.open();
  }

  contract::Gate& gate_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

class CopySweep : public TransfersUnderTest, public testing::WithParamInterface<Operation> {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
    emulator_.emplace(driver());
    device_ = device_memory(kBytes + 2 * kGuardBytes);
    own_ = stream();
    make_host();
    gate_.emplace(driver(), flag_, device_pointer(flag_));
    gate_->open();
    drop_transfers();
  }
  void TearDown() override {
    gate_.reset();
    if (emulator_) emulator_->reset();
    file_.reset();
    TransfersUnderTest::TearDown();
  }

  std::size_t size_bytes() const { return GetParam().size_bytes; }
  std::uint8_t* host() const { return host_ + kGuardBytes; }

  void make_host() {
    flag_ = pinned_memory<std::uint32_t>(1);
    const std::size_t whole_bytes = kBytes + 2 * kGuardBytes;
    if (GetParam().host == HostEnd::pinned) {
      host_ = pinned_memory(whole_bytes);
    } else if (GetParam().host == HostEnd::file) {
      file_.emplace(Bytes(whole_bytes));
      host_ = reinterpret_cast<std::uint8_t*>(file_->data());
    } else {
      pageable_.resize(whole_bytes);
      host_ = pageable_.data();
    }
  }

  /// Random bytes, others for each call up to kMaxCalls.
  Bytes bytes_to_send(int nth) const {
    const auto begin = random_.begin() + nth;
    return {begin, begin + static_cast<std::ptrdiff_t>(size_bytes())};
  }

  /// Fills the source with the bytes to send, and surrounds the target with guards.
  void prepare(const Bytes& sent) {
    std::fill_n(host_, kBytes + 2 * kGuardBytes, kGuard);
    if (GetParam().uploads) {
      fill(device_, kBytes + 2 * kGuardBytes, kGuard);
      std::copy(sent.begin(), sent.end(), host());
    } else {
      send_to_device(device_ + kGuardBytes, sent);
    }
  }
  Bytes target_and_guards() {
    if (GetParam().uploads) return on_device(device_, kBytes + 2 * kGuardBytes);
    return {host_, host_ + kBytes + 2 * kGuardBytes};
  }

  void copy() {
    void* const device = to_pointer(device_ + kGuardBytes);
    void* const target = GetParam().uploads ? device : host();
    const void* const source = GetParam().uploads ? host() : device;
    CopyOptions options = in(own_);
    if (GetParam().is_at_once) {
      options.path = "window";  // opens one
      transfers().copy(target, source, size_bytes(), options);
    }
    options.path = GetParam().path;
    if (!GetParam().is_asynchronous) return transfers().copy(target, source, size_bytes(), options);
    CopyFuture future =
        transfers().copy_async(target, source, size_bytes(), options, GetParam().source_order);
    gate_->open();
    future.wait();
  }

  /// The message of a copy's error; "" if it succeeded.
  std::string ending() {
    try {
      copy();
      return "";
    } catch (const DriverError& error) {
      in_use_ = error.memory_in_use();
      EXPECT_FALSE(in_use_ && !GetParam().is_asynchronous)
          << "the driver works again, and who waits can ask it: " << error.what();
      return error.what();
    } catch (const Unavailable& error) {
      return error.what();
    } catch (const std::bad_alloc& error) {
      return error.what();
    }
  }

  /// One copy with one call failing. Returns false if there was no such call.
  bool copy_failing(const Fault& fault, int nth) {
    const Bytes sent = bytes_to_send(nth);
    prepare(sent);
    std::optional<Opener> opener;
    if (GetParam().is_asynchronous && !GetParam().is_at_once) {
      gate_->set(0);
      gate_->hold(own_);
      opener.emplace(*gate_);
    }
    ArmedFault armed(*emulator_, fault, nth);
    const std::string failure = ending();
    const bool failed = armed.end();
    EXPECT_TRUE(failed || failure.empty()) << failure;
    if (fault.function == "thread" && !GetParam().is_asynchronous) {
      EXPECT_EQ(failure, "") << "a blocking copy does without threads";
    }
    if (failure.empty()) {
      require_arrived(sent);
    } else {
      require_untouched();
    }
    return failed;
  }

  void require_arrived(const Bytes& sent) {
    driver().call(symbol::ctx_synchronize)();
    const Bytes found = target_and_guards();
    EXPECT_EQ(std::memcmp(found.data() + kGuardBytes, sent.data(), sent.size()), 0);
    require_guards(found);
  }
  /// A caller that was told that the copy failed may reuse its memory, unless the error says that
  /// it may be in use.
  void require_untouched() {
    require_guards(target_and_guards());
    if (std::exchange(in_use_, false)) {
      gate_->open();
      driver().call(symbol::ctx_synchronize)();
      return;
    }
    std::fill_n(host_, kBytes + 2 * kGuardBytes, kWatched);
    gate_->open();
    driver().call(symbol::ctx_synchronize)();
    EXPECT_TRUE(
        all_are({host_, host_ + kBytes + 2 * kGuardBytes}, 0, kBytes + 2 * kGuardBytes, kWatched))
        << "the copy went on after it had failed";
  }
  void require_guards(const Bytes& found) {
    EXPECT_TRUE(all_are(found, 0, kGuardBytes, kGuard));
    EXPECT_TRUE(all_are(found, kGuardBytes + size_bytes(), found.size(), kGuard));
  }
  void require_no_more_than(const Possessions& before) {
    EXPECT_TRUE(eventually([&] { return Possessions::now(*emulator_).is_no_more_than(before); }))
        << "left: " << Possessions::now(*emulator_) << "; before: " << before;
  }
  void require_next_copy_works() {
    const Bytes sent = bytes_to_send(0);
    prepare(sent);
    EXPECT_EQ(ending(), "");
    require_arrived(sent);
  }

  /// Makes each call fail in turn.
  void sweep(const Fault& fault, const std::function<void()>& before_each,
             const std::function<void()>& after_each) {
    for (int nth = 1; nth <= kMaxCalls; ++nth) {
      SCOPED_TRACE(fault.function + " call " + std::to_string(nth));
      before_each();
      const bool failed = copy_failing(fault, nth);
      require_next_copy_works();
      after_each();
      if (!failed || HasFailure()) return;
      ++num_failures_;
    }
    ADD_FAILURE() << fault.function << " is called without an end";
  }

  std::vector<Fault> all_faults() {
    std::vector<Fault> faults = isthmus::test::system_faults();
    emulator_->log_calls(1);
    make_transfers(sweeps_ring());
    require_next_copy_works();
    emulator_->log_calls(0);
    for (const auto& [symbol, count] : isthmus::test::counts_of_calls(emulator_->call_log()))
      if (!isthmus::test::releases(symbol))
        faults.push_back({symbol, true, CUDA_ERROR_ILLEGAL_ADDRESS});
    emulator_->reset();
    drop_transfers();
    return faults;
  }

  std::optional<isthmus::test::EmulatorControls> emulator_;
  CUdeviceptr device_ = 0;
  CUstream own_ = nullptr;
  std::uint32_t* flag_ = nullptr;
  std::optional<contract::Gate> gate_;
  std::optional<MappedFile> file_;
  Bytes pageable_;
  const Bytes random_ = pattern(kBytes + kMaxCalls, 1);
  std::uint8_t* host_ = nullptr;
  bool in_use_ = false;  ///< memory of the last failure
  int num_failures_ = 0;
};

TEST_P(CopySweep, WhoseTransfersAreNewLeavesNothingBehind) {
  for (const Fault& fault : all_faults()) {
    const Possessions before = Possessions::now(*emulator_);
    // A handle is lost if its context can't be made current to release it.
    if (fault.function == "cuCtxPushCurrent") continue;
    sweep(
        fault, [this] { make_transfers(sweeps_ring()); },
        [&] {
          drop_transfers();
          require_no_more_than(before);
        });
    if (HasFailure()) return;
  }
  EXPECT_GT(num_failures_, 0);
  RecordProperty("num_failures", num_failures_);
}

TEST_P(CopySweep, WhoseTransfersHaveCopiedBeforeGoesOn) {
  const std::vector<Fault> faults = all_faults();
  make_transfers(sweeps_ring());
  require_next_copy_works();
  for (const Fault& fault : faults) {
    sweep(fault, [] {}, [] {});
    if (HasFailure()) return;
  }
  RecordProperty("num_failures", num_failures_);
}

INSTANTIATE_TEST_SUITE_P(All, CopySweep, testing::ValuesIn(kOperations),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace isthmus::transfer
