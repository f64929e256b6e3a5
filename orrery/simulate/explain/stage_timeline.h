#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"

namespace orrery::simulate {

/// Kinds of passes in the timeline of a pipeline.
enum class PassKind : std::uint8_t {
  kForward,
  kBackward,  // with what is recomputed for it
  kWeights,   // gradients of weights alone
  kOptimizer,
  kOther,
  kTransfer,  // between passes: data moves
  kWait,      // … other members of a group are awaited
  kHost,      // … the next task is not launched yet
};

inline constexpr std::size_t kNumPassKinds = 8;

/// "forward", "backward", …
[[nodiscard]] std::string_view Name(PassKind kind);

/// One pass of a micro-batch through a chunk of layers, or what happens between two passes.
struct PassSlice {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  PassKind kind = PassKind::kOther;
  std::int32_t microbatch = -1;
  std::int32_t chunk = -1;
  std::string what = {};        // the dimension of communication
  std::int64_t exposed_ps = 0;  // inside a pass: communication that no kernel hides

  bool operator==(const PassSlice&) const = default;
};

/// The work of one rank class in a step: passes that do not overlap, in order; the rest is bubble.
/// And the communication, exposed, inside passes.
struct StageTimeline {
  std::vector<PassSlice> passes;
  std::vector<TimeSlice> inside;  // kTransfer, kWait and kHost only
};

/// Kernels of one pass that follow each other become one slice, with all that lies between them.
/// O(tasks · log tasks).
[[nodiscard]] StageTimeline StageTimelineOf(const RankClasses& rank_classes,
                                            const Timeline& timeline, RankClassId rank_class);

}  // namespace orrery::simulate
