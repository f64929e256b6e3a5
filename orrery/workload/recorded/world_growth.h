#pragma once

#include <cstdint>

#include "orrery/base/error.h"
#include "orrery/workload/recorded/traced_group_roles.h"
#include "orrery/workload/recorded/traced_job.h"

namespace orrery::workload {

/// How a job with more or fewer data-parallel ranks lies in its world.
class WorldGrowth {
 public:
  /// Fails, with a sentence, when the world of that size is none of the job's.
  [[nodiscard]] static Result<WorldGrowth> Of(const TracedJob& job, const TracedGroupRoles& roles,
                                              Rank world);

  [[nodiscard]] Rank world() const { return world_; }

  [[nodiscard]] Rank old_width() const { return old_width_; }

  [[nodiscard]] Rank new_width() const { return new_width_; }

  [[nodiscard]] bool IsSame() const { return old_width_ == new_width_; }

  /// Whether states are spread over more or fewer ranks, and not only copied more often.
  [[nodiscard]] bool grows_shards() const { return grows_shards_; }

  /// The rank of the traced world that does what a rank of this one does.
  [[nodiscard]] Rank TracedRankOf(Rank rank) const;

  [[nodiscard]] GroupShape ShapeOf(const GroupShape& traced) const;

  /// How far a message goes.
  [[nodiscard]] std::int64_t OffsetOf(std::int64_t traced) const;

 private:
  Rank world_ = 1;
  Rank stride_ = 1;  // of the dimension
  Rank old_width_ = 1;
  Rank new_width_ = 1;
  bool grows_shards_ = true;
};

}  // namespace orrery::workload
