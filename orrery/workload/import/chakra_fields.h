#pragma once

#include <cstdint>

/// Numbers of the fields of Chakra's protobuf schema.
namespace orrery::workload::chakra_fields {

inline constexpr std::uint32_t kVersion = 1;  // of the metadata

enum Node : std::uint32_t {
  kId = 1,
  kName = 2,
  kType = 3,
  kControlInputs = 4,
  kDataInputs = 5,
  kBegin = 6,
  kDuration = 7,
  kAttribute = 10,
};

enum Attribute : std::uint32_t {
  kAttributeName = 1,
  kAttributeDocument = 2,
  kDouble = 3,
  kFloat = 5,
  kInt32 = 7,
  kInt32List = 8,
  kInt64 = 9,
  kInt64List = 10,
  kUint32 = 11,
  kUint32List = 12,
  kUint64 = 13,
  kUint64List = 14,
  kSint32 = 15,
  kSint64 = 17,
  kFixed32 = 19,
  kFixed64 = 21,
  kSfixed32 = 23,
  kSfixed64 = 25,
  kBool = 27,
  kBoolList = 28,
  kString = 29,
  kBytes = 31,
};

}  // namespace orrery::workload::chakra_fields
