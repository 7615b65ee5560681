// PinnedPool and PinnedBlock: page-locked host memory as Python objects.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <isthmus/errors.hpp>
#include <isthmus/pinned.hpp>

#include <cstdint>
#include <memory>
#include <utility>

#include "arrays/dlpack_structs.hpp"
#include "bindings.hpp"
#include "driver/driver.hpp"
#include "gil.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::PinnedPool;
using isthmus::PinnedPoolOptions;
using isthmus::PinnedPoolStats;

namespace {

std::shared_ptr<PinnedPool> make_pool(const isthmus::Driver& driver, int device,
                                      std::size_t max_bytes) {
  PinnedPoolOptions options;
  options.max_bytes = max_bytes;
  options.pin.interrupted = signal_has_raised;
  return std::make_shared<PinnedPool>(driver, device, options);
}

/// Memory of a pool, given back when the object is destroyed.
class PinnedBlock {
public:
  PinnedBlock(std::shared_ptr<PinnedPool> pool, std::size_t size_bytes)
      : pool_(std::move(pool)), size_bytes_(static_cast<Py_ssize_t>(size_bytes)) {
    const GilReleased released;
    data_ = pool_->allocate(size_bytes);
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  ~PinnedBlock() {
    // Without the GIL: the pool may be pinning for another thread, which polls for signals with the
    // GIL.
    const GilReleased released;
    try {
      pool_->free(data_);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // A forked child doesn't own the block; and nobody can be told that the driver is gone.
    }
    pool_.reset();
  }

  void* data() const noexcept { return data_; }
  std::uintptr_t pointer() const noexcept { return reinterpret_cast<std::uintptr_t>(data_); }
  Py_ssize_t size_bytes() const noexcept { return size_bytes_; }

private:
  std::shared_ptr<PinnedPool> pool_;
  Py_ssize_t size_bytes_;
  void* data_ = nullptr;
};

/// A pool that blocks share. Destroying it may unpin memory, which takes long.
struct SharedPool {
  explicit SharedPool(std::shared_ptr<PinnedPool> made) : pool(std::move(made)) {}
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;
  ~SharedPool() {
    const GilReleased released;
    pool.reset();
  }
  PinnedPool* operator->() const noexcept { return pool.get(); }

  std::shared_ptr<PinnedPool> pool;
};

// --- the buffer protocol -------------------------------------------------------------------------

int give_buffer(PyObject* self, Py_buffer* view, int flags) {
  const PinnedBlock& block = *nb::inst_ptr<PinnedBlock>(self);
  return PyBuffer_FillInfo(view, self, block.data(), block.size_bytes(), 0, flags);
}

PyType_Slot block_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(give_buffer)}, {0, nullptr}};

nb::dict array_interface(const PinnedBlock& block) {
  nb::dict interface;
  interface["shape"] = nb::make_tuple(block.size_bytes());
  interface["typestr"] = "|u1";
  interface["data"] = nb::make_tuple(block.pointer(), false);
  interface["version"] = 3;
  return interface;
}

// --- DLPack --------------------------------------------------------------------------------------

/// A capsule's tensor, and the block that it keeps.
template <typename Managed>
struct ExportedBlock {
  Managed managed{};
  std::int64_t shape = 0;
  std::int64_t stride = 1;
  nb::object block;
};

template <typename Managed>
void give_back(Managed* managed) {
  if (managed == nullptr || Py_IsInitialized() == 0) return;
  const GilHeld held;
  into_python([&] { delete static_cast<ExportedBlock<Managed>*>(managed->owner); });
}

template <typename Managed>
Managed* export_block(nb::handle self) {
  const auto& block = nb::cast<const PinnedBlock&>(self);
  auto made = std::make_unique<ExportedBlock<Managed>>();
  made->block = nb::borrow(self);
  made->shape = block.size_bytes();
  made->managed.owner = made.get();
  made->managed.deleter = give_back<Managed>;
  made->managed.tensor = {block.data(), {dlpack::kCudaHost, 0}, 1, dlpack::kUnsigned, 8, 1,
                          &made->shape, &made->stride,          0};
  return &made.release()->managed;
}

template <typename Managed>
nb::object capsule_of(nb::handle self, const char* name, PyCapsule_Destructor destructor) {
  Managed* const managed = export_block<Managed>(self);
  PyObject* const capsule = PyCapsule_New(managed, name, destructor);
  if (capsule != nullptr) return nb::steal(capsule);
  give_back(managed);
  throw nb::python_error();
}

constexpr const char* kOldName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";

/// A consumer renames the capsule and calls the deleter itself.
template <typename Managed>
void end_capsule(PyObject* capsule, const char* unused_name) {
  if (PyCapsule_IsValid(capsule, unused_name) == 0) return;
  give_back(static_cast<Managed*>(PyCapsule_GetPointer(capsule, unused_name)));
}

