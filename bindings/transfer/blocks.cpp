// Copies of blocks by index, pieces by addresses, and prepared copies.
#include <nanobind/nanobind.h>

#include <isthmus/errors.hpp>
#include <isthmus/transfer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays/pair.hpp"
#include "bindings/arrays/protocols.hpp"
#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/transfer/array_batch.hpp"
#include "bindings/transfer/copy_future.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::BlockCopy;
using isthmus::BlockIndex;
using isthmus::BlockOptions;
using isthmus::BlockPool;
using isthmus::BlockPriority;
using isthmus::BlockWay;
using isthmus::UsageError;

namespace {

constexpr Word<BlockPriority> kPriorities[] = {{"bulk", BlockPriority::bulk},
                                               {"urgent", BlockPriority::urgent}};
constexpr int kSignedInt = 0;  // DLPack's codes
constexpr int kUnsignedInt = 1;

/// What a caller passes.
struct BlockArguments {
  nb::handle target;
  nb::handle source;
  nb::handle target_index;
  nb::handle source_index;
  nb::handle block_bytes;  ///< None: rows of axis 0
  nb::handle stream;
};

/// isthmus.Blocks: pools by addresses.
bool is_address(nb::handle object) {
  static const nb::handle type =
      nb::object(nb::module_::import_("isthmus.move.arrays.pointers").attr("Blocks")).release();
  return object.type().is(type);
}

bool is_list(nb::handle object) {
  return PyList_CheckExact(object.ptr()) || PyTuple_CheckExact(object.ptr());
}

/// Arrays of one call, and the objects that they were read from.
class ReadArrays {
public:
  ReadArrays(ArrayReader& reader, Hold hold) : reader_(reader), hold_(hold) {}

  Array& read(nb::handle object, Role role) {
    objects_.push_back(nb::borrow(object));
    Array& array = arrays_.emplace_back();
    reader_.read(object, role, hold_, array);
    pointers_.push_back(&array);
    return array;
  }
  /// Orders the copy after the work of all of them. Their addresses are known then.
  std::uintptr_t order(nb::handle stream) {
    Ordering ordering(reader_, stream, pointers_);
    for (std::size_t i = 0; i < arrays_.size(); ++i) ordering.include(objects_[i], arrays_[i]);
    return ordering.stream();
  }
  /// The array whose library has chosen the stream; None if none has.
  nb::object leader() const {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (arrays_[i].use == Use::library) return objects_[i];
    return nb::none();
  }
  std::vector<Export> take_exports() {
    std::vector<Export> exports;
    for (Array& array : arrays_)
      if (array.held.keeps_something()) exports.push_back(std::move(array.held));
    return exports;
  }

private:
  ArrayReader& reader_;
  Hold hold_;
  std::deque<Array> arrays_;
  std::vector<Array*> pointers_;
  std::vector<nb::object> objects_;
};

/// One end: arrays, or addresses, one for each layer.
class Pools {
public:
  void add(ReadArrays& arrays, nb::handle object, Role role) {
    const char* const name = role == Role::target ? "target" : "source";
    if (!is_list(object)) return add_layer(arrays, object, role, name);
    const nb::object layers = from_python([&] { return PySequence_Tuple(object.ptr()); });
    const auto count = static_cast<std::size_t>(PyTuple_Size(layers.ptr()));
    if (count == 0) throw UsageError("the " + std::string(name) + " is an empty list of layers");
    for (std::size_t i = 0; i < count; ++i)
      add_layer(arrays, PyTuple_GetItem(layers.ptr(), static_cast<Py_ssize_t>(i)), role,
                "layer " + std::to_string(i) + " of the " + name);
  }
  /// Call after the arrays are ordered.
  ///
  /// block_bytes   0: that of the first layer's rows
  void find(std::size_t& block_bytes, Item& item) {
    const bool as_bytes = block_bytes != 0;
    for (const Layer& layer : layers_) {
      const std::size_t its_bytes = layer.array == nullptr ? layer.block_bytes : 0;
      if (layer.array == nullptr) {
        pools_.push_back(layer.pool);
      } else {
        if (layer.array->read_only) throw_unless_source(layer);
        require_same_item(layer, item);
      }
      const std::size_t found = layer.array == nullptr ? its_bytes
                                : as_bytes             ? add_bytes(layer, block_bytes)
                                                       : add_rows(layer);
      if (block_bytes == 0) block_bytes = found;
      if (found != block_bytes)
        throw UsageError(layer.name + " has blocks of " + std::to_string(found) + " bytes, and " +
                         std::to_string(block_bytes) + " were found before: they must be the same");
    }
  }
  const std::vector<BlockPool>& all() const noexcept { return pools_; }
  const nb::list& tensors() const noexcept { return tensors_; }

private:
  struct Layer {
    std::string name;
    Array* array = nullptr;
    BlockPool pool = {};
    std::size_t block_bytes = 0;
    Role role = Role::source;
  };

