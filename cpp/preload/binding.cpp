#include "preload/binding.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "preload/counting.hpp"
#include "preload/settings.hpp"

#if !defined(__x86_64__)
#error "the trampoline of dlsym is written for x86-64"
#endif

extern "C" {
// The trampoline reads it.
__attribute__((visibility("hidden"))) isthmus::preload::Dlsym isthmus_real_dlsym = nullptr;
}

namespace isthmus::preload {

DriverFunctions driver;

namespace {

/// The code of a library, from whose calls nothing is wanted.
struct Range {
  uintptr_t begin;
  uintptr_t end;
};
constexpr int kMaxIgnored = 4;
Range ignored[kMaxIgnored];
int num_ignored = 0;

struct Search {
  uintptr_t address;
  Range found;
};
int find_range(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  Range range{UINTPTR_MAX, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (begin < range.begin) range.begin = begin;
    if (begin + segment.p_memsz > range.end) range.end = begin + segment.p_memsz;
  }
  if (search.address < range.begin || search.address >= range.end) return 0;
  search.found = range;
  return 1;
}

bool is_ignored(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  const int number = __atomic_load_n(&num_ignored, __ATOMIC_ACQUIRE);
  for (int i = 0; i < number; ++i)
    if (address >= ignored[i].begin && address < ignored[i].end) return true;
  return false;
}

pthread_mutex_t binding = PTHREAD_MUTEX_INITIALIZER;
bool is_bound = false;

DriverFunctions functions_of(void* library, Dlsym find) {
#define ISTHMUS_FUNCTION(type, symbol, member) reinterpret_cast<PFN_##type>(find(library, #symbol)),
  return {ISTHMUS_DRIVER_FUNCTIONS(ISTHMUS_FUNCTION)};
#undef ISTHMUS_FUNCTION
}

/// Another thread may have held the lock when the process was forked.
void in_child() {
  binding = PTHREAD_MUTEX_INITIALIZER;
  if (is_bound) leave_parents_counters();
}

__attribute__((constructor)) void at_start() {  // while there is one thread
  real_dlsym();
  read_settings();
  pthread_atfork(nullptr, nullptr, in_child);
}

/// Others that were preloaded behind us have a function of that name: who is linked with it calls
/// theirs, as without us. What they ask for, and what programs ask the driver for, is watched.
void let_others_between(Entry& entry, void* theirs) {
  entry.given = entry.apart;
  __atomic_store_n(entry.linked, theirs, __ATOMIC_RELEASE);
}

bool is_shared(const Entry& entry) { return entry.given != entry.exported; }

bool are_of_one_library(const void* one, const void* other) {
  Dl_info first{};
  Dl_info second{};
  return dladdr(one, &first) != 0 && dladdr(other, &second) != 0 &&
         first.dli_fbase == second.dli_fbase;
}

/// A signal handler that calls the driver must not meet a lock that its own thread holds.
template <typename Work>
void locked(Work work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_mutex_lock(&binding);
  work();
  pthread_mutex_unlock(&binding);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

Entry* entry_named(const char* name) {
  if (strncmp(name, "cu", 2) != 0) return nullptr;
  for (Entry& entry : entries)
    if (strcmp(entry.name, name) == 0) return &entry;
  return nullptr;
}

Dlsym real_dlsym() {
  Dlsym found = __atomic_load_n(&isthmus_real_dlsym, __ATOMIC_ACQUIRE);
  if (found != nullptr) return found;
  // Every libc has this version. One that isn't found would allocate, and malloc may be a library's
  // that calls dlsym.
  found = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  if (found == nullptr) abort();  // no libc that this library could have been linked with
  __atomic_store_n(&isthmus_real_dlsym, found, __ATOMIC_RELEASE);
  return found;
}

void ignore_calls_from(const void* function) {
  Search search{reinterpret_cast<uintptr_t>(function), {}};
  dl_iterate_phdr(find_range, &search);
  const int number = __atomic_load_n(&num_ignored, __ATOMIC_RELAXED);
  if (search.found.end == 0 || number == kMaxIgnored) return;
  ignored[number] = search.found;
  __atomic_store_n(&num_ignored, number + 1, __ATOMIC_RELEASE);
}

bool bind_driver() {
  if (__atomic_load_n(&is_bound, __ATOMIC_ACQUIRE)) return true;
  const int error = errno;
  const Dlsym find = real_dlsym();
  // Kept open: the driver can't be unloaded anyway.
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    errno = error;
    return false;
  }
  void* found[kNumEntries];
  void* next[kNumEntries];
  for (int i = 0; i < kNumEntries; ++i) {
    found[i] = find(library, entries[i].name);
    next[i] = find(RTLD_NEXT, entries[i].name);
  }
  const DriverFunctions functions = functions_of(library, find);
  const bool is_emulated = find(library, "isthmus_emulator_profile") != nullptr;
  // The last that is looked for is there: dlerror() says nothing of the others.
  Search search{reinterpret_cast<uintptr_t>(find(library, "cuInit")), {}};
  dl_iterate_phdr(find_range, &search);

  locked([&] {
    if (is_bound) return;
    driver = functions;
    ignored[0] = search.found;  // the driver asks for its own functions
    num_ignored = 1;
    read_settings();
    begin_counting();
    if (header != nullptr) header->emulated = is_emulated ? 1 : 0;
    // Last: other threads' calls don't wait for the lock from then on, and are to be counted.
    for (int i = 0; i < kNumEntries; ++i) {
      if (next[i] != nullptr && next[i] != found[i]) let_others_between(entries[i], next[i]);
      if (found[i] != nullptr) __atomic_store_n(&entries[i].real, found[i], __ATOMIC_RELEASE);
    }
    __atomic_store_n(&is_bound, true, __ATOMIC_RELEASE);
  });
  errno = error;
  return true;
}

void begin_counting_late() {
  const int error = errno;
  locked(begin_counting_in_child);
  errno = error;
}

void* substitute(void* address) {
  if (address == nullptr || !bind_driver()) return address;
  for (int i = kNumEntries; i-- > 0;)  // of two names of one function, the later row
    if (entries[i].real == address) return entries[i].given;
  return address;
}

void* bind_late(Entry& entry) {
  if (bind_driver() && entry.real != nullptr) return is_shared(entry) ? *entry.linked : entry.real;
  return real_dlsym()(RTLD_NEXT, entry.name);
}

namespace {

struct Found {
  void* value;
  long is_handled;
};

/// What a program's dlsym gives. Not handled: libc's is jumped to, as if nobody had looked.
extern "C" __attribute__((visibility("hidden"), used)) Found isthmus_dlsym(void* handle,
                                                                           const char* name,
                                                                           void* caller) {
  const Dlsym find = real_dlsym();
  if (name == nullptr || name[0] != 'c' || name[1] != 'u' || name[2] < 'A' || name[2] > 'Z')
    return {nullptr, 0};
  Entry* const entry = entry_named(name);
  if (handle == RTLD_NEXT) {  // another interposer's way to the real one
    const bool is_between = entry != nullptr && bind_driver() && is_shared(*entry) &&
                            are_of_one_library(*entry->linked, caller);
    return is_between ? Found{entry->given, 1} : Found{nullptr, 0};
  }
  if (entry == nullptr) {
    if (find(handle, name) != nullptr) note_unwatched(name, 0);
    return {nullptr, 0};
  }
  if (is_ignored(caller)) return {nullptr, 0};
  void* found = find(handle, name);
  // RTLD_DEFAULT, and a handle of the program itself, find us, who were not there.
  if (found == entry->exported) found = find(RTLD_NEXT, name);
  void* const given = substitute(found);
  if (given == found && found != nullptr && handle != RTLD_DEFAULT)
    note_unwatched(name, 0);  // a second driver's
  return {given, 1};          // null: dlerror() says what it would have said
}

}  // namespace
}  // namespace isthmus::preload

__asm__(
    ".text\n"
    ".globl dlsym\n"
    ".type dlsym,@function\n"
    ".p2align 4\n"
    "dlsym:\n"
    "  endbr64\n"
    "  push %rdi\n"
    "  push %rsi\n"
    "  sub $8, %rsp\n"
    "  mov 24(%rsp), %rdx\n"
    "  call isthmus_dlsym\n"
    "  add $8, %rsp\n"
    "  pop %rsi\n"
    "  pop %rdi\n"
    "  test %rdx, %rdx\n"
    "  jne 1f\n"
    "  mov isthmus_real_dlsym(%rip), %rax\n"
    "  jmp *%rax\n"
    "1: ret\n"
    ".size dlsym,.-dlsym\n");
