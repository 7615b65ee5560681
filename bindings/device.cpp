// Driver, real or emulated; Context, DeviceFacts, Kernels.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
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

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::Context;
using isthmus::DeviceFacts;
using isthmus::Kernels;

namespace {

void bind_facts(nb::module_& m) {
  nb::class_<DeviceFacts>(m, "DeviceFacts", "What the driver says about one device.")
      .def_ro("ordinal", &DeviceFacts::ordinal)
      .def_ro("name", &DeviceFacts::name)
      .def_ro("uuid", &DeviceFacts::uuid, "GPU-8-4-4-4-12 in hex.")
      .def_ro("pci_address", &DeviceFacts::pci_address, "As sysfs spells it: 0000:01:00.0")
      .def_ro("compute_capability", &DeviceFacts::compute_capability)
      .def_ro("total_memory_bytes", &DeviceFacts::total_memory_bytes)
      .def_ro("num_multiprocessors", &DeviceFacts::num_multiprocessors)
      .def_ro("num_copy_engines", &DeviceFacts::num_copy_engines)
      .def_ro("l2_cache_bytes", &DeviceFacts::l2_cache_bytes)
      .def_ro("stream_memory_operations", &DeviceFacts::stream_memory_operations,
              "True if a stream can wait for a value in memory.");
}

void push(const SharedContext& context) {
  context->driver().call(isthmus::symbol::ctx_push_current)(context->handle());
}

void pop(const SharedContext& context) {
  CUcontext popped = nullptr;
  context->driver().call(isthmus::symbol::ctx_pop_current)(&popped);
}

void synchronize(const SharedContext& context) {
  const isthmus::CurrentContext current(*context);
  context->driver().call(isthmus::symbol::ctx_synchronize)();
}

void bind_context(nb::module_& m) {
  nb::class_<SharedContext>(m, "Context",
                            "A device's primary context, retained while this object lives.")
      .def(
          "__init__",
          [](SharedContext* self, const isthmus::Driver& driver, int ordinal) {
            new (self) SharedContext(Context::retain(driver, ordinal));
          },
          "driver"_a, "ordinal"_a, Release())
      .def_prop_ro("device", [](const SharedContext& context) { return context->device(); })
      .def(
          "__enter__",
          [](nb::object self) {
            push(nb::cast<const SharedContext&>(self));
            return self;
          },
          nb::sig("def __enter__(self) -> Context"), "Make the context current on this thread.")
      .def(
          "__exit__", [](const SharedContext& self, const nb::args& /*exception*/) { pop(self); },
          nb::sig("def __exit__(self, *exception: object) -> None"),
          "Make the previous context current again.")
      .def(
          "free_memory_bytes",
          [](const SharedContext& context) { return context->free_memory_bytes(); }, Release(),
          "Free device memory, in bytes.")
      .def("synchronize", &synchronize, Release(),
           "Wait until all work of the device is complete, in every stream.");
}

}  // namespace

void bind_device(nb::module_& m) {
  bind_facts(m);
  bind_context(m);
  nb::class_<SharedKernels>(m, "Kernels",
                            "The project's kernels for one context, compiled on demand.")
      .def(
          "__init__",
          [](SharedKernels* self, const SharedContext& context,
             const std::optional<std::string>& nvrtc, const std::string& cache_folder) {
            new (self) SharedKernels(Kernels(*context, {nvrtc.value_or(""), cache_folder}));
          },
          "context"_a, nb::kw_only(), "nvrtc"_a = nb::none(), "cache_folder"_a = "", Release(),
          "nvrtc: path of libnvrtc, or None to search. cache_folder: \"\" for no cache.")
      .def_prop_ro(
          "nvrtc_version", [](const SharedKernels& kernels) { return kernels->nvrtc_version(); },
          "\"13.0\"; \"\" on the emulated driver.")
      .def_prop_ro(
          "cache_refusal", [](const SharedKernels& kernels) { return kernels->cache_refusal(); },
          "Why compiled kernels aren't cached although they should be; \"\" if they are.");
  m.def(
      "kernel_cache_folder", [] { return isthmus::default_kernel_cache_folder().string(); },
      "The folder of compiled kernels: $XDG_CACHE_HOME/isthmus/kernels, or below $HOME/.cache; "
      "\"\" (no cache) for a user without a home directory.");
}
