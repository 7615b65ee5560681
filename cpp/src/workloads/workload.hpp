// A program that really computes: memory, launches, kernels. Each has a struct of the sizes of its
// input, whose initial values are those that it has if none are chosen, and a table kSizes that
// says what each may be. Numbers in comments of workloads are of the usual sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "trace/trace.hpp"
#include "workloads/recording/heap.hpp"
#include "workloads/recording/warp.hpp"

namespace isthmus::workloads {

/// What a size is, and the values that it can have: multiples of `multiple` from `least` to `most`,
/// or powers of two.
struct Size {
  std::string_view name;     ///< "nodes"
  std::string_view meaning;  ///< in a few words
  std::uint32_t least = 1;
  std::uint32_t most = 0;
  std::uint32_t multiple = 1;
  bool power_of_two = false;
  bool in_bytes = false;    ///< not a count
  std::uint32_t usual = 0;  ///< the value if none is chosen
};

/// A member of a workload's struct of sizes.
template <class Sizes>
struct SizeOf {
  Size size;  ///< `usual` is left to the struct
  std::uint32_t Sizes::* member;
};

/// Chosen sizes by name.
using GivenSizes = std::map<std::string, std::uint64_t, std::less<>>;

/// Whether a size can have the value.
bool is_allowed(const Size& size, std::uint64_t value);

/// The allowed values in words: "256 to 16777216, multiples of 256".
std::string allowed_text(const Size& size);

/// The values of all sizes, in their order.
///
/// workload    its name, for messages
/// Throws      UsageError for a name that isn't among the sizes, or a value that isn't allowed; the
///             message says what is, and the nearest value
std::vector<std::uint32_t> size_values(std::string_view workload, std::span<const Size> sizes,
                                       const GivenSizes& given);

/// "nodes=131072, edges=8": the values that aren't usual; "" if all are.
std::string changed_text(std::span<const Size> sizes, std::span<const std::uint32_t> values);

/// Values that the kernel reads through a pointer in its arguments: the GPU needs a copy of them,
/// and the pointer to it.
struct KernelConstant {
  std::size_t argument_offset = 0;  ///< of the pointer, in the arguments' bytes
  const void* values = nullptr;
  std::size_t size_bytes = 0;
};

/// The kernel is a function template over a CTA and its arguments, a struct; kernels/workload.cuh
/// finds the arrays in it by their addresses.
struct KernelCall {
  std::string_view kernel;  ///< "bfs_level"; empty: the workload has no kernels for GPUs
  std::vector<std::byte> arguments;
  std::vector<KernelConstant> constants;
};

template <class Arguments>
KernelCall kernel_call(std::string_view kernel, const Arguments& arguments) {
  static_assert(std::is_trivially_copyable_v<Arguments>);
  KernelCall call{kernel, std::vector<std::byte>(sizeof arguments), {}};
  std::memcpy(call.arguments.data(), &arguments, sizeof arguments);
  return call;
}

/// Adds the values of a pointer.
///
/// pointer       a member of `arguments`
/// num_values    behind it
template <class Arguments, class T>
void add_constant(KernelCall& call, const Arguments& arguments, const T* const& pointer,
                  std::size_t num_values) {
  const auto offset =
      reinterpret_cast<const std::byte*>(&pointer) - reinterpret_cast<const std::byte*>(&arguments);
  call.constants.push_back({static_cast<std::size_t>(offset), pointer, num_values * sizeof(T)});
}

/// How values that a GPU has computed may differ from the host's.
enum class Values {
  integers,  ///< not at all
  floats,    ///< rounding, and functions such as exp, differ
  colours,   ///< bytes that were rounded from floats
};

/// A program of the registry. A derived class allocates its arrays from heap_ and writes the
/// launches of program_ in its constructor, with finish_program() at the end.
class Workload {
public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  const trace::Program& program() const { return program_; }
  /// Sets the program's name and description, as in the registry.
  ///
  /// synthetic   whether an input is made up that comes from a file in the original
  void name_program(std::string_view name, std::string_view description, bool synthetic);
  /// Their number is that of the usual sizes.
  void forget_published_instructions() { program_.thread_instructions = 0; }

  /// Restores the memory's state before the first launch.
  virtual void reset() = 0;
  /// The host's computation before a launch; its copies are in the launch's HostSteps.
  virtual void before(std::uint32_t launch) { static_cast<void>(launch); }
  /// Runs a CTA of a launch. CTAs come in order, after those of earlier launches.
  virtual void run(std::uint32_t launch, Cta& cta) = 0;

  /// A launch for a GPU, after before(launch). By default there is none.
  virtual KernelCall call(std::uint32_t launch) const {
    static_cast<void>(launch);
    return {};
  }
  /// What the results are, of which the program's last steps are the downloads.
  virtual Values results() const { return Values::integers; }
  const Heap& heap() const { return heap_; }

protected:
  template <class T>
  static trace::HostStep step(trace::HostStep::Kind kind, const Array<T>& array) {
    return {kind, array.address, array.num_elements * sizeof(T)};
  }
  template <class T>
  static trace::HostStep upload(const Array<T>& array) {
    return step(trace::HostStep::Kind::upload, array);
  }
  template <class T>
  static trace::HostStep download(const Array<T>& array) {
    return step(trace::HostStep::Kind::download, array);
  }
  /// A launch of CTAs with `num_threads` threads, without host steps.
  static trace::Launch launch(std::string name, std::uint32_t num_ctas,
                              std::uint32_t threads_per_cta);

  /// Fills in the fields that follow from the heap.
  void finish_program() { program_.allocations = heap_.allocations(); }

  Heap heap_;
  trace::Program program_;
};

}  // namespace isthmus::workloads
