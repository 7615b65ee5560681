// C++ failures as the exceptions of isthmus.errors.
#include <nanobind/nanobind.h>

#include <isthmus/errors.hpp>

#include <string>
#include <system_error>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "measure/loops/sampling.hpp"
#include "sim/deadlock.hpp"
#include "transfer/request/pending_copy.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

nb::object error_class(const char* name) {
  return nb::module_::import_("isthmus.errors").attr(name);
}

void raise(const char* class_name, const nb::object& instance) {
  PyErr_SetObject(error_class(class_name).ptr(), instance.ptr());
}

void raise_driver_error(const char* class_name, const isthmus::DriverError& error) {
  raise(class_name,
        error_class(class_name)(std::string(error.what()), "code"_a = error.code(),
                                "code_name"_a = error.code_name(), "symbol"_a = error.symbol(),
                                "memory_in_use"_a = error.memory_in_use()));
}

void raise_message(const char* class_name, const std::exception& error) {
  raise(class_name, error_class(class_name)(std::string(error.what())));
}

/// From the most derived class to the least.
void raise_as_python_error(const std::exception_ptr& pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const isthmus::OutOfDeviceMemory& error) {
    raise_driver_error("OutOfDeviceMemory", error);
  } catch (const isthmus::DriverError& error) {
    raise_driver_error("DriverError", error);
  } catch (const isthmus::Unavailable& error) {
    raise("Unavailable",
          error_class("Unavailable")("capability"_a = error.capability(),
                                     "reason"_a = error.reason(), "needs"_a = error.needs()));
  } catch (const isthmus::transfer::CopyCancelled& error) {
    const nb::object futures = nb::module_::import_("concurrent.futures");
    PyErr_SetString(futures.attr("CancelledError").ptr(), error.what());
  } catch (const isthmus::UsageError& error) {
    raise_message("UsageError", error);
  } catch (const isthmus::measure::CorruptTransfer& error) {
    raise_message("CorruptTransfer", error);
  } catch (const isthmus::measure::TimedOut& error) {
    raise_message("TimedOut", error);
  } catch (const isthmus::sim::Deadlock& error) {
    raise_message("Deadlock", error);
  } catch (const isthmus::Interrupted& error) {
    // If there was a signal, its handler's exception is pending.
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
  } catch (const std::system_error& error) {
    PyErr_SetObject(PyExc_OSError,
                    nb::make_tuple(error.code().value(), std::string(error.what())).ptr());
  }
}

/// The exception classes are written in Python.
void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  into_python([&] { raise_as_python_error(pointer); });
}

}  // namespace

void bind_errors(nb::module_& /*m*/) { nb::register_exception_translator(translate, nullptr); }
