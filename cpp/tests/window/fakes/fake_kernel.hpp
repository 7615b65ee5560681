// A kernel for tests: the common part of all fakes of device files. It records every call, can make
// any call fail, and reports wrong use as a complaint.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "window/backends/device_files.hpp"

namespace isthmus::window::fakes {

/// Makes a call fail, once.
struct Refusal {
  std::string call;  ///< its name, as in FakeKernel::calls(); "" for every call
  int error = 0;     ///< what the system call returns: EPERM
  /// The resource manager's status, if `error` is 0. Calls that have none return EIO instead.
  std::uint32_t status = 0;
  int nth = 1;  ///< 1: the next call of that name
};

/// The argument of a call that reads this process's memory, "process_vm_readv".
struct MemoryRead {
  std::uintptr_t address = 0;
  void* target = nullptr;
  std::size_t size_bytes = 0;
};

/// Changes what calls ask or are answered. The argument is the ioctl's own, or a MemoryRead.
struct Disturbance {
  std::string call;                                 ///< its name, as in FakeKernel::calls()
  std::function<void(void* argument)> before = {};  ///< called before the call
  std::function<void(void* argument)> after = {};   ///< called after the call, if it succeeded
};

/// Descriptors are real ones, of /dev/null, so that fork() and close() affect them as usual. A
/// mapping shows real pages. May be used from any thread.
class FakeKernel {
public:
  virtual ~FakeKernel();
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  int open(const std::string& path);
  int control(int descriptor, unsigned long request, void* argument);
  int map(void* where, std::size_t size_bytes, int descriptor, off_t offset, void** mapped);
  void unmap(void* mapped, std::size_t size_bytes);
  void close(int descriptor);
  ssize_t read_memory(std::uintptr_t address, void* target, std::size_t size_bytes);
  /// A clock that advances only by the time of slow calls.
  std::uint64_t nanoseconds() const noexcept { return clock_ns_; }

  /// From now on each call of that name takes this long by this kernel's clock; 0 at first.
  void slow_down(const std::string& call, std::uint64_t nanoseconds);
  void refuse(Refusal refusal);
  /// From now on, for each call of that name.
  void disturb(Disturbance disturbance);
  /// Clears refusals, disturbances and the list of calls.
  void start_over();
  /// From now on mappings show the wrong memory.
  void show_wrong_memory() { wrong_memory_ = true; }

  /// The names of all calls so far, in order.
  std::vector<std::string> calls() const;
  int num_calls(const std::string& name) const;
  /// The call that failed last by request; "" if none did.
  std::string last_refused() const;
  /// Wrong uses by callers. A test must end with none.
  std::vector<std::string> complaints() const;
  std::size_t num_open_files() const;
  std::vector<int> open_descriptors() const;
  /// Mappings made here that still exist, in whichever way they should be unmapped.
  std::size_t num_mappings() const;

protected:
  FakeKernel() = default;

  /// Pages to map: of a file, or those of this process at `address`.
  struct Pages {
    int file = -1;
    off_t offset = 0;
    void* address = nullptr;
  };

  // Called with the lock held. Results as system calls return them: 0, or -errno.
  virtual int on_open(const std::string& path, int descriptor) = 0;
  virtual std::string name_of(unsigned long request, const void* argument) const = 0;
  virtual int on_control(int descriptor, unsigned long request, void* argument) = 0;
  /// Answers a call with a status of the resource manager.
  virtual void answer_status(unsigned long, void*, std::uint32_t) {}
  virtual int on_map(int descriptor, off_t offset, std::size_t size_bytes, Pages& pages) = 0;
  /// Called after `mapped` was mapped from `descriptor`.
  virtual void on_mapped(int, off_t, void*, std::size_t) {}
  virtual void on_unmap(void*) {}
  virtual void on_close(int descriptor) = 0;

  int complain(int error, const std::string& what);
  /// The mapping made from a descriptor at an offset; null if it doesn't exist any more.
  void* mapping_of(int descriptor, off_t offset) const;
  const std::map<int, std::string>& open_files() const { return open_files_; }

  mutable std::recursive_mutex mutex_;

private:
  struct Mapping {
    std::size_t size_bytes = 0;
    int descriptor = -1;
    off_t offset = 0;
  };
  void enter(const std::string& name);
  std::optional<Refusal> begin(const std::string& name);
  /// For calls without a status: what the system call returns if it is refused.
  std::optional<int> begin_plain(const std::string& name);
  using Part = std::function<void(void*)> Disturbance::*;
  void disturb_now(const std::string& name, Part part, void* argument) const;
  int map_pages(const Pages& pages, void* where, std::size_t size_bytes, void** mapped);
  bool is_there(void* address, const Mapping& mapping) const;

  std::map<int, std::string> open_files_;
  std::map<void*, Mapping> mappings_;
  std::vector<Refusal> refusals_;
  std::vector<Disturbance> disturbances_;
  std::vector<std::string> calls_;
  std::map<std::string, std::uint64_t> durations_ns_;
  std::atomic<std::uint64_t> clock_ns_{0};
  std::string last_refused_;
  std::vector<std::string> complaints_;
  bool wrong_memory_ = false;
};

/// The kernel in the form that backends use.
std::shared_ptr<const DeviceFiles> files_of(std::shared_ptr<FakeKernel> kernel);

}  // namespace isthmus::window::fakes
