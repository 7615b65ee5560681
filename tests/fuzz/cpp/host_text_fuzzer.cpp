// The text files of /proc and /sys: any bytes in them are read as what they say, or as nothing.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "expectations.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/cpu/topology.hpp"
#include "host/memory/memory_limits.hpp"
#include "host/memory/memory_map.hpp"
#include "host/system/pci.hpp"
#include "host/system/text_file.hpp"
#include "host/system/virtualization.hpp"

namespace isthmus::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAddress = "0000:01:00.0";
/// A file that is read, and what is in it where an input says nothing else.
struct File {
  const char* path;
  std::string_view usual_text;
};
constexpr File kFiles[] = {
    {"proc/cpuinfo",
     "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\nflags\t\t: fpu hypervisor\n"},
    {"proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64  580.159.04  Release Build\n"},
    {"proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:   12000000 kB\n"},
    {"proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n0::/box\n"},
    {"run/systemd/container", "podman\n"},
    {"sys/bus/pci/devices/0000:01:00.0/max_link_speed", "32.0 GT/s PCIe\n"},
    {"sys/bus/pci/devices/0000:01:00.0/max_link_width", "16\n"},
    {"sys/bus/pci/devices/0000:01:00.0/numa_node", "0\n"},
    {"sys/bus/pci/devices/0000:01:00.0/resource",
     "0x00000000a2000000 0x00000000a2ffffff 0x0000000000040200\n"
     "0x0000002000000000 0x0000003fffffffff 0x000000000014220c\n"},
    {"sys/class/dmi/id/sys_vendor", "Vendor\n"},
    {"sys/devices/system/node/node0/cpulist", "0-7,16-23\n"},
    {"sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       16000000 kB\n"},
    {"sys/devices/system/node/online", "0\n"},
    {"sys/fs/cgroup/box/cpu.max", "150000 100000\n"},
    {"sys/fs/cgroup/box/memory.current", "500000\n"},
    {"sys/fs/cgroup/box/memory.max", "1000000\n"},
    {"sys/fs/cgroup/box/memory.stat", "anon 1\ninactive_file 100000\n"},
    {"sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n"},
    {"sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n"},
    {"sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2000000\n"},
    {"sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1000000\n"},
    {"sys/fs/cgroup/memory/box/memory.stat", "total_inactive_file 100000\n"},
    {"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
};

/// A machine's files, in memory where the system has a place for that. Gone with the process.
class Tree {
public:
  Tree() {
    std::error_code absent;
    const fs::path place =
        fs::is_directory("/dev/shm", absent) ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string pattern = (place / "isthmus-fuzz-XXXXXX").string();
    expect(mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    root_ = pattern;
    for (const File& file : kFiles) {
      fs::create_directories((root_ / file.path).parent_path());
      write(file, file.usual_text);
    }
    fs::create_directories(root_ / "sys/kernel/mm/hugepages/hugepages-2048kB");
  }
  ~Tree() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const fs::path& root() const { return root_; }
  void write(const File& file, std::string_view text) const {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(
        std::fopen((root_ / file.path).c_str(), "wb"), &std::fclose);
    expect(
        stream != nullptr && std::fwrite(text.data(), 1, text.size(), stream.get()) == text.size(),
        "a file can't be written");
  }

private:
  fs::path root_;
};

void read_all(const fs::path& root) {
  host::cgroup_folders("memory", root);
  const host::MemoryLimits limits = host::memory_limits(root);
  expect(!limits.cgroup_limit_bytes || limits.available_bytes <= *limits.cgroup_limit_bytes,
         "more memory is left than the limit allows");
  const double cores = host::effective_cores(root);
  expect(std::isfinite(cores) && cores > 0, "the number of cores is none");
  const auto nodes = host::numa_nodes(root);
  expect(!nodes.empty(), "a machine has no nodes");
  for (const host::NumaNode& node : nodes)
    expect(host::parse_cpu_list(host::format_cpu_list(node.cpus)) == node.cpus,
           "a list of CPUs isn't read as it is written");
  host::pci_numa_node(kAddress, root);
  if (const auto link = host::pci_link(kAddress, root))
    expect(link->generation >= 1 && link->width >= 1, "a link has no lanes");
  host::largest_pci_bar_bytes(kAddress, root);
  expect_shown(host::cpu_model(root));
  expect_shown(host::nvidia_module_release(root));
  expect_shown(host::huge_pages(root).transparent);
  const host::Virtualization facts = host::virtualization(root, {});
  expect_shown(facts.system_vendor);
  expect_shown(facts.container);
}

void read_maps(std::string_view text) {
  while (!text.empty()) {
    const std::size_t before = text.size();
    if (const auto mapping = host::take_mapping(text))
      expect(mapping->begin < mapping->end, "a mapping has no bytes");
    expect(text.size() < before, "a line of /proc/self/maps is read for ever");
  }
}

}  // namespace
}  // namespace isthmus::fuzz

/// Parts that end in a zero: a byte that says which file, then its text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  using namespace isthmus;
  static const fuzz::Tree tree;
  std::string_view rest(reinterpret_cast<const char*>(data), size_bytes);
  std::set<const fuzz::File*> changed;
  while (!rest.empty() && changed.size() < 4) {
    const std::string_view part = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty()) continue;
    const auto which = static_cast<unsigned char>(part.front()) - unsigned{'A'};
    const fuzz::File& file = fuzz::kFiles[which % std::size(fuzz::kFiles)];
    fuzz::expect_shown(host::printable(part));
    fuzz::read_maps(part);
    tree.write(file, part.substr(1));
    changed.insert(&file);
  }
  fuzz::read_all(tree.root());
  for (const fuzz::File* const file : changed) tree.write(*file, file->usual_text);
  return 0;
}
