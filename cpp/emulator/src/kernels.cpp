// The table of kernels. The build finds them: one row for each entry point of kernels/*.cu.
#include "kernels.hpp"

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#define ISTHMUS_HOST_KERNELS
#include "kernel_sources.inc"

namespace isthmus::emulator {
namespace {

template <auto Kernel>
struct Launch;

template <typename... Parameters, void (*Kernel)(Parameters...)>
struct Launch<Kernel> {
  static constexpr std::size_t kNumParameters = sizeof...(Parameters);

  static std::function<void()> bind(void** parameters) {
    return bind(parameters, std::index_sequence_for<Parameters...>{});
  }

private:
  template <std::size_t... Index>
  static std::function<void()> bind([[maybe_unused]] void** parameters,
                                    std::index_sequence<Index...>) {
    std::tuple<std::remove_cv_t<Parameters>...> values{
        *static_cast<const std::remove_cv_t<Parameters>*>(parameters[Index])...};
    return [values] { std::apply(Kernel, values); };
  }
};

template <auto Kernel>
constexpr HostKernel row(std::string_view stem, std::string_view name) {
  return {stem, name, &Launch<Kernel>::bind, Launch<Kernel>::kNumParameters};
}

constexpr auto kHostKernels = std::to_array<HostKernel>({
#define ISTHMUS_HOST_KERNEL(stem, name) row<&name>(stem, #name),
#include "kernel_table.inc"
#undef ISTHMUS_HOST_KERNEL
});

}  // namespace

std::span<const HostKernel> host_kernels() { return kHostKernels; }

}  // namespace isthmus::emulator
