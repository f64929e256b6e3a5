#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/stream/format.h"

// How the fields of records are written, and how a record is declared.

namespace orrery::stream {

/// How a field is written.
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

template <Encoding encoding>
struct Value {
  using Type = std::uint64_t;
  static constexpr Type kDefault = 0;
};

template <>
struct Value<Encoding::kSigned> {
  using Type = std::int64_t;
  static constexpr Type kDefault = 0;
};

template <>
struct Value<Encoding::kTime> {
  using Type = std::int64_t;
  static constexpr Type kDefault = 0;
};

template <>
struct Value<Encoding::kMaybe> {
  using Type = std::int64_t;
  static constexpr Type kDefault = -1;
};

template <>
struct Value<Encoding::kText> {
  using Type = std::string_view;
  static constexpr Type kDefault = {};
};

template <>
struct Value<Encoding::kNumbers> {
  using Type = std::span<const std::uint64_t>;
  static constexpr Type kDefault = {};
};

/// A field of a record: its name, how it is written, and its member.
template <Encoding encoding_, typename Record>
struct Field {
  static constexpr Encoding encoding = encoding_;
  const char* name;
  typename Value<encoding_>::Type Record::* member;
};

}  // namespace schema

#define ORRERY_STREAM_MEMBER(encoding, name) \
  schema::Value<Encoding::encoding>::Type name = schema::Value<Encoding::encoding>::kDefault;
#define ORRERY_STREAM_FIELD(encoding, name) \
  visit(schema::Field<Encoding::encoding, Self>{#name, &Self::name});

/// Defines a record: the chunk it is in, its number there, and its fields in order.
/// `VisitFields(visit)` calls `visit(field)` for each field.
#define ORRERY_STREAM_RECORD(Record, chunk_type, number, FIELDS) \
  struct Record {                                                \
    static constexpr ChunkType kChunk = ChunkType::chunk_type;   \
    static constexpr std::uint64_t kKind = number;               \
    static constexpr const char* kName = #Record;                \
    FIELDS(ORRERY_STREAM_MEMBER)                                 \
    template <typename Visit>                                    \
    static constexpr void VisitFields(Visit&& visit) {           \
      using Self = Record;                                       \
      FIELDS(ORRERY_STREAM_FIELD)                                \
    }                                                            \
  }

}  // namespace orrery::stream