  void add_layer(ReadArrays& arrays, nb::handle object, Role role, const std::string& name) {
    if (is_address(object)) {
      const auto number = [&](const char* member) {
        return nb::cast<std::size_t>(object.attr(member));
      };
      const BlockPool pool{address(number("address")), number("count"), number("stride_bytes")};
      layers_.push_back({name, nullptr, pool, number("block_bytes"), role});
      return;
    }
    try {
      Array& array = arrays.read(object, role);
      if (array.is_tensor && role == Role::target) tensors_.append(object);
      layers_.push_back({name, &array, {}, 0, role});
    } catch (const HoldsArrays&) {
      throw UsageError(name + " is a " + nb::type_name(object.type()).c_str() +
                       ": a pool is an array, isthmus.Blocks, or a list of one for each layer");
    }
  }
  static void throw_unless_source(const Layer& layer) {
    if (layer.role == Role::target) throw UsageError(layer.name + " is read-only");
  }
  static void require_same_item(const Layer& layer, Item& item) {
    if (layer.array->item.code == Item::kAny) return;
    if (item.code == Item::kAny) item = layer.array->item;
    if (!same_items(item, layer.array->item))
      throw UsageError(layer.name + " has items of " + layer.array->item.name() +
                       ", and others of " + item.name() + ": blocks are copied as they are");
  }
  std::size_t add_bytes(const Layer& layer, std::size_t block_bytes) {
    const Array& array = *layer.array;
    if (!array.contiguous())
      throw UsageError(
          layer.name +
          " has gaps: with block_bytes it must be contiguous (or pass isthmus.Blocks)");
    if (array.size_bytes % block_bytes != 0)
      throw UsageError(layer.name + " has " + std::to_string(array.size_bytes) +
                       " bytes, which are no whole number of blocks of " +
                       std::to_string(block_bytes));
    pools_.push_back({array.data, array.size_bytes / block_bytes, block_bytes});
    return block_bytes;
  }
  std::size_t add_rows(const Layer& layer) {
    const Array& array = *layer.array;
    if (!array.has_shape() || array.num_dimensions == 0)
      throw UsageError(layer.name + " has no axis 0: give block_bytes");
    std::int64_t row_bytes = (array.item.bits + 7) / 8;
    for (int axis = array.num_dimensions - 1; axis > 0; --axis) {
      if (!array.contiguous() && array.shape[axis] > 1 && array.strides[axis] != row_bytes)
        throw UsageError(layer.name +
                         " has rows with gaps, or in another order: a row of axis 0 must be "
                         "contiguous (or pass isthmus.Blocks)");
      row_bytes *= array.shape[axis];
    }
    const std::int64_t stride = array.contiguous() ? row_bytes : array.strides[0];
    if (stride < 0) throw UsageError(layer.name + " runs backwards along axis 0");
    pools_.push_back(
        {array.data, static_cast<std::size_t>(array.shape[0]), static_cast<std::size_t>(stride)});
    return static_cast<std::size_t>(row_bytes);
  }

