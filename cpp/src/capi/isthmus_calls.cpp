#include "capi/isthmus_calls.hpp"

#include <cstring>
#include <new>
#include <string_view>

#include <isthmus/errors.hpp>

namespace isthmus::capi {
namespace {

isthmus_status fill(isthmus_error* error, isthmus_status status, int driver_code,
                    std::string_view message) noexcept {
  if (error == nullptr) return status;
  error->status = status;
  error->driver_code = driver_code;
  copy_text(message, error->message, sizeof error->message);
  return status;
}

}  // namespace

isthmus_status report_exception(isthmus_error* error) noexcept {
  try {
    throw;
  } catch (const OutOfDeviceMemory& failure) {
    return fill(error, ISTHMUS_OUT_OF_DEVICE_MEMORY, failure.code(), failure.what());
  } catch (const DriverError& failure) {
    return fill(error, ISTHMUS_DRIVER_ERROR, failure.code(), failure.what());
  } catch (const Unavailable& failure) {
    return fill(error, ISTHMUS_UNAVAILABLE, 0, failure.what());
  } catch (const UsageError& failure) {
    return fill(error, ISTHMUS_USAGE_ERROR, 0, failure.what());
  } catch (const std::bad_alloc&) {
    return fill(error, ISTHMUS_OUT_OF_HOST_MEMORY, 0, "host memory is used up");
  } catch (const std::exception& failure) {
    return fill(error, ISTHMUS_INTERNAL_ERROR, 0, failure.what());
  } catch (...) {
    return fill(error, ISTHMUS_INTERNAL_ERROR, 0, "an exception of an unknown kind");
  }
}

}  // namespace isthmus::capi
