// Copies of blocks by index, pieces by addresses, and prepared copies.
#include <nanobind/nanobind.h>

#include <isthmus/errors.hpp>
#include <isthmus/transfer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/transfer/array_batch.hpp"
#include "bindings/transfer/copy_future.hpp"
#include "bindings/transfer/read_blocks.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::BlockOptions;
using isthmus::BlockPriority;
using isthmus::BlockWay;
using isthmus::UsageError;

namespace {

constexpr Word<BlockPriority> kPriorities[] = {{"bulk", BlockPriority::bulk},
                                               {"urgent", BlockPriority::urgent}};
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
  BlockOptions options = options_of(read.stream, sms, priority, way);
  options.checks_memory = read.targets.has_addresses() || read.sources.has_addresses();
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

nb::object plan_many(ArrayTransfers& transfers, nb::handle target, nb::handle source) {
  if (!transfers.reader.is_structure(target))
    throw UsageError(
        "plan_many takes lists, tuples or mappings of arrays: isthmus.copy copies two arrays");
  auto made =
      std::make_unique<ArrayBatch>(transfers.reader, target, source, nb::none(), Hold::copy);
  ArrayBatch& batch = *made;
  const nb::object object = nb::cast(made.release(), nb::rv_policy::take_ownership);
  if (nb::len(batch.unlike()) != 0)
    throw UsageError(batch.path_of(nb::cast<std::size_t>(batch.unlike()[0][0])) +
                     ": plan_many takes pairs of the same type, shape and order without gaps, and "
                     "targets that can be written; isthmus.copy takes all others");
  isthmus::PreparedCopy copy = batch.naming_refusals([&] {
    const GilReleased released;
    return transfers->prepare_many(batch.copies());
  });
  return owned(std::make_unique<PreparedArrays>(
      transfers.reader, std::move(copy), std::vector<Export>{},
      nb::make_tuple(object, transfers.reader_object), batch.tensors(), batch.leader()));
}

/// Read at once: the arrays may be changed on return.
PythonFuture copy_pieces(ArrayTransfers& transfers, nb::handle targets, nb::handle sources,
                         nb::handle sizes, nb::handle stream) {
  ReadArrays arrays(transfers.reader, Hold::call);
  const char* const names[] = {"target_pointers", "source_pointers", "sizes"};
  const Array* const read[] = {&arrays.read_array(targets, Role::source, names[0]),
                               &arrays.read_array(sources, Role::source, names[1]),
                               &arrays.read_array(sizes, Role::source, names[2])};
  const std::uintptr_t chosen = arrays.order(stream);
  for (std::size_t i = 0; i < 3; ++i) {
    require_numbers(*read[i], names[i], Numbers::addresses);
    if (read[i]->on_device())
      throw UsageError(std::string(names[i]) + " is on a GPU: the call reads it on the host");
    if (read[i]->shape[0] != read[0]->shape[0])
      throw UsageError(std::string(names[0]) + " has " + std::to_string(read[0]->shape[0]) +
                       " items, and " + names[i] + " " + std::to_string(read[i]->shape[0]));
  }
  const auto numbers = [](const Array* array) {
    return static_cast<const std::uint64_t*>(array->data);
  };
  const isthmus::CopyPieces pieces{numbers(read[0]), numbers(read[1]), numbers(read[2]),
                                   static_cast<std::size_t>(read[0]->shape[0])};
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < pieces.num_pieces; ++i) all |= pieces.sizes[i];
  if (all >> 63U != 0) throw UsageError("sizes has a negative size, or one of 2^63 bytes and more");
  auto needs = std::make_unique<PythonNeeds>(std::vector<Export>{}, nb::none(), nb::none());
  return {std::move(needs), [&] { return transfers->copy_pieces(pieces, chosen); }};
}

}  // namespace

void bind_block_copies(nb::module_& m, nb::class_<ArrayTransfers>& transfers) {
  nb::class_<BlockWay>(m, "BlockWay", "How blocks or pieces are copied, and why.")
      .def_prop_ro(
          "way", [](const BlockWay& told) { return std::string(told.way); },
          "\"kernel\"; \"batch\": the driver's copies in one call; \"staged\": as isthmus.copy "
          "copies many arrays.")
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
           "stream"_a.none(), "sms"_a, "priority"_a.none(), "way"_a = "", "Begin to copy blocks.")
      .def("plan_blocks", &plan_blocks, "target"_a.none(), "source"_a.none(),
           "target_index"_a.none(), "source_index"_a.none(), "block_bytes"_a.none(),
           "stream"_a.none(), "sms"_a, "priority"_a.none(), "way"_a = "",
           nb::sig("def plan_blocks(self, target: object, source: object, target_index: object, "
                   "source_index: object, block_bytes: object | None, stream: object | None, sms: "
                   "int, priority: object, way: str = '') -> PreparedCopy"),
           "Prepare a copy of blocks.")
      .def("plan_many", &plan_many, "targets"_a.none(), "sources"_a.none(),
           nb::sig("def plan_many(self, targets: object, sources: object) -> PreparedCopy"),
           "Prepare the copies of two structures.")
      .def("copy_pieces", &copy_pieces, "targets"_a.none(), "sources"_a.none(), "sizes"_a.none(),
           "stream"_a.none(), "Begin to copy between addresses in arrays.")
      .def(
          "check_blocks", [](const ArrayTransfers& self) { self->check_blocks(); }, Release(),
          "Raise UsageError for an index outside its pool of which nobody was told.");
}
