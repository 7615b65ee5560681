// isthmus.h: copies of blocks.
#include <memory>
#include <span>

#include <isthmus/isthmus.h>
#include <isthmus/errors.hpp>
#include <isthmus/transfer.hpp>

#include "capi/default_transfers.hpp"
#include "capi/isthmus_calls.hpp"

struct isthmus_prepared_copy {  // NOLINT(readability-identifier-naming): C's name for it
  isthmus::PreparedCopy copy;
};

namespace isthmus::capi {
namespace {

/// A call's struct, read.
struct ReadCopy {
  explicit ReadCopy(const isthmus_block_copy* given) {
    if (given == nullptr) throw UsageError("the copy of blocks is a null pointer");
    require_known_members(*given, "isthmus_block_copy", "ISTHMUS_BLOCK_COPY_INIT");
    if (given->num_layers != 0 && (given->targets == nullptr || given->sources == nullptr))
      throw UsageError("isthmus_block_copy.targets or .sources is a null pointer");
    targets = pools_of(given->targets, given->num_layers);
    sources = pools_of(given->sources, given->num_layers);
    copy.targets = targets;
    copy.sources = sources;
    copy.block_bytes = given->block_bytes;
    copy.target_index.data = given->target_index;
    copy.source_index.data = given->source_index;
    copy.target_index.item_bytes = copy.source_index.item_bytes = given->index_bytes;
    copy.num_blocks = given->num_blocks;
    options.stream = reinterpret_cast<std::uintptr_t>(given->stream);
    options.num_multiprocessors = given->num_multiprocessors;
    options.priority = given->urgent != 0 ? BlockPriority::urgent : BlockPriority::bulk;
    if (given->way != nullptr) options.way = given->way;
  }

  static std::vector<BlockPool> pools_of(const isthmus_block_pool* pools, std::size_t count) {
    std::vector<BlockPool> read;
    for (const isthmus_block_pool& pool : std::span(pools, count))
      read.push_back({pool.address, pool.count, pool.stride_bytes});
    return read;
  }

  std::vector<BlockPool> targets;
  std::vector<BlockPool> sources;
  BlockCopy copy;
  BlockOptions options;
};

/// Begins a copy, and gives the caller its future, if one is wanted.
template <typename Begin>
void give_future(isthmus_future** future, Begin begin) {
  auto made = std::make_unique<isthmus_future>();
  made->future = begin();
  if (future != nullptr) *future = made.release();
}

}  // namespace
}  // namespace isthmus::capi

using isthmus::capi::default_transfers;
using isthmus::capi::guarded;

isthmus_status isthmus_copy_blocks(const isthmus_block_copy* copy, isthmus_future** future,
                                   isthmus_error* error) {
  return guarded(error, [&] {
    const isthmus::capi::ReadCopy read(copy);
    isthmus::capi::give_future(
        future, [&] { return default_transfers().copy_blocks(read.copy, read.options); });
  });
}

isthmus_status isthmus_prepare_blocks(const isthmus_block_copy* copy,
                                      isthmus_prepared_copy** prepared, isthmus_error* error) {
  return guarded(error, [&] {
    if (prepared == nullptr)
      throw isthmus::UsageError("where the prepared copy should go is a null pointer");
    const isthmus::capi::ReadCopy read(copy);
    auto made = std::make_unique<isthmus_prepared_copy>();
    made->copy = default_transfers().prepare_blocks(read.copy, read.options);
    *prepared = made.release();
  });
}

isthmus_status isthmus_prepared_run(const isthmus_prepared_copy* prepared, void* stream,
                                    isthmus_future** future, isthmus_error* error) {
  return guarded(error, [&] {
    if (prepared == nullptr) throw isthmus::UsageError("the prepared copy is a null pointer");
    isthmus::capi::give_future(
        future, [&] { return prepared->copy.run(reinterpret_cast<std::uintptr_t>(stream)); });
  });
}

void isthmus_prepared_free(isthmus_prepared_copy* prepared) { delete prepared; }

isthmus_status isthmus_check_blocks(isthmus_error* error) {
  return guarded(error, [] { default_transfers().check_blocks(); });
}
