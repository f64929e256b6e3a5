#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tsl/robin_map.h>

#include "orrery/ingest/hlo.h"
#include "orrery/ingest/xplane/plane.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::xplane {

/// What a kind of events means for a trace.
struct KindMeaning {
  StringId name = StringId::kEmpty;
  std::string_view short_name;
  std::string_view long_name;
  std::string fields;  // its stats, as the inside of a JSON object
  StringId extra = StringId::kEmpty;
  bool is_known = true;  // the plane describes it

  std::string_view category;  // of HLO operations
  HloCategory hlo;
  std::int64_t bytes = -1;  // accessed
  std::optional<HloShape> shape;
};

/// Looks at each kind of a plane once.
class EventKinds {
 public:
  /// Both must outlive it.
  EventKinds(const Plane& plane, StringTable& strings) : plane_(plane), strings_(strings) {}

  /// Valid until the next call.
  [[nodiscard]] const KindMeaning& At(std::int64_t kind);

 private:
  [[nodiscard]] KindMeaning Understand(std::int64_t kind) const;

  const Plane& plane_;
  StringTable& strings_;
  tsl::robin_map<std::int64_t, KindMeaning> meanings_;
};

}  // namespace orrery::ingest::xplane
