// An array as copies see it, from any library or our own DeviceArray, and the type of its items:
// one representation for DLPack, NumPy and the buffer protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include <isthmus/transfer.hpp>

#include "bindings/arrays/export.hpp"

/// The type of an array's items.
struct Item {
  static constexpr int kAny = -1;    ///< untyped bytes: they match every type
  static constexpr int kNamed = -2;  ///< a type that is identified only by its name

  int code = kAny;        ///< DLPack's code, or one of the above
  std::int64_t bits = 8;  ///< of one item, including all its lanes
  int lanes = 1;
  nanobind::object named;  ///< a str, if the code is kNamed

  /// The name in messages: "float32", "big-endian int16", "datetime64[ns]". Empty for kAny.
  std::string name() const;
};

/// True if bytes of one type may be copied to memory of the other.
bool same_items(const Item& one, const Item& other);

/// A type with a letter of NumPy: kind 'i', 'u', 'f', 'c' or 'b' in the machine's byte order.
///
/// Returns     false for another kind
bool take_number(char kind, std::int64_t item_bytes, Item& item);

/// Gives a type that is known by its name its number in DLPack, if it has one: "bfloat16" of
/// ml_dtypes, for instance. DLPack packs items of less than a byte, which NumPy never does.
void find_dlpack_code(Item& item);

/// A type string of NumPy's array interface, such as "<f4" or "<M8[ns]".
///
/// Returns     false if it isn't one, or means Python objects
bool take_typestr(std::string_view text, Item& item);

/// A format of the buffer protocol, such as "f" or "<Zd". A format that isn't a plain number
/// becomes a type with that name.
void take_format(std::string_view text, std::int64_t item_bytes, Item& item);

/// Where an array's memory lies, as the object says.
enum class Place { host, pinned, device, managed };

/// Which pending work uses an array's memory.
enum class Use {
  none,     ///< none that the object knows
  library,  ///< work in its library's current stream, which is `stream`
  named,    ///< work in a stream that the object names
  unknown,  ///< its library must be given a stream, which then waits for its work
};

/// Memory that an object offers. Created and destroyed with the GIL held.
class Array {
public:
  static constexpr int kNoShape = -1;
  static constexpr int kMaxDimensions = 64;  ///< the limit of NumPy, PyTorch and the buffer
                                             ///< protocol

  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  bool on_device() const noexcept { return place == Place::device || place == Place::managed; }
  /// True if its items follow each other in C order.
  bool contiguous() const noexcept { return strides == nullptr; }
  bool has_shape() const noexcept { return num_dimensions != kNoShape; }

  // For readers. Each keeps shape, strides and size consistent.

  /// Sets bytes without a shape.
  void take_bytes(void* memory, std::size_t num_bytes) noexcept;
  /// The lengths must live as long as `held`. Returns false if there are too many.
  bool take_shape(const std::int64_t* lengths, int count) noexcept;
  /// The same for lengths that may change: keeps a copy of them.
  bool copy_shape(const std::int64_t* lengths, int count) noexcept;
  /// Lengths from a sequence of Python ints. Returns false if there are too many.
  bool take_lengths(nanobind::handle lengths);
  /// Strides from a sequence of Python ints, in bytes. Returns false if their number is wrong.
  bool take_strides(nanobind::handle in_bytes);
  /// Keeps strides that aren't C order's, and computes the size. The item type must be known.
  ///
  /// given        null means C order
  /// unit_bits    the unit of the strides: 8, or the bits of an item
  void finish(const std::int64_t* given, std::int64_t unit_bits);
  /// As above, with what take_strides() took.
  void finish();

  void* data = nullptr;
  std::size_t size_bytes = 0;
  Item item;
  int num_dimensions = kNoShape;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;  ///< in bytes; null means C order
  bool read_only = false;
  Place place = Place::host;
  /// Only if certain: an array may view any host memory.
  isthmus::MemoryKind host_kind = isthmus::MemoryKind::unknown;
  Use use = Use::none;
  std::uintptr_t stream = 0;
  int device = -1;         ///< -1: unknown
  bool exported = true;    ///< false: the address is known only after the export
  bool is_own = false;     ///< an isthmus.DeviceArray: freeing it waits for all work
  bool is_tensor = false;  ///< PyTorch's: who writes it has to tell autograd

  Export held;

private:
  bool has_own_strides_ = false;
  std::int64_t own_shape_[kMaxDimensions];    // NOLINT(*-member-init): filled as far as it is used
  std::int64_t own_strides_[kMaxDimensions];  // NOLINT(*-member-init): the same
};

/// An array in C order in a device's memory, which no library's work uses. Immutable.
class OwnArray {
public:
  /// lengths      a sequence of ints
  /// example      a NumPy array with such items
  OwnArray(std::uintptr_t pointer, const nanobind::sequence& lengths, nanobind::handle example);

  /// DLPack's number of the items' type; below 0 if it has none.
  int type_code() const noexcept { return item_.code; }

  /// Reads it into an array that is new.
  void read(Array& array) const;

private:
  void* data_;
  std::vector<std::int64_t> lengths_;
  Item item_;
};
