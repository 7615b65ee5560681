#include "bindings/transfer/read_blocks.hpp"

#include <algorithm>
#include <utility>

#include <isthmus/errors.hpp>

#include "bindings/arrays/protocols.hpp"
#include "bindings/gil.hpp"
#include "bindings/transfer/copy_future.hpp"

namespace nb = nanobind;
using isthmus::BlockIndex;
using isthmus::BlockPool;
using isthmus::UsageError;

namespace {

constexpr int kSignedInt = 0;  // DLPack's codes
constexpr int kUnsignedInt = 1;

/// isthmus.Blocks: pools by addresses.
bool is_address(nb::handle object) {
  static const nb::handle type =
      nb::object(nb::module_::import_("isthmus.move.arrays.pointers").attr("Blocks")).release();
  return object.type().is(type);
}

bool is_list(nb::handle object) {
  return PyList_CheckExact(object.ptr()) || PyTuple_CheckExact(object.ptr());
}

BlockIndex index_of(const Array& array) {
  BlockIndex index;
  index.data = array.data;
  index.item_bytes = static_cast<std::size_t>(array.item.bits / 8);
  return index;
}

}  // namespace

Array& ReadArrays::read(nb::handle object, Role role) {
  objects_.push_back(nb::borrow(object));
  Array& array = arrays_.emplace_back();
  reader_.read(object, role, hold_, array);
  pointers_.push_back(&array);
  return array;
}

Array& ReadArrays::read_array(nb::handle object, Role role, const char* name) try {
  return read(object, role);
} catch (const HoldsArrays&) {
  throw UsageError(std::string(name) + ": pass an array, not a " +
                   nb::type_name(object.type()).c_str());
}

std::uintptr_t ReadArrays::order(nb::handle stream) {
  Ordering ordering(reader_, stream, pointers_);
  for (std::size_t i = 0; i < arrays_.size(); ++i) ordering.include(objects_[i], arrays_[i]);
  return ordering.stream();
}

nb::object ReadArrays::leader() const {
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    if (arrays_[i].use == Use::library) return objects_[i];
  return nb::none();
}

std::vector<Export> ReadArrays::take_exports() {
  std::vector<Export> exports;
  for (Array& array : arrays_)
    if (array.held.keeps_something()) exports.push_back(std::move(array.held));
  return exports;
}

bool ReadArrays::may_be_reused(std::uintptr_t stream) const noexcept {
  return std::ranges::any_of(arrays_, [stream](const Array& array) {
    return !array.is_own && (array.use != Use::library || array.stream != stream);
  });
}

nb::object ReadArrays::objects() const {
  nb::list all;
  for (const nb::object& object : objects_) all.append(object);
  return nb::tuple(all);
}

void BlockLayers::add(ReadArrays& arrays, nb::handle object, Role role) {
  const char* const name = role == Role::target ? "target" : "source";
  if (!is_list(object)) return add_layer(arrays, object, role, name);
  const nb::object layers = from_python([&] { return PySequence_Tuple(object.ptr()); });
  const auto count = static_cast<std::size_t>(PyTuple_Size(layers.ptr()));
  if (count == 0) throw UsageError("the " + std::string(name) + " is an empty list of layers");
  for (std::size_t i = 0; i < count; ++i)
    add_layer(arrays, PyTuple_GetItem(layers.ptr(), static_cast<Py_ssize_t>(i)), role,
              "layer " + std::to_string(i) + " of the " + name);
}

void BlockLayers::find(bool as_bytes, std::size_t& block_bytes, Item& item) {
  for (const Layer& layer : layers_) {
    std::size_t found = layer.block_bytes;
    if (layer.array == nullptr) {
      pools_.push_back(layer.pool);
    } else {
      if (layer.array->read_only && layer.role == Role::target)
        throw UsageError(layer.name + " is read-only");
      require_same_item(layer, item);
      found = as_bytes ? add_bytes(layer, block_bytes) : add_rows(layer);
    }
    if (block_bytes == 0) block_bytes = found;
    if (found != block_bytes)
      throw UsageError(layer.name + " has blocks of " + std::to_string(found) + " bytes, and " +
                       (as_bytes ? "block_bytes is " : "those before it have ") +
                       std::to_string(block_bytes) + ": all blocks of a call have the same size");
  }
}

