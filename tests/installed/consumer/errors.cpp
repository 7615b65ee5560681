// Errors cross the border of the library as what they are.
#include <isthmus/errors.hpp>

#include <functional>

#include <isthmus/transfer.hpp>

#include "consumer.hpp"

namespace consumer {
namespace {

template <typename Error>
Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    require(std::string(error.what()).size() > 10, "an error says what and why");
    return error;
  }
  throw std::logic_error("not so: it fails");
}

}  // namespace

void use_errors(const isthmus::Driver& driver) {
  error_of<isthmus::UsageError>([] { isthmus::Driver::open("imaginary"); });
  error_of<isthmus::UsageError>(
      [&] { isthmus::Transfers(driver).use_profile("this is no profile"); });
  error_of<std::invalid_argument>([&] { isthmus::Transfers(driver).copy(nullptr, nullptr, 1); });

  const auto absent =
      error_of<isthmus::Unavailable>([] { isthmus::Driver::open("/nowhere/libcuda.so.1"); });
  require(absent.capability() == "CUDA driver" && !absent.needs().empty(),
          "what is absent is named");

  const auto invalid = error_of<isthmus::DriverError>([&] { driver.check(1, "cuMemAlloc"); });
  require(invalid.code() == 1 && invalid.code_name() == "CUDA_ERROR_INVALID_VALUE" &&
              invalid.symbol() == "cuMemAlloc" && !invalid.memory_in_use(),
          "a driver's error is told");
  require(driver.name_of(1) == invalid.code_name(), "a result has a name");
  error_of<isthmus::OutOfDeviceMemory>([&] { driver.check(2, "cuMemAlloc"); });
  driver.check(0, "cuMemAlloc");
}

}  // namespace consumer