  std::vector<Layer> layers_;
  std::vector<BlockPool> pools_;
  nb::list tensors_;
};

/// Checks an array of numbers in a row.
void require_numbers(const Array& array, const char* name, int other_code) {
  const Item& item = array.item;
  const bool fits = (item.code == kSignedInt || item.code == other_code) && item.lanes == 1 &&
                    (item.bits == 64 || (item.bits == 32 && other_code == kSignedInt));
  if (!fits)
    throw UsageError(std::string(name) + " must be " +
                     (other_code == kSignedInt ? "int32 or int64" : "uint64 or int64") + ", not " +
                     (item.name().empty() ? "bytes" : item.name()));
  if (array.num_dimensions != 1 || !array.contiguous())
    throw UsageError(std::string(name) + " must have one dimension, without gaps");
}

BlockIndex index_of(const Array& array) {
  BlockIndex index;
  index.data = array.data;
  index.item_bytes = static_cast<std::size_t>(array.item.bits / 8);
  return index;
}

/// A call's arguments, read and ordered.
struct ReadBlocks {
  ReadBlocks(ArrayReader& reader, const BlockArguments& given, Hold hold) : arrays(reader, hold) {
    targets.add(arrays, given.target, Role::target);
    sources.add(arrays, given.source, Role::source);
    Array& target_index = arrays.read(given.target_index, Role::source);
    Array& source_index = arrays.read(given.source_index, Role::source);
    stream = arrays.order(given.stream);
    require_numbers(target_index, "target_index", kSignedInt);
    require_numbers(source_index, "source_index", kSignedInt);
    if (target_index.shape[0] != source_index.shape[0])
      throw UsageError("target_index has " + std::to_string(target_index.shape[0]) +
                       " indices and source_index " + std::to_string(source_index.shape[0]));
    if (!given.block_bytes.is_none()) {
      copy.block_bytes = nb::cast<std::size_t>(given.block_bytes);
      if (copy.block_bytes == 0) throw UsageError("blocks of 0 bytes can't be copied");
    }
    Item item;
    targets.find(copy.block_bytes, item);
    sources.find(copy.block_bytes, item);
    copy.targets = targets.all();
    copy.sources = sources.all();
    copy.target_index = index_of(target_index);
    copy.source_index = index_of(source_index);
    copy.num_blocks = static_cast<std::size_t>(target_index.shape[0]);
  }

  ReadArrays arrays;
  Pools targets;
  Pools sources;
  BlockCopy copy;
  std::uintptr_t stream = 0;
};

BlockOptions options_of(std::uintptr_t stream, int sms, nb::handle priority,
                        const std::string& way) {
  BlockOptions options;
  options.stream = stream;
  options.num_multiprocessors = sms;
  options.priority = value_of(kPriorities, priority, "priority");
  options.way = way;
  return options;
}

/// Tells autograd what a copy writes, unless it is refused.
template <typename Copy>
auto noting_writes(ArrayReader& reader, const nb::list& tensors, Copy copy) {
  const auto note = [&] {
    if (nb::len(tensors) != 0) reader.note_writes(tensors);
  };
  try {
    auto made = copy();
    note();
    return made;
  } catch (const isthmus::DriverError&) {
    note();
    throw;
  }
}

PythonFuture copy_blocks(ArrayTransfers& transfers, nb::handle target, nb::handle source,
                         nb::handle target_index, nb::handle source_index, nb::handle block_bytes,
                         nb::handle stream, int sms, nb::handle priority, const std::string& way) {
  ReadBlocks read(transfers.reader,
                  {target, source, target_index, source_index, block_bytes, stream}, Hold::copy);
  const BlockOptions options = options_of(read.stream, sms, priority, way);
  auto needs = std::make_unique<PythonNeeds>(
      read.arrays.take_exports(), nb::make_tuple(target, source, target_index, source_index),
      nb::none());
  return noting_writes(transfers.reader, read.targets.tensors(), [&] {
    return PythonFuture(std::move(needs),
                        [&] { return transfers->copy_blocks(read.copy, options); });
  });
}

BlockWay explain_blocks(ArrayTransfers& transfers, nb::handle target, nb::handle source,
                        nb::handle target_index, nb::handle source_index, nb::handle block_bytes,
                        nb::handle stream, int sms, nb::handle priority, const std::string& way) {
  const ReadBlocks read(transfers.reader,
                        {target, source, target_index, source_index, block_bytes, stream},
                        Hold::call);
  const BlockOptions options = options_of(read.stream, sms, priority, way);
  const GilReleased released;
  return transfers->explain_blocks(read.copy, options);
}

/// A prepared copy, and what it needs as long as it may be run.
class PreparedArrays {
public:
  /// leader      an array whose library chooses the stream of each run; None: there is none
  PreparedArrays(ArrayReader& reader, isthmus::PreparedCopy copy, std::vector<Export> exports,
                 nb::object objects, nb::list tensors, nb::object leader)
      : reader_(reader),
        copy_(std::move(copy)),
        exports_(std::move(exports)),
        objects_(std::move(objects)),
        tensors_(std::move(tensors)),
        leader_(std::move(leader)) {}
  ~PreparedArrays() {
    const GilReleased released;  // freeing indices on the device waits for its work
    copy_ = {};
  }
  PreparedArrays(const PreparedArrays&) = delete;
  PreparedArrays& operator=(const PreparedArrays&) = delete;