void BlockLayers::add_layer(ReadArrays& arrays, nb::handle object, Role role,
                            const std::string& name) {
  if (is_address(object)) {
    has_addresses_ = true;
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

void BlockLayers::require_same_item(const Layer& layer, Item& item) {
  if (layer.array->item.code == Item::kAny) return;
  if (item.code == Item::kAny) item = layer.array->item;
  if (!same_items(item, layer.array->item))
    throw UsageError(layer.name + " has items of " + layer.array->item.name() + ", and others of " +
                     item.name() + ": blocks are copied as they are");
}

std::size_t BlockLayers::add_bytes(const Layer& layer, std::size_t block_bytes) {
  const Array& array = *layer.array;
  if (!array.contiguous())
    throw UsageError(layer.name +
                     " has gaps: with block_bytes it must be contiguous (or pass isthmus.Blocks)");
  if (array.size_bytes % block_bytes != 0)
    throw UsageError(layer.name + " has " + std::to_string(array.size_bytes) +
                     " bytes, which are no whole number of blocks of " +
                     std::to_string(block_bytes));
  pools_.push_back({array.data, array.size_bytes / block_bytes, block_bytes});
  return block_bytes;
}

std::size_t BlockLayers::add_rows(const Layer& layer) {
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
  if (stride < 0)
    throw UsageError(layer.name + " runs backwards along axis 0: pass a contiguous copy");
  pools_.push_back(
      {array.data, static_cast<std::size_t>(array.shape[0]), static_cast<std::size_t>(stride)});
  return static_cast<std::size_t>(row_bytes);
}

void require_items(const Array& array, const char* name, Numbers numbers) {
  const int other_code = numbers == Numbers::addresses ? kUnsignedInt : kSignedInt;
  const Item& item = array.item;
  const bool fits = (item.code == kSignedInt || item.code == other_code) && item.lanes == 1 &&
                    (item.bits == 64 || (item.bits == 32 && other_code == kSignedInt));
  if (!fits)
    throw UsageError(std::string(name) + " must be " +
                     (other_code == kSignedInt ? "int32 or int64" : "uint64 or int64") + ", not " +
                     (item.name().empty() ? "bytes" : item.name()));
}

void require_numbers(const Array& array, const char* name, Numbers numbers) {
  require_items(array, name, numbers);
  if (array.num_dimensions != 1 || !array.contiguous())
    throw UsageError(std::string(name) +
                     " must have one dimension, without gaps: pass numpy.ravel() of it, or a copy");
}

ReadBlocks::ReadBlocks(ArrayReader& reader, const BlockArguments& given, Hold hold)
    : arrays(reader, hold) {
  targets.add(arrays, given.target, Role::target);
  sources.add(arrays, given.source, Role::source);
  Array& target_index = arrays.read_array(given.target_index, Role::source, "target_index");
  Array& source_index = arrays.read_array(given.source_index, Role::source, "source_index");
  stream = arrays.order(given.stream);
  require_numbers(target_index, "target_index", Numbers::indices);
  require_numbers(source_index, "source_index", Numbers::indices);
  if (target_index.shape[0] != source_index.shape[0])
    throw UsageError("target_index has " + std::to_string(target_index.shape[0]) +
                     " indices and source_index " + std::to_string(source_index.shape[0]));
  if (!given.block_bytes.is_none()) {
    copy.block_bytes = nb::cast<std::size_t>(given.block_bytes);
    if (copy.block_bytes == 0) throw UsageError("blocks of 0 bytes can't be copied");
  }
  Item item;
  const bool as_bytes = copy.block_bytes != 0;
  targets.find(as_bytes, copy.block_bytes, item);
  sources.find(as_bytes, copy.block_bytes, item);
  copy.targets = targets.pools();
  copy.sources = sources.pools();
  copy.target_index = index_of(target_index);
  copy.source_index = index_of(source_index);
  copy.num_blocks = static_cast<std::size_t>(target_index.shape[0]);
}
