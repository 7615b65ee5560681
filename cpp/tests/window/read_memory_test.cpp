// Reading this process's own memory by the kernel: an error where a load would raise a signal.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "backend_machine.hpp"
#include "window/backends/device_files.hpp"

namespace isthmus::window {
namespace {

TEST(ReadMemory, OfThisProcessGivesAnErrorWhereALoadWouldRaiseASignal) {
  const auto files = system_device_files();
  auto* const pages = static_cast<std::byte*>(mmap(
      nullptr, 3 * kHostPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  pages[0] = std::byte{42};
  munmap(pages + kHostPageBytes, kHostPageBytes);
  mprotect(pages + 2 * kHostPageBytes, kHostPageBytes, PROT_NONE);
  const auto address = reinterpret_cast<std::uintptr_t>(pages);
  std::array<std::byte, 512> found{};
  EXPECT_EQ(files->read_memory(address, found.data(), found.size()), 512);
  EXPECT_EQ(found[0], std::byte{42});
  EXPECT_EQ(files->read_memory(address + kHostPageBytes - 100, found.data(), found.size()), 100);
  EXPECT_EQ(files->read_memory(address + kHostPageBytes, found.data(), found.size()), -EFAULT);
  EXPECT_EQ(files->read_memory(address + 2 * kHostPageBytes, found.data(), found.size()), -EFAULT);
  EXPECT_EQ(files->read_memory(8, found.data(), found.size()), -EFAULT);
  EXPECT_EQ(files->read_memory(~std::uintptr_t{7}, found.data(), found.size()), -EFAULT);
  munmap(pages, 3 * kHostPageBytes);
}

/// From now on process_vm_readv fails with EPERM in this process, as sandboxes make it fail. False if
/// the system has no such filters.
bool forbid_reading_memory() {
  std::array program{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                     sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 0, 1),
                     sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                     sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(ReadMemory, OfThisProcessIsAnErrorWhereASandboxForbidsIt) {
  constexpr int kNoFilters = 2;
  const auto files = system_device_files();
  const pid_t child = fork();
  if (child == 0) {
    if (!forbid_reading_memory()) _exit(kNoFilters);
    std::uint64_t found = 0;
    const auto address = reinterpret_cast<std::uintptr_t>(&found);
    _exit(files->read_memory(address, &found, sizeof found) == -EPERM ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilters) GTEST_SKIP() << "this system has no seccomp filters";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace isthmus::window
