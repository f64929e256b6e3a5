#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// The time that a rank waits for the drain of its pipeline in groups that span its stages, such as
/// that of the grad-norm all-reduce. Stages end their last passes one after the other; a rank that
/// was first waits for the last, and has no message of the pipeline to wait in.
///
/// Of a wait, the bubble is as much as the last pass of the latest stage ended later than the
/// rank's own, passes counted since the meeting before. What remains has other reasons: stages
/// whose work after their passes takes longer, and other pipelines that are late.
///
/// O(stages · tasks).
class PipelineDrain {
 public:
  PipelineDrain(const RankClasses& rank_classes, const Timeline& timeline, RankClassId rank_class);

  /// Returns what of a wait on `role` is bubble; all members are there at `arrived_ps`.
  [[nodiscard]] std::int64_t BubblePs(std::uint32_t role, std::int64_t arrived_ps,
                                      std::int64_t wait_ps) const;

 private:
  using StagesByRole = std::vector<std::vector<RankClassId>>;

  /// A communication of ranks of several stages.
  struct Meeting {
    std::int64_t arrived_ps = 0;
    std::uint32_t role = 0;
    std::int64_t drain_ps = 0;

    auto operator<=>(const Meeting&) const = default;
  };

  void AddMeetings(const workload::Program& program, const Timeline& timeline, std::size_t first,
                   const StagesByRole& stages);
  void MeasureDrains(const RankClasses& rank_classes, const Timeline& timeline,
                     RankClassId rank_class, const StagesByRole& stages);

  std::vector<Meeting> meetings_;  // in order of time
};

}  // namespace orrery::simulate
