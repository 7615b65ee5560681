// Driver: the CUDA driver, real or emulated.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "device/device_facts.hpp"
#include "driver/driver.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::Driver;

void bind_driver(nb::module_& m) {
  nb::class_<Driver>(m, "Driver", "A loaded CUDA driver, real or emulated.")
      .def_static("open", &Driver::open, "source"_a = "", Release(),
                  "Open \"system\", \"emulated[:PROFILE]\" or a path; \"\" means $ISTHMUS_DRIVER, "
                  "or \"system\" if it isn't set.")
      .def_static(
          "open_or_absent", &Driver::open_or_absent, "source"_a = "", Release(),
          "As open(); where there is no driver, or a parent process has it, stand for it: only "
          "the host's memory can be copied.")
      .def("require_devices", &Driver::require_devices,
           "Raise Unavailable, which says why, if there is no device.")
      .def_prop_ro("version", &Driver::version,
                   "1000 * major + 10 * minor of the CUDA version it implements.")
      .def_prop_ro("path", &Driver::path, "The library file.")
      .def_prop_ro("emulated", &Driver::emulated,
                   "True for the emulated driver: every number from it is modelled.")
      .def_prop_ro("profile", &Driver::profile,
                   "The emulated driver's profile; \"\" for a real driver.")
      .def("missing_symbols", &Driver::missing_symbols,
           "Optional driver functions that this driver lacks.")
      .def("device_count", &Driver::device_count, Release(), "Number of CUDA devices; 0 if none.")
      .def("device", &isthmus::read_device_facts, "ordinal"_a, Release(),
           "Facts about one device.");
}