  PythonFuture run(nb::handle self, nb::handle stream) const {
    std::uintptr_t chosen = 0;
    if (!stream.is_none()) {
      chosen = reader_.stream_of(stream);
    } else if (!leader_.is_none()) {
      Array array;
      reader_.read(leader_, Role::source, Hold::call, array);
      chosen = array.stream;
    }
    auto needs = std::make_unique<PythonNeeds>(std::vector<Export>{}, nb::borrow(self), nb::none());
    return noting_writes(reader_, tensors_, [&] {
      return PythonFuture(std::move(needs), [&] { return copy_.run(chosen); });
    });
  }
  BlockWay explain() const { return copy_.explain(); }

private:
  ArrayReader& reader_;
  isthmus::PreparedCopy copy_;
  std::vector<Export> exports_;
  nb::object objects_;
  nb::list tensors_;
  nb::object leader_;
};

nb::object owned(std::unique_ptr<PreparedArrays> prepared) {
  return nb::cast(prepared.release(), nb::rv_policy::take_ownership);
}

nb::object plan_blocks(ArrayTransfers& transfers, nb::handle target, nb::handle source,
                       nb::handle target_index, nb::handle source_index, nb::handle block_bytes,
                       nb::handle stream, int sms, nb::handle priority, const std::string& way) {
  ReadBlocks read(transfers.reader,
                  {target, source, target_index, source_index, block_bytes, stream}, Hold::copy);
  const BlockOptions options = options_of(read.stream, sms, priority, way);
  isthmus::PreparedCopy copy;
  {
    const GilReleased released;
    copy = transfers->prepare_blocks(read.copy, options);
  }
  return owned(std::make_unique<PreparedArrays>(
      transfers.reader, std::move(copy), read.arrays.take_exports(),
      nb::make_tuple(target, source, target_index, source_index, transfers.reader_object),
      read.targets.tensors(), read.arrays.leader()));
}

nb::object plan_many(ArrayTransfers& transfers, nb::handle object, nb::handle arrays) {
  ArrayBatch& batch = nb::cast<ArrayBatch&>(object);
  if (nb::len(batch.unlike()) != 0)
    throw UsageError(
        "arrays that lie differently, or have other types, can't be prepared: copy them by "
        "isthmus.copy");
  isthmus::PreparedCopy copy = batch.naming_refusals([&] {
    const GilReleased released;
    return transfers->prepare_many(batch.copies());
  });
  return owned(std::make_unique<PreparedArrays>(
      transfers.reader, std::move(copy), std::vector<Export>{},
      nb::make_tuple(arrays, object, transfers.reader_object), batch.tensors(), batch.leader()));
}

/// Read at once: the arrays may be changed on return.
PythonFuture copy_pieces(ArrayTransfers& transfers, nb::handle targets, nb::handle sources,
                         nb::handle sizes, nb::handle stream) {
  ReadArrays arrays(transfers.reader, Hold::call);
  const Array* const read[] = {&arrays.read(targets, Role::source),
                               &arrays.read(sources, Role::source),
                               &arrays.read(sizes, Role::source)};
  const std::uintptr_t chosen = arrays.order(stream);
  const char* const names[] = {"the targets' pointers", "the sources' pointers", "the sizes"};
  for (std::size_t i = 0; i < 3; ++i) {
    require_numbers(*read[i], names[i], kUnsignedInt);
    if (read[i]->on_device())
      throw UsageError(std::string(names[i]) + " are on a device: they are read on the host");
    if (read[i]->shape[0] != read[0]->shape[0])
      throw UsageError("there are " + std::to_string(read[0]->shape[0]) + " targets, and " +
                       names[i] + " are " + std::to_string(read[i]->shape[0]));
  }
  const auto numbers = [](const Array* array) {
    return static_cast<const std::uint64_t*>(array->data);
  };
  const isthmus::CopyPieces pieces{numbers(read[0]), numbers(read[1]), numbers(read[2]),
                                   static_cast<std::size_t>(read[0]->shape[0])};
  auto needs = std::make_unique<PythonNeeds>(std::vector<Export>{}, nb::none(), nb::none());
  return {std::move(needs), [&] { return transfers->copy_pieces(pieces, chosen); }};
}

}  // namespace

