// PinnedPool and PinnedBlock: page-locked host memory as Python objects.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <isthmus/errors.hpp>
#include <isthmus/pinned.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "bindings/arrays/dlpack_structs.hpp"
#include "bindings/arrays/numpy_layout.hpp"
#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "driver/driver.hpp"
#include "transfer/pinned/pinned_registry.hpp"
#include "transfer/pinned/registration.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::PinnedPoolOptions;
using isthmus::PinnedPoolStats;
using isthmus::transfer::PinnedRegistry;

namespace {

constexpr std::uintptr_t kNoStream = isthmus::PinnedPool::kNoStream;
constexpr std::size_t kAlignmentBytes = 64;

std::shared_ptr<PinnedRegistry> make_pool(const isthmus::Driver& driver, int device,
                                          std::size_t max_bytes) {
  PinnedPoolOptions options;
  options.max_bytes = max_bytes;
  options.pin.interrupted = signal_has_raised;
  return std::make_shared<PinnedRegistry>(driver, device, options);
}

/// Drops a reference to a pool. The last one is dropped without the GIL: destroying the pool unpins
/// its memory, which takes long. All others are dropped with it, so that nobody becomes the last
/// after having looked.
void leave(std::shared_ptr<PinnedRegistry>& pool) {
  if (pool.use_count() > 1) return pool.reset();
  const GilReleased released;
  pool.reset();
}

/// Memory of a pool, given back when the object is destroyed.
class PinnedBlock {
public:
  PinnedBlock(std::shared_ptr<PinnedRegistry> pool, std::size_t size_bytes)
      : pool_(std::move(pool)), size_bytes_(static_cast<Py_ssize_t>(size_bytes)) {
    // With the GIL, because releasing it may cost a turn of another thread. The pool's lock is held
    // by nobody who pins, or who waits for the GIL.
    if (size_bytes != 0) data_ = pool_->allocate_free(size_bytes);
    if (data_ != nullptr) return;
    const GilReleased released;
    data_ = pool_->allocate(size_bytes, kNoStream, kAlignmentBytes);
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  ~PinnedBlock() {
    try {
      pool_->free(data_, kNoStream);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // A forked child doesn't own the block; and nobody can be told that the driver is gone.
    }
    leave(pool_);
  }

  void* data() const noexcept { return data_; }
  std::uintptr_t pointer() const noexcept { return reinterpret_cast<std::uintptr_t>(data_); }
  Py_ssize_t size_bytes() const noexcept { return size_bytes_; }

private:
  std::shared_ptr<PinnedRegistry> pool_;
  Py_ssize_t size_bytes_;
  void* data_ = nullptr;
};

/// A pool that blocks share. Destroying it may unpin memory, which takes long.
struct SharedPool {
  explicit SharedPool(std::shared_ptr<PinnedRegistry> made) : pool(std::move(made)) {}
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;
  ~SharedPool() { leave(pool); }
  PinnedRegistry* operator->() const noexcept { return pool.get(); }

  std::shared_ptr<PinnedRegistry> pool;
};

/// A caller's memory that is pinned in place. Destroying it waits for the devices.
class SharedRegistration {
public:
  SharedRegistration(const SharedContext& context, std::uintptr_t pointer, std::size_t size_bytes,
                     bool read_only) {
    const GilReleased released;
    owned_ = std::make_unique<isthmus::transfer::Registration>(
        *context, reinterpret_cast<void*>(pointer), size_bytes, read_only);
  }
  SharedRegistration(const SharedRegistration&) = delete;
  SharedRegistration& operator=(const SharedRegistration&) = delete;
  ~SharedRegistration() {
    const GilReleased released;
    owned_.reset();
  }
  void end() { owned_->end(); }

private:
  std::unique_ptr<isthmus::transfer::Registration> owned_;
};

// --- NumPy's arrays ------------------------------------------------------------------------------

// More dimensions are left to numpy.ndarray().
constexpr int kMaxDimensions = 32;

/// The lengths of an int, or a tuple of ints.
struct Lengths {
  /// Returns     false for everything else
  bool take(nb::handle shape) {
    if (PyLong_CheckExact(shape.ptr()) != 0) return take_one(shape.ptr());
    if (PyTuple_CheckExact(shape.ptr()) == 0 || PyTuple_Size(shape.ptr()) > kMaxDimensions)
      return false;
    const Py_ssize_t num_lengths = PyTuple_Size(shape.ptr());
    for (Py_ssize_t i = 0; i < num_lengths; ++i) {
      PyObject* const length = PyTuple_GetItem(shape.ptr(), i);
      if (PyLong_CheckExact(length) == 0 || !take_one(length)) return false;
    }
    return true;
  }
  /// The bytes of all items, at least 1; 0 if NumPy has no such array.
  std::size_t size_bytes(std::int64_t item_bytes) const {
    std::int64_t reach = item_bytes;  // a length of 0 leaves the strides of the others
    std::int64_t bytes = item_bytes;
    for (int i = 0; i < count; ++i) {
      if (__builtin_mul_overflow(reach, std::max<std::int64_t>(lengths[i], 1), &reach)) return 0;
      bytes *= lengths[i];
    }
    return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  }

