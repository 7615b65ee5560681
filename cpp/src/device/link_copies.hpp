// Many copies across the link in one call: a batch, or a graph of copies.
#pragma once

#include <span>
#include <vector>

#include "device/owned.hpp"

namespace isthmus {

/// One copy across the link.
struct LinkCopy {
  std::byte* host = nullptr;  ///< pinned
  CUdeviceptr device = 0;
  std::size_t size_bytes = 0;
  bool to_device = true;
};

/// Unordered copies by cuMemcpyBatchAsync. Movable. The memory must stay valid until the work of
/// each call is done. The caller of a member function holds a CurrentContext.
///
/// Source   CUDA Driver API 13.0, cuMemcpyBatchAsync.
class CopyBatch {
public:
  /// copies   at least one, all of at least 1 byte
  /// Throws   UsageError for none; Unavailable on a driver older than CUDA 12.8.
  CopyBatch(const Context& context, std::span<const LinkCopy> copies);

  /// stream   not the legacy default stream: the driver refuses it
  /// order    when the driver may read the sources: ANY if no earlier work of the stream writes them
  void enqueue(CUstream stream,
               CUmemcpySrcAccessOrder order = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM) const;

private:
  PFN_cuMemcpyBatchAsync_v12080 function_;
  Context context_;
  // The driver's parameters aren't const, although it only reads them.
  mutable std::vector<CUdeviceptr> targets_;
  mutable std::vector<CUdeviceptr> sources_;
  mutable std::vector<std::size_t> sizes_;
};

/// Copies as nodes of an instantiated graph. Movable; the rules of CopyBatch apply.
///
/// Source   CUDA Driver API 13.0, Graph Management.
class CopyGraph {
public:
  enum class Order {
    any,    ///< no node waits for another
    given,  ///< each node waits for the one before it
  };

  /// Throws   UsageError for no copies; Unavailable, DriverError.
  CopyGraph(const Context& context, std::span<const LinkCopy> copies, Order order = Order::any);

  void enqueue(CUstream stream) const;

private:
  Owned<CUgraphExec> executable_;
};

}  // namespace isthmus