nb::object to_dlpack(nb::handle self, nb::handle stream, nb::handle max_version, nb::handle device,
                     nb::handle copy) {
  if (!stream.is_none())
    throw isthmus::UsageError("pinned memory belongs to no stream: stream=None");
  if (copy.ptr() == Py_True) throw nb::buffer_error("pinned memory is exported without a copy");
  if (!device.is_none() && !device.equal(nb::make_tuple(std::int32_t{dlpack::kCudaHost}, 0)))
    throw nb::buffer_error("pinned memory is exported where it lies, on DLPack device (3, 0)");
  if (max_version.is_none() || nb::cast<std::uint32_t>(max_version[0]) < dlpack::kKnownMajor)
    return capsule_of<dlpack::ManagedTensor>(self, kOldName, [](PyObject* capsule) {
      end_capsule<dlpack::ManagedTensor>(capsule, kOldName);
    });
  nb::object capsule = capsule_of<dlpack::VersionedTensor>(
      self, kVersionedName,
      [](PyObject* ended) { end_capsule<dlpack::VersionedTensor>(ended, kVersionedName); });
  auto* const managed =
      static_cast<dlpack::VersionedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kVersionedName));
  managed->version = {dlpack::kKnownMajor, 1};
  return capsule;
}

void bind_block(nb::module_& m) {
  nb::class_<PinnedBlock>(m, "PinnedBlock", nb::type_slots(block_slots),
                          "Page-locked bytes, given back to their pool when nothing uses them.")
      .def(
          "__init__",
          [](PinnedBlock* self, const SharedPool& shared, std::size_t size_bytes) {
            new (self) PinnedBlock(shared.pool, size_bytes);
          },
          "pool"_a, "size_bytes"_a)
      .def_prop_ro("pointer", &PinnedBlock::pointer)
      .def_prop_ro("nbytes", &PinnedBlock::size_bytes)
      .def_prop_ro("ptr", &PinnedBlock::pointer, "The address, for CuPy's PinnedMemoryPointer.")
      .def_prop_ro("size", &PinnedBlock::size_bytes, "In bytes, for CuPy.")
      .def_prop_ro("__array_interface__", &array_interface,
                   nb::sig("def __array_interface__(self) -> dict[str, object]"))
      .def("__dlpack__", &to_dlpack, nb::kw_only(), "stream"_a = nb::none(),
           "max_version"_a = nb::none(), "dl_device"_a = nb::none(), "copy"_a = nb::none())
      .def("__dlpack_device__",
           [](const PinnedBlock&) { return std::pair<int, int>(dlpack::kCudaHost, 0); });
}

void bind_pool_stats(nb::module_& m) {
  nb::class_<PinnedPoolStats>(m, "PinnedPoolStats", "Counters of a pool: counts, bytes, seconds.")
      .def_ro("num_allocations", &PinnedPoolStats::num_allocations, "All allocations.")
      .def_ro("num_from_cache", &PinnedPoolStats::num_from_cache,
              "Allocations that needed no pinning.")
      .def_ro("num_pins", &PinnedPoolStats::num_pins, "Regions pinned.")
      .def_ro("num_unpins", &PinnedPoolStats::num_unpins, "Regions unpinned.")
      .def_ro("requested_bytes", &PinnedPoolStats::requested_bytes, "Requested for blocks in use.")
      .def_ro("used_bytes", &PinnedPoolStats::used_bytes, "The size of blocks in use, rounded up.")
      .def_ro("pending_bytes", &PinnedPoolStats::pending_bytes,
              "Freed, but work in a stream may still use them.")
      .def_ro("pinned_bytes", &PinnedPoolStats::pinned_bytes, "The size of all regions.")
      .def_ro("peak_pinned_bytes", &PinnedPoolStats::peak_pinned_bytes)
      .def_ro("allocate_seconds", &PinnedPoolStats::allocate_seconds, "Pinning included.")
      .def_ro("free_seconds", &PinnedPoolStats::free_seconds)
      .def_ro("pin_seconds", &PinnedPoolStats::pin_seconds)
      .def_ro("unpin_seconds", &PinnedPoolStats::unpin_seconds);
}

}  // namespace

void bind_pinned(nb::module_& m) {
  bind_pool_stats(m);
  nb::class_<SharedPool>(m, "PinnedPool", "Pinned memory for one device's copies.")
      .def(
          "__init__",
          [](SharedPool* self, const isthmus::Driver& driver, int device, std::size_t max_bytes) {
            new (self) SharedPool(make_pool(driver, device, max_bytes));
          },
          "driver"_a, "device"_a, nb::kw_only(), "max_bytes"_a = 0, Release(),
          "max_bytes: the most pinned at a time; 0: half of what the machine allows.")
      .def(
          "trim",
          [](const SharedPool& shared, std::size_t kept_bytes) { shared->trim(kept_bytes); },
          "kept_bytes"_a = 0, Release(), "Unpin regions that no block uses.")
      .def(
          "stats", [](const SharedPool& shared) { return shared->stats(); }, Release())
      .def(
          "contains",
          [](const SharedPool& shared, std::uintptr_t pointer, std::size_t size_bytes) {
            return shared->contains(reinterpret_cast<const void*>(pointer), size_bytes);
          },
          "pointer"_a, "size_bytes"_a, Release(),
          "True if these bytes are in this pool's pinned memory.")
      .def_prop_ro("device", [](const SharedPool& shared) { return shared->device(); });
  bind_block(m);
}
