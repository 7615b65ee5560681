// Reads the arrays of everyday copies without a Python function on the way.
//
// isthmus.arrays understands everything, at some microseconds an array. This understands arrays
// without gaps of the usual item types, of the types that Python has named to it, in 0.1 us; what
// it doesn't, it leaves to the other.
#pragma once

#include <nanobind/nanobind.h>

#include <isthmus/transfer.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dlpack_structs.hpp"
#include "export.hpp"

/// How long an array's memory must stay where it is.
enum class Hold {
  call,  ///< while the caller holds the object and lets nobody change it
  copy,  ///< as long as the Export lives, whatever becomes of the object
};

/// A C-contiguous array of an object that outlives it. Made and destroyed with the GIL held.
class QuickArray {
public:
  QuickArray() = default;
  QuickArray(const QuickArray&) = delete;
  QuickArray& operator=(const QuickArray&) = delete;

  void* data = nullptr;
  std::size_t size_bytes = 0;
  int type_code = kAnyType;  ///< DLPack's, or kAnyType for bytes
  int item_bits = 8;
  int num_dimensions = kNoShape;  ///< or kNoShape for bytes
  const std::int64_t* shape = nullptr;
  bool read_only = false;
  bool on_device = false;
  /// What is certain: an array may view any of the host's memory.
  isthmus::MemoryKind host_kind = isthmus::MemoryKind::unknown;
  std::uintptr_t stream = 0;  ///< what its library launches in now, if it is on a device
  int device = -1;

  static constexpr int kAnyType = -1;
  static constexpr int kNoShape = -1;

  Export held;

private:
  friend class TypeReaders;
  bool take_items(char kind, std::int64_t item_bytes);
  bool take_shape(nanobind::handle lengths);
  void count_bytes();

  std::int64_t own_shape_[8] = {};
};

/// Knows how to read the types that it has met.
class TypeReaders {
public:
  /// reader_of   called with a type, gives (name of a way, what it needs), or None
  explicit TypeReaders(nanobind::object reader_of) : reader_of_(std::move(reader_of)) {}

  enum class Role { source, target };
  /// False if it has to be looked at by isthmus.arrays. Sets no Python error.
  bool read(nanobind::handle object, Role role, Hold hold, QuickArray& array);

private:
  enum class Way { none, buffer, numpy, pointer, cuda_interface, torch, cupy };
  struct Reader {
    nanobind::object type;  // kept, or another could get its address
    Way way = Way::none;
    const dlpack::Exchange* exchange = nullptr;
    nanobind::object current_stream;  // CuPy's function
    bool on_device = false;           // of pointers
  };

  const Reader* reader_for(PyTypeObject* type);
  Reader ask(nanobind::handle type) const;
  static bool read_by(const Reader& reader, nanobind::handle object, Role role, Hold hold,
                      QuickArray& array);
  static bool read_buffer(nanobind::handle object, QuickArray& array);
  static bool read_numpy(nanobind::handle object, QuickArray& array);
  static bool read_pointer(const Reader& reader, nanobind::handle object, QuickArray& array);
  static bool read_cuda_interface(nanobind::handle object, QuickArray& array);
  static bool read_torch(const Reader& reader, nanobind::handle object, Role role, Hold hold,
                         QuickArray& array);
  static bool read_cupy(const Reader& reader, nanobind::handle object, QuickArray& array);

  nanobind::object reader_of_;
  std::vector<Reader> readers_;
};

/// What a quick copy needs to know.
struct QuickPair {
  QuickArray target;
  QuickArray source;
  std::uintptr_t stream = 0;
};

/// Reads two arrays, and makes sure that one can be copied to the other as it is.
///
/// stream      None, or a CUstream as an int
/// Returns     false if isthmus.arrays has to look: it then copies, or says what is wrong
bool read_pair(TypeReaders& readers, nanobind::handle target, nanobind::handle source,
               nanobind::handle stream, Hold hold, QuickPair& pair);
