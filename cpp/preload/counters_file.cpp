// The file of counters: one a process, mapped shared.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/binding.hpp"
#include "preload/counting.hpp"
#include "preload/replacing.hpp"
#include "preload/settings.hpp"
#include "preload/texts.hpp"

namespace isthmus::preload {

Header* header = nullptr;
Tables tables;
__thread Thread* own_thread __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr Layout kLayout;

Thread* threads = nullptr;  ///< one for each row of the table

/// In a forked child that has made no call yet: where its parent's counters lay, and what they said.
struct Parents {
  void* address;
  u32 emulated;
  u32 exec_mode;
};
Parents parents{};

size_t file_bytes() { return kLayout.events + settings.events * sizeof(Event); }

using Path = char[sizeof settings.folder + 64];
/// Of this process's file; not on the stack, as threads may have a small one.
Path path;
Path path_when_whole;

void name_file(Path& name, u64 begin_ns, const char* suffix) {
  copy_text(name, settings.folder);
  append_text(name, "/");
  append_number(name, static_cast<unsigned long>(getpid()));
  append_text(name, "-");
  append_number(name, begin_ns);
  append_text(name, suffix);
}

/// An empty file says that this process had no room for its counters.
void give_up(int file) {
  if (ftruncate(file, 0) != 0 || rename(path, path_when_whole) != 0) unlink(path);
  close(file);
}

/// A descriptor of a new file with room for all, or -1. Space is reserved: a full disk would be a
/// SIGBUS at some later call. Readers don't find it until its header is whole.
int new_file(u64 begin_ns) {
  if (settings.folder[0] == '\0') return -1;
  name_file(path, begin_ns, ".new");
  name_file(path_when_whole, begin_ns, ".counters");
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  rlimit most{};  // a file beyond it would be a SIGXFSZ
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur >= file_bytes() &&
      posix_fallocate(file, 0, static_cast<off_t>(file_bytes())) == 0)
    return file;
  give_up(file);
  return -1;
}

/// Maps the counters, in a child where its parent's lie.
bool map_file(u64 begin_ns, void* address) {
  const int file = new_file(begin_ns);
  const unsigned kind = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  const int flags = static_cast<int>(kind | (address != nullptr ? unsigned{MAP_FIXED} : 0U));
  void* const mapped = mmap(address, file_bytes(), PROT_READ | PROT_WRITE, flags, file, 0);
  if (mapped == MAP_FAILED) {
    if (file >= 0) give_up(file);
    return false;
  }
  if (file >= 0) close(file);
  auto* const base = static_cast<unsigned char*>(mapped);
  tables = {reinterpret_cast<ThreadRow*>(base + kLayout.threads),
            reinterpret_cast<CallRow*>(base + kLayout.rows),
            reinterpret_cast<SiteRow*>(base + kLayout.sites),
            reinterpret_cast<RepeatRow*>(base + kLayout.repeats),
            reinterpret_cast<Event*>(base + kLayout.events)};
  auto* const names = reinterpret_cast<EntryName*>(base + kLayout.entries);
  for (int i = 0; i < kNumEntries; ++i) {
    copy_text(names[i].name, entries[i].name);
    names[i].kind = entries[i].entry_class;
  }
  __atomic_store_n(&header, reinterpret_cast<Header*>(base), __ATOMIC_RELEASE);
  return true;
}

void read_command() {
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t length = read(file, header->command, sizeof header->command - 1);
  close(file);
  for (ssize_t i = 0; i + 1 < length; ++i)
    if (header->command[i] == '\0') header->command[i] = ' ';
}

void read_rank() {
  constexpr const char* names_of_ranks[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                            "PMI_RANK"};
  for (const char* name : names_of_ranks) {
    const char* const value = getenv(name);
    if (value == nullptr) continue;
    copy_text(header->rank, value);
    return;
  }
}

void fill_header(u64 begin_ns, u32 exec_mode) {
  memcpy(header->magic, kCountersMagic, sizeof header->magic);
  header->version = kCountersVersion;
  header->pid = static_cast<u32>(getpid());
  header->parent_pid = static_cast<u32>(getppid());
  header->entries_used = kNumEntries;
  header->exec_mode = exec_mode;
  header->begin_ns = begin_ns;
  header->begin_wall_ns = clock_ns(CLOCK_REALTIME);
  header->events_capacity = settings.events;
  read_command();
  read_rank();
  rename(path, path_when_whole);
}

Thread* begin_thread(u32 number) {
  Thread& thread = threads[number];
  thread = {};
  thread.is_own = true;
  thread.number = static_cast<u16>(number);
  thread.row = &tables.threads[number];
  thread.row->tid = static_cast<u32>(syscall(SYS_gettid));
  prctl(PR_GET_NAME, thread.row->name);
  return &thread;
}

__attribute__((destructor)) void at_end() {
  if (header != nullptr) header->end_ns = now_ns();
}

}  // namespace

void begin_counting() {
  begin_clock();
  const u64 begin_ns = now_ns();
  void* const made = mmap(nullptr, Layout::threads_capacity * sizeof(Thread),
                          PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return;
  threads = static_cast<Thread*>(made);
  if (!map_file(begin_ns, nullptr)) return;
  fill_header(begin_ns, static_cast<u32>(settings.exec));
}

void leave_parents_counters() {
  if (header != nullptr) parents = {header, header->emulated, header->exec_mode};
  if (parents.address == nullptr) return;
  // A call that was interrupted by the handler of a signal that forked still counts there.
  [[maybe_unused]] const void* const renewed =
      mmap(parents.address, file_bytes(), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  header = nullptr, own_thread = nullptr;
  settings.exec = Exec::off, settings.pins = false;
}

void begin_counting_in_child() {
  if (parents.address == nullptr) return;
  const u64 begin_ns = now_ns();
  if (map_file(begin_ns, parents.address)) {
    fill_header(begin_ns, parents.exec_mode);
    header->emulated = parents.emulated;
    if (header->exec_mode != 0) note_engine("a forked child: its copies are the driver's", false);
  }
  parents.address = nullptr;
}

Thread* this_thread() {
  if (own_thread != nullptr) [[likely]]
    return own_thread;
  if (header == nullptr && parents.address != nullptr) begin_counting_late();
  if (header == nullptr) return nullptr;
  constexpr u32 shared = Layout::threads_capacity - 1;
  if (__atomic_load_n(&header->threads_used, __ATOMIC_RELAXED) <= shared) {
    const u32 number = __atomic_fetch_add(&header->threads_used, 1, __ATOMIC_RELAXED);
    if (number < shared) return own_thread = begin_thread(number);
  }
  threads[shared].row = &tables.threads[shared];
  threads[shared].number = static_cast<u16>(shared);
  return &threads[shared];
}

}  // namespace isthmus::preload
