#include "machine/profiles.hpp"

#include <algorithm>
#include <array>

namespace isthmus::emulator {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMiB = 1024UL * 1024;
constexpr std::size_t kGiB = 1024 * kMiB;

/// Pinning is the work of the host's kernel, so a slower link doesn't make it slower: these are the
/// figures of an H100's machine (benchmarks/link/h100/run.txt, rounded). There cuMemHostAlloc of 64
/// MiB takes 23 to 32 ms, its free 7 to 10; registering 64 MiB 2.3 ms if the pages exist, else 23.
constexpr MemoryCosts kPinningAsOnAnH100{
    .pin = {microseconds(2), 1400},
    .unpin = {microseconds(2), 400},
    .enroll = {microseconds(41), 140},
    .first_touch_ns = 1200,
    .withdraw = {microseconds(28), 65},
    .device_block = {microseconds(2), 0},
    .device_allocation = {microseconds(43), 0.4},
    .device_free = {microseconds(41), 2.4},
};

/// The default. Slow enough that a laptop's memcpy, which does every copy, keeps up with it.
constexpr Profile kSmall{
    .name = "small",
    .summary = "one GPU behind a small link: 3 GB/s pinned, 1 GB/s pageable (default)",
    .device_name = "Isthmus Emulated GPU (small link)",
    .num_devices = 1,
    .driver_version = 13000,
    .memory_bytes = 6 * kGiB,
    .pinned_bytes_per_s = 3e9,
    .pageable_bytes_per_s = 1e9,
    .device_bytes_per_s = 20e9,
    .copy_latency = microseconds(10),
    .launch_latency = microseconds(5),
    // Latencies are twice those of an H100, as those of copies are. The shares of the link are an
    // H100's (prototypes): one thread's writes 20.6 of 55.1 GB/s, a kernel's reads 50.9.
    .direct = {.window_write = nanoseconds(250),
               .window_write_bytes_per_s = 1.2e9,
               .window_read = microseconds(2),
               .kernel_read = nanoseconds(2400),
               .kernel_write = nanoseconds(1200),
               .kernel_bytes_per_s = 2.8e9},
    .memory_costs = kPinningAsOnAnH100,
    .stream_memory_operations = true,
};

/// `small` with some changes.
template <typename Change>
constexpr Profile like_small(std::string_view name, std::string_view summary, Change change) {
  Profile profile = kSmall;
  profile.name = name;
  profile.summary = summary;
  change(profile);
  return profile;
}

constexpr std::array kProfiles{
    kSmall,
    like_small("two-gpus", "two such GPUs, each with its own link",
               [](Profile& p) { p.num_devices = 2; }),
    like_small("no-gpu", "a driver without a device: cuInit fails with CUDA_ERROR_NO_DEVICE",
               [](Profile& p) { p.num_devices = 0; }),
    like_small("old-driver", "a driver of CUDA 11.8, older than Isthmus works with",
               [](Profile& p) { p.driver_version = 11080; }),
    like_small("tiny-memory", "64 MiB of device memory, to run out of",
               [](Profile& p) { p.memory_bytes = 64 * kMiB; }),
    like_small("no-stream-memory-operations", "without cuStreamWaitValue32, as on some systems",
               [](Profile& p) { p.stream_memory_operations = false; }),
    like_small("two-gpus-apart", "two GPUs that can't reach each other's memory",
               [](Profile& p) {
                 p.num_devices = 2;
                 p.peer_access = false;
               }),
    like_small("two-gpus-one-busy", "two GPUs, the second in use by a process that shares it not",
               [](Profile& p) {
                 p.num_devices = 2;
                 p.num_busy_devices = 1;
               }),
    like_small("exclusive", "a GPU in exclusive mode that another process uses",
               [](Profile& p) { p.num_busy_devices = 1; }),
    like_small("vanishing", "a GPU that falls off the bus after 100 copies",
               [](Profile& p) { p.copies_until_lost = 100; }),
    like_small("confidential", "times between events go negative, as with confidential computing",
               [](Profile& p) { p.usable_event_times = false; }),
    like_small("half-link", "a link that trained to half of its width: half of the rates",
               [](Profile& p) {
                 p.pinned_bytes_per_s /= 2;
                 p.pageable_bytes_per_s /= 2;
                 p.direct.kernel_bytes_per_s /= 2;
               }),
    like_small("little-memlock", "at most 32 MiB of host memory can be pinned",
               [](Profile& p) { p.pinned_limit_bytes = 32 * kMiB; }),
    // The figures of an H100 SXM on PCIe 5.0 x16 (benchmarks/first_light/README.md). The memcpy of
    // this machine is usually slower than such a link; then the real time counts.
    like_small("h100-pcie5", "a fast link, 55 GB/s pinned; bounded by this machine's own memcpy",
               [](Profile& p) {
                 p.device_name = "Isthmus Emulated GPU (fast link)";
                 p.memory_bytes = 80 * kGiB;
                 p.pinned_bytes_per_s = 55e9;
                 p.pageable_bytes_per_s = 7.4e9;
                 p.device_bytes_per_s = 2e12;
                 p.copy_latency = microseconds(5);
                 p.launch_latency = microseconds(3);
                 // benchmarks/windows and benchmarks/link/h100: one thread.
                 p.direct = {.window_write = nanoseconds(130),
                             .window_write_bytes_per_s = 18e9,
                             .window_read = nanoseconds(1030),
                             .kernel_read = nanoseconds(1200),
                             .kernel_write = nanoseconds(600),
                             .kernel_bytes_per_s = 51e9};
               }),
};

}  // namespace

std::span<const Profile> all_profiles() { return kProfiles; }

const Profile* find_profile(std::string_view name) {
  const auto* found = std::ranges::find(kProfiles, name, &Profile::name);
  return found == kProfiles.end() ? nullptr : found;
}

}  // namespace isthmus::emulator
