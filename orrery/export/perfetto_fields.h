#pragma once

#include <cstdint>

#include <protozero/types.hpp>

/// Numbers of the fields of Perfetto's messages that we write, and values of their enumerations.
namespace orrery::exporting::perfetto {

using Field = protozero::pbf_tag_type;

inline constexpr Field kTracePacket = 1;

namespace packet {
inline constexpr Field kClockSnapshot = 6;
inline constexpr Field kTimestamp = 8;
inline constexpr Field kSequenceId = 10;
inline constexpr Field kTrackEvent = 11;
inline constexpr Field kInternedData = 12;
inline constexpr Field kSequenceFlags = 13;
inline constexpr Field kTrackDescriptor = 60;

inline constexpr std::uint32_t kStateCleared = 1;
inline constexpr std::uint32_t kNeedsState = 2;
}  // namespace packet

namespace snapshot {
inline constexpr Field kClocks = 1;
inline constexpr Field kClockId = 1;
inline constexpr Field kClockTimestamp = 2;

inline constexpr std::uint32_t kRealtime = 1;
inline constexpr std::uint32_t kBoottime = 6;  // what time stamps are in unless they say otherwise
}  // namespace snapshot

namespace interned {
inline constexpr Field kCategories = 1;
inline constexpr Field kNames = 2;
inline constexpr Field kAnnotationNames = 3;
inline constexpr Field kAnnotationStrings = 29;

inline constexpr Field kEntryId = 1;
inline constexpr Field kEntryText = 2;
}  // namespace interned

namespace track {
inline constexpr Field kUuid = 1;
inline constexpr Field kName = 2;
inline constexpr Field kParentUuid = 5;
inline constexpr Field kCounter = 8;
inline constexpr Field kChildOrdering = 11;
inline constexpr Field kSiblingOrderRank = 12;
inline constexpr Field kSiblingMergeBehavior = 15;

inline constexpr std::int32_t kExplicitOrder = 3;
inline constexpr std::int32_t kNoMerge = 2;

inline constexpr Field kCounterUnit = 3;
inline constexpr std::int32_t kUnitSizeBytes = 3;
}  // namespace track

namespace event {
inline constexpr Field kCategoryIds = 3;
inline constexpr Field kDebugAnnotations = 4;
inline constexpr Field kType = 9;
inline constexpr Field kNameId = 10;
inline constexpr Field kTrackUuid = 11;
inline constexpr Field kCounterValue = 30;
inline constexpr Field kDoubleCounterValue = 44;
inline constexpr Field kFlowIds = 47;
inline constexpr Field kTerminatingFlowIds = 48;

inline constexpr std::int32_t kSliceBegin = 1;
inline constexpr std::int32_t kSliceEnd = 2;
inline constexpr std::int32_t kInstant = 3;
inline constexpr std::int32_t kCounter = 4;
}  // namespace event

namespace annotation {
inline constexpr Field kNameId = 1;
inline constexpr Field kBool = 2;
inline constexpr Field kUnsigned = 3;
inline constexpr Field kInteger = 4;
inline constexpr Field kDouble = 5;
inline constexpr Field kString = 6;
inline constexpr Field kStringId = 17;
}  // namespace annotation

}  // namespace orrery::exporting::perfetto