  std::array<std::int64_t, kMaxDimensions> lengths;  // NOLINT(*-member-init): filled up to `count`
  int count = 0;

private:
  bool take_one(PyObject* number) {
    const Py_ssize_t length = PyLong_AsSsize_t(number);
    if (length < 0) PyErr_Clear();
    lengths[static_cast<std::size_t>(count++)] = length;
    return length >= 0;
  }
};

nb::object make_block(const SharedPool& shared, std::size_t size_bytes) {
  static const nb::handle type = nb::type<PinnedBlock>();
  nb::object block = nb::inst_alloc(type);
  new (nb::inst_ptr<PinnedBlock>(block)) PinnedBlock(shared.pool, size_bytes);
  nb::inst_mark_ready(block);
  return block;
}

/// An array of numbers in C order, in a new block. None for what numpy.ndarray() has to make or
/// refuse.
nb::object make_array(const SharedPool& shared, nb::handle shape, nb::handle dtype) {
  const NumpyMaking* const numpy = NumpyMaking::find();
  Lengths lengths;
  if (numpy == nullptr || !lengths.take(shape)) return nb::none();
  const nb::object type = numpy->type_of(dtype);
  const std::int64_t item_bytes = type.is_valid() ? numpy_item_bytes(type) : 0;
  const std::size_t size_bytes = item_bytes == 0 ? 0 : lengths.size_bytes(item_bytes);
  if (size_bytes == 0) return nb::none();
  nb::object block = make_block(shared, size_bytes);
  void* const data = nb::inst_ptr<PinnedBlock>(block)->data();
  return numpy->array(type, lengths.lengths.data(), lengths.count, data, std::move(block));
}

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
    return capsule_of<dlpack::ManagedTensor>(self, dlpack::kName, [](PyObject* capsule) {
      end_capsule<dlpack::ManagedTensor>(capsule, dlpack::kName);
    });
  nb::object capsule = capsule_of<dlpack::VersionedTensor>(
      self, dlpack::kVersionedName,
      [](PyObject* ended) { end_capsule<dlpack::VersionedTensor>(ended, dlpack::kVersionedName); });
  auto* const managed = static_cast<dlpack::VersionedTensor*>(
      PyCapsule_GetPointer(capsule.ptr(), dlpack::kVersionedName));
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
      .def("__repr__", &text_of_members)
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
      .def("array", &make_array, "shape"_a.none(), "dtype"_a.none(),
           nb::sig("def array(self, shape: object, dtype: object) -> "
                   "numpy.typing.NDArray[typing.Any] | None"),
           "Make a NumPy array of undefined contents in C order, which keeps its block. None, with "
           "nothing allocated, unless the shape is an int or a tuple of ints, and the items are "
           "numbers or booleans.")
      .def_prop_ro("device", [](const SharedPool& shared) { return shared->device(); });
  bind_block(m);
  nb::class_<SharedRegistration>(m, "Registration", "A caller's memory, pinned where it lies.")
      .def(nb::init<const SharedContext&, std::uintptr_t, std::size_t, bool>(), "context"_a,
           "pointer"_a, "size_bytes"_a, nb::kw_only(), "read_only"_a)
      .def("end", &SharedRegistration::end, Release(),
           "Unpin it, after the devices' work with it. Does nothing the second time.");
}
