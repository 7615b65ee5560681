// Windows and Window: CPU mappings of GPU memory.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <isthmus/window.hpp>

#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/memory/python_window.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "driver/driver.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::BufferCheck;
using isthmus::WindowBackendReport;
using isthmus::WindowCosts;
using isthmus::WindowMemoryReport;
using isthmus::Windows;
using isthmus::WindowSettings;
using isthmus::WindowStep;
using SharedWindows = Unlocked<Windows>;

namespace {

// --- garbage collection: an array may hold a window that keeps the array alive -------------------

int visit_owner(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const OpenWindow* const open = nb::inst_ptr<PythonWindow>(self)->open();
  if (open != nullptr) Py_VISIT(open->owner.ptr());
  return 0;
}

int drop_owner(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<PythonWindow>(self)->close();
  return 0;
}

PyType_Slot window_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_owner)},
                              {Py_tp_clear, reinterpret_cast<void*>(drop_owner)},
                              {0, nullptr}};

// --- opening -------------------------------------------------------------------------------------

WindowSettings settings_of(std::optional<std::string> backend,
                           std::optional<std::uint64_t> bar1_limit_bytes) {
  WindowSettings settings = WindowSettings::from_environment();
  if (backend) settings.backend = *backend;
  if (bar1_limit_bytes) settings.bar1_limit_bytes = *bar1_limit_bytes;
  return settings;
}

PythonWindow open(const SharedWindows& windows, std::uintptr_t pointer, std::size_t size_bytes,
                  nb::object owner, bool read_only, int num_threads, bool check) {
  isthmus::WindowOptions options;
  options.num_threads = num_threads;
  options.check = check ? BufferCheck::each_call : BufferCheck::on_opening;
  std::optional<isthmus::Window> window;
  {
    const GilReleased released;
    window.emplace(windows->open(pointer, size_bytes, options));
  }
  return {std::move(*window), std::move(owner), read_only};
}

void bind_copies(nb::class_<PythonWindow>& window) {
  window
      .def("write", &PythonWindow::write, "data"_a, "offset"_a.none() = 0,
           nb::sig("def write(self, data: isthmus.move.arrays.accepted.BytesLike, offset: int = 0) "
                   "-> None"),
           "Copy bytes to the device and fence: a kernel or copy that is started afterwards reads "
           "them. `data` (anything with contiguous bytes) may be reused on return. Several threads "
           "may write different bytes at once. Raises UsageError, with nothing copied, if the "
           "range is not inside the window, if the window is closed, read-only or a parent "
           "process's, or if its memory was freed. The caller guarantees that `data` stays "
           "readable: a mapped file that has become shorter raises SIGBUS.")
      .def("post", &PythonWindow::post, "data"_a, "offset"_a.none() = 0,
           nb::sig("def post(self, data: isthmus.move.arrays.accepted.BytesLike, offset: int = 0) "
                   "-> None"),
           "Copy bytes to the device without a fence: they are not guaranteed to arrive until this "
           "thread's next fence() or write(). Threads and errors: as for write().")
      .def_static("fence", &isthmus::Window::fence,
                  "Order this thread's posts, on all windows, before what it does next.")
      .def("read", &PythonWindow::read, "n"_a = nb::none(), "offset"_a.none() = 0,
           nb::sig("def read(self, n: int | None = None, offset: int = 0) -> bytes"),
           "Copy n bytes from the device; None: all from the offset on. Complete on return, but "
           "not ordered with streams: first wait for the kernel that writes the bytes. Threads and "
           "errors: as for write().")
      .def("read_into", &PythonWindow::read_into, "buffer"_a, "offset"_a.none() = 0,
           nb::sig(
               "def read_into(self, buffer: isthmus.move.arrays.accepted.BytesLike, offset: int = "
               "0) -> None"),
           "Like read(), into a writable, contiguous buffer.");
}

void bind_window(nb::module_& m) {
  nb::class_<PythonWindow> window(m, "Window", nb::type_slots(window_slots),
                                  "A CPU mapping of a range of GPU memory. See isthmus.window().");
  bind_copies(window);
  window
      .def("close", &PythonWindow::close,
           "Unmap, after long copies in other threads have finished. Closing twice is allowed.")
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> Window"))
      .def(
          "__exit__", [](PythonWindow& self, const nb::args& /*exception*/) { self.close(); },
          nb::sig("def __exit__(self, *exception: object) -> None"))
      .def("__repr__", &PythonWindow::description)
      .def_prop_ro("nbytes", &PythonWindow::size_bytes, "Bytes of the window.")
      .def_prop_ro("device_pointer", &PythonWindow::device_pointer,
                   "The device address of its first byte.")
      .def_prop_ro("read_only", &PythonWindow::read_only, "True if write and post are refused.")
      .def_prop_ro("backend", &PythonWindow::backend, "\"dmabuf\", \"gdrdrv\" or \"rm\".")
      .def_prop_ro("instructions", &PythonWindow::instructions,
                   "The instructions that it copies with, such as \"avx512\".")
      .def_prop_ro("is_open", &PythonWindow::is_open, "False once it has been closed.")
      .def_prop_ro("is_alive", &PythonWindow::is_alive,
                   "False once CUDA has freed the memory, and when the window is closed.");
}

