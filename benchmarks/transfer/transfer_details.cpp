// Copies, compared with cudaMemcpy and with the other paths, as JSON.
//
//   transfer_details TABLES MAX_BYTES [LIBCUDART]
//
// TABLES is "sweep", "large", "small", "pinning", or several with commas; MAX_BYTES is the
// largest copy. LIBCUDART is the path of a CUDA runtime, whose cudaMemcpy is the rival; without it
// the rival is the driver's blocking copy. The device is the first one of $ISTHMUS_DRIVER. One
// calling thread, warm memory on both sides, medians of rounds in which all compared copies take
// turns. Every copy of the sweep is verified.
//
//   transfer_details calls SIZE_BYTES
//
// answers each line "h2d" or "d2h" with the seconds of a C++ copy between pageable and device
// memory: python_calls.py asks.
#include <iostream>
#include <sstream>
#include <string_view>

#include "host/cpu/cgroup.hpp"
#include "tables.hpp"

namespace {

std::vector<Row> table(const std::string& name, Arena& arena) {
  if (name == "sweep") return sweep(arena);
  if (name == "large") return large_copies(arena);
  if (name == "small") return small_copies(arena);
  if (name == "pinning") return pinning(arena);
  throw std::invalid_argument("no table '" + name + "': sweep, large, small, pinning");
}

Row machine(const Arena& arena) {
  const isthmus::DeviceFacts& device = arena.context().device();
  return Row()
      .add("emulated", arena.driver().emulated())
      .add("device", device.name)
      .add("cuda_version", static_cast<std::size_t>(arena.driver().version()))
      .add("cores", isthmus::host::effective_cores());
}

void run(const std::string& names, std::size_t max_bytes, const char* cudart_path) {
  Arena arena(max_bytes, cudart_path);
  auto* const there = reinterpret_cast<void*>(arena.device());
  const isthmus::CopyPlan plan = arena.transfers().explain(there, arena.host(Host::pageable), 4);
  std::cout << "{\n  \"schema_version\": 1,\n  \"machine\": " << machine(arena).text()
            << ",\n  \"rival\": \"" << arena.rival().name() << "\",\n  \"costs_from\": \""
            << plan.profile << "\",\n  \"costs_measured\": " << (plan.measured ? "true" : "false");
  std::istringstream wanted(names);
  for (std::string name; std::getline(wanted, name, ',');)
    std::cout << ",\n  \"" << name << "\": " << list(table(name, arena)) << std::flush;
  std::cout << "\n}\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3 || argc > 4)
    throw std::invalid_argument("usage: transfer_details TABLES MAX_BYTES [LIBCUDART]");
  const std::size_t size_bytes = std::stoull(argv[2]);
  if (std::string_view(argv[1]) == "calls") {
    Arena arena(size_bytes, nullptr);
    answer_calls(arena, size_bytes);
    return 0;
  }
  run(argv[1], size_bytes, argc > 3 ? argv[3] : nullptr);
  return std::cout.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
