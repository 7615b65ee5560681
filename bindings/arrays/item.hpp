// Item types: one representation for DLPack, NumPy and the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>

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
