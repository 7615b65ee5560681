// Replaces system functions, and calls the real ones.
#include "system_faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum class Kind { none, operator_new, thread, mmap, mlock, open, write, fsync, rename };

constexpr std::array<std::pair<std::string_view, Kind>, 8> kKinds{{{"new", Kind::operator_new},
                                                                   {"thread", Kind::thread},
                                                                   {"mmap", Kind::mmap},
                                                                   {"mlock", Kind::mlock},
                                                                   {"open", Kind::open},
                                                                   {"write", Kind::write},
                                                                   {"fsync", Kind::fsync},
                                                                   {"rename", Kind::rename}}};

// Libraries that others call through, and whose own calls aren't counted.
constexpr std::array<std::string_view, 7> kRuntime{
    "libstdc++", "libc.so", "libgcc_s", "ld-linux", "libpthread", "linux-vdso", "system_faults"};

enum class Owner { others, runtime, counted };

struct Module {
  std::uintptr_t begin;
  std::uintptr_t end;
  Owner owner;
};

std::atomic<Kind> armed{Kind::none};
std::atomic<int> calls_left{0};
std::atomic<int> num_calls{0};
std::vector<Module>& modules() {
  static auto* const all = new std::vector<Module>;
  return *all;
}
thread_local bool is_asking = false;

bool has_any(std::string_view name, std::string_view parts) {
  while (!parts.empty()) {
    const std::size_t end = std::min(parts.find(' '), parts.size());
    const std::string_view part = parts.substr(0, end);
    if (part == "main" ? name.empty() : (!part.empty() && name.find(part) != name.npos))
      return true;
    parts.remove_prefix(std::min(end + 1, parts.size()));
  }
  return false;
}

Owner owner_of(std::string_view name, std::string_view counted) {
  if (has_any(name, counted)) return Owner::counted;
  for (const std::string_view part : kRuntime)
    if (name.find(part) != name.npos) return Owner::runtime;
  return Owner::others;
}

int add_module(dl_phdr_info* info, std::size_t /*size*/, void* counted) {
  const Owner owner = owner_of(info->dlpi_name, *static_cast<std::string_view*>(counted));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    modules().push_back({begin, begin + header.p_memsz, owner});
  }
  return 0;
}

Owner owner_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Module& module : modules())
    if (at >= module.begin && at < module.end) return module.owner;
  return Owner::others;
}

