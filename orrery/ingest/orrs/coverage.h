#pragma once

#include <cstdint>

#include "orrery/stream/codes.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::orrs {

/// What a code of the stream means; one that is not known is no claim to have seen anything.
[[nodiscard]] constexpr trace::Coverage CoverageOf(std::uint64_t code) {
  switch (code) {
    case stream::codes::kExact:
      return trace::Coverage::kExact;
    case stream::codes::kByArgument:
      return trace::Coverage::kByArgument;
    case stream::codes::kByDescriptor:
      return trace::Coverage::kByDescriptor;
    case stream::codes::kPartial:
      return trace::Coverage::kPartial;
    default:
      return trace::Coverage::kUnseen;
  }
}

}  // namespace orrery::ingest::orrs
