#include "fake_kernel.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <utility>

namespace isthmus::window::fakes {
namespace {

constexpr const char* kWrongMemory = "isthmus-wrong-memory";
constexpr const char* kReadMemory = "process_vm_readv";

class FakeFiles : public DeviceFiles {
public:
  explicit FakeFiles(std::shared_ptr<FakeKernel> kernel) : kernel_(std::move(kernel)) {}
  int open(const char* path) const override { return kernel_->open(path); }
  int control(int descriptor, unsigned long request, void* argument) const override {
    return kernel_->control(descriptor, request, argument);
  }
  int map(void* where, std::size_t size_bytes, int descriptor, off_t offset,
          void** mapped) const override {
    return kernel_->map(where, size_bytes, descriptor, offset, mapped);
  }
  void unmap(void* mapped, std::size_t size_bytes) const noexcept override {
    kernel_->unmap(mapped, size_bytes);
  }
  void close(int descriptor) const noexcept override { kernel_->close(descriptor); }
  ssize_t read_memory(std::uintptr_t address, void* target, std::size_t size_bytes) const override {
    return kernel_->read_memory(address, target, size_bytes);
  }
  std::uint64_t nanoseconds() const noexcept override { return kernel_->nanoseconds(); }

private:
  std::shared_ptr<FakeKernel> kernel_;
};

}  // namespace

std::shared_ptr<const DeviceFiles> files_of(std::shared_ptr<FakeKernel> kernel) {
  return std::make_shared<const FakeFiles>(std::move(kernel));
}

FakeKernel::~FakeKernel() {
  for (const auto& [descriptor, path] : open_files_) ::close(descriptor);
}

void FakeKernel::enter(const std::string& name) {
  calls_.push_back(name);
  const auto slow = durations_ns_.find(name);
  if (slow != durations_ns_.end()) clock_ns_ += slow->second;
}

std::optional<Refusal> FakeKernel::begin(const std::string& name) {
  enter(name);
  for (auto refusal = refusals_.begin(); refusal != refusals_.end(); ++refusal) {
    if (!refusal->call.empty() && refusal->call != name) continue;
    if (--refusal->nth != 0) continue;
    const Refusal chosen = *refusal;
    refusals_.erase(refusal);
    last_refused_ = name;
    return chosen;
  }
  return std::nullopt;
}

std::optional<int> FakeKernel::begin_plain(const std::string& name) {
  const std::optional<Refusal> refusal = begin(name);
  if (!refusal) return std::nullopt;
  return refusal->error != 0 ? -refusal->error : -EIO;
}

int FakeKernel::open(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const auto refused = begin_plain("open " + path)) return *refused;
  const int descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int result = on_open(path, descriptor);
  if (result < 0) {
    ::close(descriptor);
    return result;
  }
  open_files_[descriptor] = path;
  return descriptor;
}

int FakeKernel::control(int descriptor, unsigned long request, void* argument) {
  const std::lock_guard lock(mutex_);
  const std::string name = name_of(request, argument);
  const auto refusal = begin(name);
  if (!open_files_.contains(descriptor)) return complain(EBADF, "ioctl of a file that isn't open");
  if (!refusal) {
    disturb_now(name, &Disturbance::before, argument);
    const int result = on_control(descriptor, request, argument);
    if (result >= 0) disturb_now(name, &Disturbance::after, argument);
    return result;
  }
  if (refusal->error != 0) return -refusal->error;
  answer_status(request, argument, refusal->status);
  return 0;
}

ssize_t FakeKernel::read_memory(std::uintptr_t address, void* target, std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  if (const auto refused = begin_plain(kReadMemory)) return *refused;
  MemoryRead read{address, target, size_bytes};
  disturb_now(kReadMemory, &Disturbance::before, &read);
  const iovec here{target, size_bytes};
  const iovec there{reinterpret_cast<void*>(read.address), size_bytes};
  const ssize_t result = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  if (result < 0) return -errno;
  disturb_now(kReadMemory, &Disturbance::after, &read);
  return result;
}

int FakeKernel::map(void* where, std::size_t size_bytes, int descriptor, off_t offset,
                    void** mapped) {
  const std::lock_guard lock(mutex_);
  if (const auto refused = begin_plain("mmap")) return *refused;
  if (!open_files_.contains(descriptor)) return complain(EBADF, "mmap of a file that isn't open");
  Pages pages;
  int result = on_map(descriptor, offset, size_bytes, pages);
  if (result < 0) return result;
  result = map_pages(pages, where, size_bytes, mapped);
  if (result < 0) return complain(-result, "mmap: the fake has no such pages");
  mappings_[*mapped] = {size_bytes, descriptor, offset};
  on_mapped(descriptor, offset, *mapped, size_bytes);
  return 0;
}

