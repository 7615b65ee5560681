// Writes and reads GPU memory from the CPU, without a copy command. Inside a CMake project that
// adds Isthmus with add_subdirectory: target_link_libraries(program PRIVATE isthmus_core).
#include <isthmus/errors.hpp>
#include <isthmus/window.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>

#include "device/buffers.hpp"
#include "driver/driver.hpp"

namespace {

void use(const isthmus::Driver& driver, std::uintptr_t device_pointer) {
  isthmus::Windows windows(driver);
  isthmus::Window window = windows.open(device_pointer, 4096);

  const std::array<float, 4> data{1, 2, 3, 4};
  window.write(256, data.data(), sizeof data);
  const std::uint32_t flag = 1;
  window.write(0, &flag, sizeof flag);  // a running kernel that sees the flag sees the data

  std::array<float, 4> answer{};
  window.read(answer.data(), 256, sizeof answer);
  std::printf("%g %g %g %g, by way of %s\n", answer[0], answer[1], answer[2], answer[3],
              std::string(isthmus::name_of(window.backend())).c_str());
}

}  // namespace

int main() {
  try {
    const isthmus::Driver driver = isthmus::Driver::open();
    const isthmus::Context context = isthmus::Context::retain(driver, 0);
    // Any memory will do: cudaMalloc's, a library's, a tensor's.
    const isthmus::DeviceBuffer buffer(context, 4096);
    use(driver, buffer.pointer());
  } catch (const isthmus::Unavailable& absence) {
    std::printf("no windows here: %s\n", absence.what());
    return 1;
  } catch (const std::exception& failure) {
    std::printf("%s\n", failure.what());
    return 1;
  }
}
