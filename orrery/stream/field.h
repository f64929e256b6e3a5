#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/stream/format.h"

// The encodings of record fields, and the declaration of records.

namespace orrery::stream {

/// The encoding of a field.
enum class Encoding : std::uint8_t {
  kUnsigned,   // varint
  kSigned,     // zig-zag varint
  kMaybe,      // varint of the value plus one; -1: not known
  kText,       // length as varint, bytes
  kNumbers,    // count as varint, varints
  kTime,       // zig-zag difference to the time before it in the chunk, nanoseconds
  kAddress,    // the same for addresses
  kSequence,   // the same for the record's own number; begins at the chunk's first
  kReference,  // the same for the number of another event
  kObject,     // the same for numbers of objects
};

inline constexpr Encoding kFirstRelative = Encoding::kTime;
inline constexpr std::size_t kNumRegisters = 5;

namespace schema {

/// The value of a field that is not written; its type is that of the field.
template <Encoding encoding>
constexpr auto Default() {
  if constexpr (encoding == Encoding::kText) {
    return std::string_view();
  } else if constexpr (encoding == Encoding::kNumbers) {
    return std::span<const std::uint64_t>();
  } else if constexpr (encoding == Encoding::kSigned || encoding == Encoding::kTime) {
    return std::int64_t{0};
  } else if constexpr (encoding == Encoding::kMaybe) {
    return std::int64_t{-1};
  } else {
    return std::uint64_t{0};
  }
}

template <Encoding encoding>
using Value = decltype(Default<encoding>());

/// A field of a record: its name, how it is written, and its member.
template <Encoding encoding, typename Record>
struct Field {
  const char* name;
  Value<encoding> Record::* member;
};

}  // namespace schema

// Calls a macro with each of the lists in parentheses, at most 64.
#define ORRERY_STREAM_FOR_EACH(macro, ...) \
  ORRERY_STREAM_EXPAND(ORRERY_STREAM_EACH(macro, __VA_ARGS__))
#define ORRERY_STREAM_EACH(macro, first, ...) \
  macro first __VA_OPT__(ORRERY_STREAM_AGAIN ORRERY_STREAM_PARENTHESES(macro, __VA_ARGS__))
#define ORRERY_STREAM_AGAIN() ORRERY_STREAM_EACH
#define ORRERY_STREAM_PARENTHESES ()
#define ORRERY_STREAM_EXPAND(...) \
  ORRERY_STREAM_EXPAND_16(        \
      ORRERY_STREAM_EXPAND_16(ORRERY_STREAM_EXPAND_16(ORRERY_STREAM_EXPAND_16(__VA_ARGS__))))
#define ORRERY_STREAM_EXPAND_16(...) \
  ORRERY_STREAM_EXPAND_4(            \
      ORRERY_STREAM_EXPAND_4(ORRERY_STREAM_EXPAND_4(ORRERY_STREAM_EXPAND_4(__VA_ARGS__))))
#define ORRERY_STREAM_EXPAND_4(...) \
  ORRERY_STREAM_EXPAND_1(           \
      ORRERY_STREAM_EXPAND_1(ORRERY_STREAM_EXPAND_1(ORRERY_STREAM_EXPAND_1(__VA_ARGS__))))
#define ORRERY_STREAM_EXPAND_1(...) __VA_ARGS__

#define ORRERY_STREAM_MEMBER(encoding, name) \
  schema::Value<Encoding::encoding> name = schema::Default<Encoding::encoding>();
#define ORRERY_STREAM_FIELD(encoding, name) \
  visit(schema::Field<Encoding::encoding, Self>{#name, &Self::name});

/// Defines a record: the chunk it is in, its number there, and its fields in order as lists of
/// encoding and name. `VisitFields(visit)` calls `visit(field)` for each field.
#define ORRERY_STREAM_RECORD(Record, chunk_type, number, ...)  \
  struct Record {                                              \
    static constexpr ChunkType kChunk = ChunkType::chunk_type; \
    static constexpr std::uint64_t kKind = number;             \
    static constexpr const char* kName = #Record;              \
    ORRERY_STREAM_FOR_EACH(ORRERY_STREAM_MEMBER, __VA_ARGS__)  \
    template <typename Visit>                                  \
    static constexpr void VisitFields(Visit&& visit) {         \
      using Self = Record;                                     \
      ORRERY_STREAM_FOR_EACH(ORRERY_STREAM_FIELD, __VA_ARGS__) \
    }                                                          \
  }

}  // namespace orrery::stream