/// Goes outwards from one caller to the next, as far as the runtime reaches, which includes this
/// library.
_Unwind_Reason_Code leave_the_runtime(_Unwind_Context* frame, void* found) {
  auto& owner = *static_cast<Owner*>(found);
  owner = owner_at(reinterpret_cast<const void*>(_Unwind_GetIP(frame)));
  return owner == Owner::runtime ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

/// Looks at the innermost caller that isn't the runtime.
bool is_called_by_a_counted_module() {
  Owner owner = Owner::runtime;
  _Unwind_Backtrace(leave_the_runtime, &owner);
  return owner == Owner::counted;
}

/// True if this call must fail. Of those after it nobody asks who makes them: that takes long.
bool refuses(Kind kind) {
  if (armed.load(std::memory_order_acquire) != kind || is_asking) return false;
  is_asking = true;
  const bool counted = calls_left.load() > 0 && is_called_by_a_counted_module();
  is_asking = false;
  if (!counted) return false;
  num_calls.fetch_add(1);
  return calls_left.fetch_sub(1) == 1;
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void* allocate(std::size_t size_bytes, std::size_t alignment_bytes) {
  if (refuses(Kind::operator_new)) return nullptr;
  if (alignment_bytes == 0) return std::malloc(size_bytes == 0 ? 1 : size_bytes);
  const std::size_t whole = (size_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  return std::aligned_alloc(alignment_bytes, whole);
}

void* allocate_or_throw(std::size_t size_bytes, std::size_t alignment_bytes) {
  void* const memory = allocate(size_bytes, alignment_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

mode_t mode_of(int flags, std::va_list arguments) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? va_arg(arguments, mode_t) : 0;
}

int open_unless_refused(int folder, const char* path, int flags, mode_t mode) {
  if (refuses(Kind::open)) {
    errno = EMFILE;
    return -1;
  }
  static const auto next = real<int (*)(int, const char*, int, mode_t)>("openat");
  return next(folder, path, flags, mode);
}

}  // namespace

int isthmus_system_faults_arm(const char* kind, int nth, const char* counted) {
  for (const auto& [name, value] : kKinds) {
    if (name != kind) continue;
    armed = Kind::none;
    modules().clear();
    std::string_view parts(counted);
    dl_iterate_phdr(add_module, &parts);
    num_calls = 0;
    calls_left = nth;
    armed.store(value, std::memory_order_release);
    return 0;
  }
  return -1;
}

int isthmus_system_faults_disarm(void) {
  armed = Kind::none;
  return num_calls;
}

// --- memory --------------------------------------------------------------------------------------

void* operator new(std::size_t size_bytes) { return allocate_or_throw(size_bytes, 0); }
void* operator new[](std::size_t size_bytes) { return allocate_or_throw(size_bytes, 0); }
void* operator new(std::size_t size_bytes, std::align_val_t alignment) {
  return allocate_or_throw(size_bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size_bytes, std::align_val_t alignment) {
  return allocate_or_throw(size_bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size_bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size_bytes, 0);
}
void* operator new[](std::size_t size_bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size_bytes, 0);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/,
                       std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

// --- threads and mappings ------------------------------------------------------------------------

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  if (refuses(Kind::thread)) return EAGAIN;
  static const auto next = real<decltype(&pthread_create)>("pthread_create");
  return next(thread, attributes, run, argument);
}

void* mmap(void* address, std::size_t size_bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  if (refuses(Kind::mmap)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  static const auto next = real<decltype(&mmap)>("mmap");
  return next(address, size_bytes, protection, flags, file, offset);
}

int mlock(const void* address, std::size_t size_bytes) noexcept {
  if (refuses(Kind::mlock)) {
    errno = ENOMEM;
    return -1;
  }
  static const auto next = real<decltype(&mlock)>("mlock");
  return next(address, size_bytes);
}

// --- files ---------------------------------------------------------------------------------------

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_unless_refused(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_unless_refused(folder, path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) {
  if (refuses(Kind::open)) {
    errno = EMFILE;
    return nullptr;
  }
  static const auto next = real<decltype(&fopen)>("fopen");
  return next(path, mode);
}

int fcntl(int file, int command, ...) {
  std::va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if ((command == F_DUPFD_CLOEXEC || command == F_DUPFD) && refuses(Kind::open)) {
    errno = EMFILE;
    return -1;
  }
  static const auto next = real<int (*)(int, int, void*)>("fcntl");
  return next(file, command, argument);
}

ssize_t write(int file, const void* bytes, std::size_t size_bytes) {
  if (refuses(Kind::write)) {
    errno = ENOSPC;
    return -1;
  }
  static const auto next = real<decltype(&write)>("write");
  return next(file, bytes, size_bytes);
}

ssize_t pwrite(int file, const void* bytes, std::size_t size_bytes, off_t offset) {
  if (refuses(Kind::write)) {
    errno = ENOSPC;
    return -1;
  }
  static const auto next = real<decltype(&pwrite)>("pwrite");
  return next(file, bytes, size_bytes, offset);
}

int fsync(int file) {
  if (refuses(Kind::fsync)) {
    errno = EIO;
    return -1;
  }
  static const auto next = real<decltype(&fsync)>("fsync");
  return next(file);
}

int rename(const char* from, const char* to) noexcept {
  if (refuses(Kind::rename)) {
    errno = EIO;
    return -1;
  }
  static const auto next = real<decltype(&rename)>("rename");
  return next(from, to);
}

}  // extern "C"