void bind_report(nb::module_& m) {
  nb::class_<WindowBackendReport>(m, "WindowBackendReport",
                                  "What one backend reported when it was tried.")
      .def("__repr__", &text_of_members)
      .def_prop_ro(
          "backend",
          [](const WindowBackendReport& report) { return std::string(name_of(report.backend)); })
      .def_ro("usable", &WindowBackendReport::usable)
      .def_ro("reason", &WindowBackendReport::reason,
              "Why it isn't usable; else a description: \"driver 580.159.04, tested\".");
  nb::class_<WindowMemoryReport>(m, "WindowMemoryReport",
                                 "Whether windows can be opened on one kind of device memory.")
      .def("__repr__", &text_of_members)
      .def_ro("memory", &WindowMemoryReport::memory, "How it is allocated: \"cudaMallocAsync\".")
      .def_ro("usable", &WindowMemoryReport::usable)
      .def_ro("reason", &WindowMemoryReport::reason,
              "Why there are none; else how the memory is found.");
}

void bind_costs(nb::module_& m) {
  nb::class_<WindowStep>(m, "WindowStep", "A step in making or closing mappings.")
      .def("__repr__", &text_of_members)
      .def_ro("count", &WindowStep::count, "How often it was made.")
      .def_ro("seconds", &WindowStep::seconds, "The total time of all of these, by the CPU clock.");
  nb::class_<WindowCosts>(m, "WindowCosts", "What the mappings behind windows have cost so far.")
      .def("__repr__", &text_of_members)
      .def_ro("pin", &WindowCosts::pin,
              "Getting a reference to the memory: exporting it (dmabuf), PIN_BUFFER (gdrdrv), "
              "finding its object and duplicating or importing it (rm).")
      .def_ro("map", &WindowCosts::map,
              "Mapping the memory: mmap, and before it the resource manager's mapping (rm).")
      .def_ro("unmap", &WindowCosts::unmap, "Undoing `map`.")
      .def_ro("unpin", &WindowCosts::unpin,
              "Releasing the reference. dmabuf never has this step: the mapping itself is the last "
              "reference.");
}

}  // namespace

void bind_windows(nb::module_& m) {
  bind_window(m);
  bind_report(m);
  bind_costs(m);
  nb::class_<SharedWindows>(m, "Windows", "Opens windows on one driver's devices.")
      .def(
          "__init__",
          [](SharedWindows* self, const isthmus::Driver& driver,
             const std::optional<std::string>& backend,
             std::optional<std::uint64_t> bar1_limit_bytes) {
            new (self) SharedWindows(Windows(driver, settings_of(backend, bar1_limit_bytes)));
          },
          "driver"_a, nb::kw_only(), "backend"_a = nb::none(), "bar1_limit_bytes"_a = nb::none(),
          "None: use ISTHMUS_WINDOW and ISTHMUS_WINDOW_BAR1_MIB.")
      .def("open", &open, "pointer"_a, "size_bytes"_a, nb::kw_only(), "owner"_a.none(),
           "read_only"_a, "num_threads"_a, "check"_a,
           "Map device memory; the window keeps `owner` alive.")
      .def(
          "backends",
          [](const SharedWindows& windows, int device) { return windows->backends(device); },
          "device"_a, Release(), "Try the backends on one device.")
      .def(
          "memory_kinds",
          [](const SharedWindows& windows, int device) { return windows->memory_kinds(device); },
          "device"_a, Release(),
          "Allocate a few MiB of each kind of device memory, and open a window on it.")
      .def(
          "mapped_bytes",
          [](const SharedWindows& windows, int device) { return windows->mapped_bytes(device); },
          "device"_a, Release(), "Bytes of the device's BAR1 that windows map now.")
      .def(
          "bar1_limit_bytes",
          [](const SharedWindows& windows, int device) {
            return windows->bar1_limit_bytes(device);
          },
          "device"_a, Release(),
          "The most bytes of the device's BAR1 that windows may map at a time.")
      .def(
          "take_notices", [](const SharedWindows& windows) { return windows->take_notices(); },
          Release(), "What the user should be told once; empties the list.")
      .def(
          "costs", [](const SharedWindows& windows) { return windows->costs(); },
          "What the mappings behind all windows so far have cost.");
}
