// The resource manager's answers to ioctls, the words of an IPC handle, and the driver's records: a
// driver that isn't
// laid out as the tested ones is refused, and nothing is lost on the way.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "input_bytes.hpp"
#include "lying_files.hpp"
#include "window/backends/rm_abi.hpp"
#include "window/backends/rm_memory.hpp"
#include "window/backends/rm_versions.hpp"
#include "window/fakes/fake_resource_manager.hpp"
#include "window_machine.hpp"

namespace isthmus::fuzz {
namespace {

namespace rm = window::rm;

template <typename Request>
std::span<std::byte> parameters_of(const Request& request) {
  return memory(reinterpret_cast<void*>(request.parameters), request.parameters_bytes);
}

Answer answer_of(unsigned long request, void* argument) {
  Answer answer{memory(argument, _IOC_SIZE(request))};
  const auto escape = static_cast<rm::Escape>(_IOC_NR(request));
  if (escape == rm::Escape::alloc)
    answer.push_back(parameters_of(*static_cast<const rm::Alloc*>(argument)));
  if (escape == rm::Escape::control) {
    const auto& control = *static_cast<const rm::Control*>(argument);
    answer.push_back(parameters_of(control));
    const auto command = static_cast<rm::Command>(control.command);
    if (command == rm::Command::fb_get_info || command == rm::Command::memory_get_surface_info) {
      const auto& info = *reinterpret_cast<const rm::InfoList*>(control.parameters);
      answer.push_back(
          memory(reinterpret_cast<void*>(info.entries), info.num_entries * sizeof(rm::InfoEntry)));
    }
  }
  return answer;
}

void read_ipc_handle(InputBytes& input) {
  constexpr std::size_t kBufferBytes = std::size_t{2} << 20U;
  const auto process = static_cast<std::uint32_t>(getpid());
  auto words = input.take<std::array<std::uint32_t, rm::kIpcHandleWords>>();
  // What is seldom hit by chance.
  if (input.byte() % 2 == 0) words[2] = process;
  if (input.byte() % 2 == 0) words[4] = kBufferBytes;
  const auto found = rm::object_in_ipc_handle(words, kBufferBytes, process);
  if (!found) return;
  expect(found->offset_bytes <= found->size_bytes &&
             kBufferBytes <= found->size_bytes - found->offset_bytes,
         "a buffer lies beyond its object");
}

}  // namespace
}  // namespace isthmus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  using namespace isthmus;
  fuzz::InputBytes input(data, size_bytes);
  fuzz::read_ipc_handle(input);
  fuzz::expect_shown(window::rm::judge(host::printable(input.text().substr(0, 64))).text);
  const Driver& driver = fuzz::WindowMachine::instance().driver();
  const auto kernel = std::make_shared<window::fakes::FakeResourceManager>(driver);
  const auto files =
      std::make_shared<fuzz::LyingFiles>(window::fakes::files_of(kernel), &fuzz::answer_of, input);
  const bool chosen_by_user = input.byte() % 2 == 0;
  fuzz::live([&] { return window::open_rm_backend(driver, files, chosen_by_user); }, *kernel);
  return 0;
}