int FakeKernel::map_pages(const Pages& pages, void* where, std::size_t size_bytes, void** mapped) {
  void* address = nullptr;
  if (wrong_memory_) {
    const int file = memfd_create(kWrongMemory, MFD_CLOEXEC);
    if (ftruncate(file, static_cast<off_t>(size_bytes)) != 0) return -errno;
    address = mmap(where, size_bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | (where != nullptr ? MAP_FIXED : 0), file, 0);
    ::close(file);
  } else if (pages.file >= 0) {
    address = mmap(where, size_bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | (where != nullptr ? MAP_FIXED : 0), pages.file, pages.offset);
  } else {
    // An old size of zero creates a second mapping of the same shared pages.
    const int flags = MREMAP_MAYMOVE | (where != nullptr ? MREMAP_FIXED : 0);
    address = mremap(pages.address, 0, size_bytes, flags, where);
  }
  if (address == MAP_FAILED) return -errno;
  *mapped = address;
  return 0;
}

void FakeKernel::unmap(void* mapped, std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  enter("munmap");
  const auto found = mappings_.find(mapped);
  if (found == mappings_.end() || found->second.size_bytes != size_bytes) {
    complain(EINVAL, "munmap of something that isn't mapped, or only of part of it");
    return;
  }
  mappings_.erase(found);
  on_unmap(mapped);
  ::munmap(mapped, size_bytes);
}

void FakeKernel::close(int descriptor) {
  const std::lock_guard lock(mutex_);
  enter("close");
  if (open_files_.erase(descriptor) == 0) {
    complain(EBADF, "close of a file that isn't open");
    return;
  }
  on_close(descriptor);
  ::close(descriptor);
}

void FakeKernel::slow_down(const std::string& call, std::uint64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  durations_ns_[call] = nanoseconds;
}

void FakeKernel::refuse(Refusal refusal) {
  const std::lock_guard lock(mutex_);
  refusals_.push_back(std::move(refusal));
}

void FakeKernel::disturb(Disturbance disturbance) {
  const std::lock_guard lock(mutex_);
  disturbances_.push_back(std::move(disturbance));
}

void FakeKernel::disturb_now(const std::string& name, Part part, void* argument) const {
  for (const Disturbance& disturbance : disturbances_)
    if (disturbance.call == name && disturbance.*part) (disturbance.*part)(argument);
}

void FakeKernel::start_over() {
  const std::lock_guard lock(mutex_);
  disturbances_.clear();
  refusals_.clear();
  calls_.clear();
  last_refused_.clear();
}

int FakeKernel::complain(int error, const std::string& what) {
  complaints_.push_back(what);
  return -error;
}

std::vector<std::string> FakeKernel::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

int FakeKernel::num_calls(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count(calls_.begin(), calls_.end(), name));
}

std::string FakeKernel::last_refused() const {
  const std::lock_guard lock(mutex_);
  return last_refused_;
}

std::vector<std::string> FakeKernel::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

std::size_t FakeKernel::num_open_files() const {
  const std::lock_guard lock(mutex_);
  return open_files_.size();
}

std::vector<int> FakeKernel::open_descriptors() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> descriptors;
  for (const auto& [descriptor, path] : open_files_) descriptors.push_back(descriptor);
  return descriptors;
}

// Callers may also unmap with munmap() directly, so this checks what the process has mapped.
bool FakeKernel::is_there(void* address, const Mapping& mapping) const {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &first, &last) != 2) continue;
    if (last <= wanted || first >= wanted + mapping.size_bytes) continue;
    if (line.find("memfd:isthmus") != std::string::npos) return true;
  }
  return false;
}

std::size_t FakeKernel::num_mappings() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(mappings_.begin(), mappings_.end(),
                    [&](const auto& entry) { return is_there(entry.first, entry.second); }));
}

void* FakeKernel::mapping_of(int descriptor, off_t offset) const {
  for (const auto& [address, mapping] : mappings_) {
    if (mapping.descriptor == descriptor && mapping.offset == offset && is_there(address, mapping))
      return address;
  }
  return nullptr;
}

}  // namespace isthmus::window::fakes