void bind_block_copies(nb::module_& m, nb::class_<ArrayTransfers>& transfers) {
  nb::class_<BlockWay>(m, "BlockWay", "How blocks or pieces are copied, and why.")
      .def_prop_ro(
          "way", [](const BlockWay& told) { return std::string(told.way); },
          "\"kernel\", \"bulk\": kernels, with loads or with bulk copies; \"batch\": the driver's "
          "copies in one call; \"staged\": as isthmus.copy copies many arrays.")
      .def_ro("reason", &BlockWay::reason, "Why it is taken.")
      .def_ro("num_copies", &BlockWay::num_copies, "Blocks of all layers, or pieces.")
      .def_ro("size_bytes", &BlockWay::size_bytes, "All of their bytes.")
      .def_ro("sms", &BlockWay::num_multiprocessors,
              "The most multiprocessors that it uses; 0: none.")
      .def_ro("seconds", &BlockWay::seconds, "Predicted; 0: not predicted.")
      .def("__repr__", &text_of_members);
  nb::class_<PreparedArrays>(m, "PreparedCopy", "A copy that was prepared.")
      .def(
          "run",
          [](nb::handle self, nb::handle stream) {
            return nb::cast<const PreparedArrays&>(self).run(self, stream);
          },
          "stream"_a.none(), nb::sig("def run(self, stream: object) -> CopyFuture"),
          "Begin the copy.")
      .def("explain", &PreparedArrays::explain, "Say how it is made.");
  transfers
      .def("copy_blocks", &copy_blocks, "target"_a.none(), "source"_a.none(),
           "target_index"_a.none(), "source_index"_a.none(), "block_bytes"_a.none(),
           "stream"_a.none(), "sms"_a, "priority"_a, "way"_a = "", "Begin to copy blocks.")
      .def("explain_blocks", &explain_blocks, "target"_a.none(), "source"_a.none(),
           "target_index"_a.none(), "source_index"_a.none(), "block_bytes"_a.none(),
           "stream"_a.none(), "sms"_a, "priority"_a, "way"_a = "",
           "Say how blocks would be copied.")
      .def("plan_blocks", &plan_blocks, "target"_a.none(), "source"_a.none(),
           "target_index"_a.none(), "source_index"_a.none(), "block_bytes"_a.none(),
           "stream"_a.none(), "sms"_a, "priority"_a, "way"_a = "",
           nb::sig("def plan_blocks(self, target: object, source: object, target_index: object, "
                   "source_index: object, block_bytes: object | None, stream: object | None, sms: "
                   "int, priority: object, way: str = '') -> PreparedCopy"),
           "Prepare a copy of blocks.")
      .def("plan_many", &plan_many, "batch"_a, "arrays"_a,
           nb::sig("def plan_many(self, batch: ArrayBatch, arrays: object) -> PreparedCopy"),
           "Prepare the copies of a batch. Call this once for a batch.")
      .def("copy_pieces", &copy_pieces, "targets"_a.none(), "sources"_a.none(), "sizes"_a.none(),
           "stream"_a.none(), "Begin to copy between addresses in arrays.")
      .def(
          "check_blocks", [](const ArrayTransfers& self) { self->check_blocks(); }, Release(),
          "Raise UsageError for an index outside its pool that a kernel has found.");
}
