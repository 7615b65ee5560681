// Finds the memory object behind memory of cuMemCreate that can't be exported.
//
// The driver's record of an allocation has the object's number, at places that differ between
// drivers. They are learned at run time: from two allocations of our own, whose bytes tell which
// number is theirs, and a third that must confirm them. Then the same places of another record have
// that object's number. Nothing is written to memory that isn't ours.
//
// Source: docs/adr/0016-memory-without-a-handle.md.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "window/backends/rm_client.hpp"
#include "window/backends/rm_memory.hpp"
#include "window/backends/rm_record.hpp"
#include "window/created_memory.hpp"
#include "window/self_test.hpp"

namespace isthmus::window::rm {

/// Allocations of our own, from which the search learns: memory of cuMemCreate on one device that
/// can't be exported, each with random bytes at its beginning, and a buffer of cudaMalloc. Not
/// thread-safe.
class Samples {
public:
  static constexpr std::size_t kNum = 3;
  static constexpr std::size_t kMarkBytes = 64;
  using Mark = std::array<std::byte, kMarkBytes>;

  /// context     current on this thread
  /// Throws      DriverError or Unavailable
  explicit Samples(const Context& context);

  /// The buffer's memory object: its client is CUDA's. The driver numbers objects in order.
  ///
  /// Throws      Unavailable if CUDA gives no IPC handle.
  MemoryObject buffer_object() const;
  std::uint64_t record(std::size_t index) const { return each_[index].created->handle(); }
  std::size_t size_bytes(std::size_t index) const { return each_[index].memory->size_bytes(); }
  const Mark& mark(std::size_t index) const { return each_[index].mark; }

private:
  struct Sample {
    std::unique_ptr<CreatedMemory> memory;
    std::unique_ptr<CreatedObject> created;
    Mark mark{};
  };

  Context context_;
  CopyEngineView copy_engine_;
  DeviceBuffer buffer_;
  std::array<Sample, kNum> each_;
};

/// May be used from any thread. Keeps 8 MiB of each device on which it has searched, until it is
/// destroyed: freeing them earlier could wait for the program's kernels.
class ObjectSearch {
public:
  ObjectSearch(std::shared_ptr<const DeviceFiles> files, std::shared_ptr<Client> client);

  /// A reference to the memory object behind `created`, which is `allocation`.
  ///
  /// The first search on a device learns the places. A device on which that has failed three times
  /// isn't tried again.
  /// context     of the allocation's device, current on this thread
  /// Throws      Unavailable unless every check passes: exactly one of the numbers at the learned
  ///             places is that of an object which can be duplicated, has the allocation's size
  ///             and lies in video memory; that number is still at one of the places afterwards,
  ///             and the allocation wasn't freed meanwhile. The reason names the check. The caller compares
  ///             the mapping's bytes with the copy engine's.
  std::unique_ptr<OwnedObject> find(const Context& context, const Gpu& gpu,
                                    const Allocation& allocation, const CreatedObject& created);

private:
  struct NumberOfClient {
    Handle client = 0;
    Handle object = 0;
  };
  struct Match {
    std::unique_ptr<OwnedObject> object;
    Handle number = 0;
  };
  struct Lesson {
    Handle client = 0;  ///< CUDA's
    std::vector<Place> places;
  };
  /// What was tried on a device.
  struct Attempts {
    std::unique_ptr<Samples> samples;
    Lesson lesson;  ///< its places are empty until it was learned
    int num_failed = 0;
    std::optional<Unavailable> last_refusal;
  };

  using OwnNumbers = std::array<std::vector<NumberAtPlace>, Samples::kNum>;

  Lesson lesson(const Context& context, const Gpu& gpu);
  Lesson learn(const Context& context, const Gpu& gpu, Attempts& attempts) const;
  std::vector<NumberAtPlace> own_numbers(const Gpu& gpu, const Samples& samples,
                                         std::size_t index) const;
  std::string why_not_sample(const Gpu& gpu, const NumberOfClient& number, const Samples& samples,
                             std::size_t index) const;
  std::vector<Place> confirmed_places(const Samples& samples, const OwnNumbers& numbers) const;
  std::vector<NumberAtPlace> numbers_at(std::uint64_t record,
                                        const std::vector<Place>& places) const;
  Match only_match(const Gpu& gpu, Handle client, const std::vector<NumberAtPlace>& numbers,
                   const Allocation& allocation) const;
  std::unique_ptr<OwnedObject> duplicate(const Gpu& gpu, const NumberOfClient& number) const;

  RecordReader reader_;
  std::shared_ptr<Client> client_;
  std::mutex mutex_;
  std::map<std::string, Attempts> attempts_;  ///< by the device's file
};

}  // namespace isthmus::window::rm
