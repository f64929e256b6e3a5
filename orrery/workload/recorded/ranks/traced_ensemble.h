#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/ranks/traced_job.h"

namespace orrery::workload {

/// A group of the ranks base + i · stride whose like tile the world: rank r is in the one that
/// begins at r − (r / stride % size) · stride.
struct GroupShape {
  Rank stride = 1;
  Rank size = 1;

  auto operator<=>(const GroupShape&) const = default;

  /// The ranks over which one such group lies.
  [[nodiscard]] std::uint64_t Span() const { return std::uint64_t{stride} * size; }

  [[nodiscard]] Rank BaseOf(Rank rank) const { return rank - rank / stride % size * stride; }
};

/// Returns the shape of a group, in any order of its ranks; nothing for one that does not tile.
[[nodiscard]] std::optional<GroupShape> ShapeOf(std::span<const Rank> ranks);

/// One of the group roles of a traced job.
struct TracedGroupRole {
  enum class Form : std::uint8_t {
    kShaped,   // ranks that were not traced have such groups, too
    kListed,   // as the file lists it, for those alone
    kSend,     // to the rank that is `offset` further
    kReceive,  // from it
  };

  Form form = Form::kShaped;
  GroupShape shape = {};          // of kShaped
  std::vector<Rank> listed = {};  // of kListed
  std::int64_t offset = 0;        // of messages
  std::string other_side = {};    // of messages: the role on which the other rank has them
  std::string dimension = {};     // of parallelism: "dp", "pp", "world"
};

/// Names what the traced ranks talk in. A group that has the shape of a dimension of the mesh has
/// its name, one of all ranks is "world", others what they are described as; a second group of the
/// same shape is "dp 2". Messages have a role for each direction and distance, such as
/// "pp send +8", so that those of ranks that were not traced are known.
class TracedGroupRoles {
 public:
  explicit TracedGroupRoles(const TracedJob& job);

  /// The role of a communication of one of the job's traced ranks; empty where the rank is alone.
  [[nodiscard]] std::string NameOf(std::size_t traced_rank,
                                   const TracedCommunication& communication) const;

  /// Those of all communications, by name.
  [[nodiscard]] const std::map<std::string, TracedGroupRole, std::less<>>& roles() const {
    return roles_;
  }

 private:
  void NameGroups(std::size_t traced_rank);
  [[nodiscard]] std::string DimensionOf(const TracedGroup& group) const;
  void AddRole(std::size_t traced_rank, const TracedCommunication& communication);

  const TracedJob& job_;
  std::vector<std::vector<std::string>> name_of_group_;  // by traced rank
  std::map<std::vector<Rank>, std::size_t> number_of_list_;
  std::map<std::string, TracedGroupRole, std::less<>> roles_;
};

/// Maps a job to a world with more or fewer data-parallel ranks.
struct WorldGrowth {
  Rank world = 1;
  Rank stride = 1;  // of the dimension
  Rank old_width = 1;
  Rank new_width = 1;
  bool grows_shards = true;  // states are spread over more or fewer ranks, not only copied

  /// Fails, with a sentence, if the job cannot have a world of that size.
  [[nodiscard]] static Result<WorldGrowth> Of(const TracedJob& job, const TracedGroupRoles& roles,
                                              Rank world);

  [[nodiscard]] bool IsSame() const { return old_width == new_width; }

  /// The rank of the traced world that does what a rank of this one does.
  [[nodiscard]] Rank TracedRankOf(Rank rank) const;

  [[nodiscard]] GroupShape ShapeOf(const GroupShape& traced) const;

  /// The distance of a message in ranks.
  [[nodiscard]] std::int64_t OffsetOf(std::int64_t traced) const;
};

struct TracedEnsemble {
  Ensemble ensemble;
  std::vector<std::string> remarks;  // one sentence each
};

/// Makes all `world` ranks of a job from the programs of the traced ones (in their order): a rank
/// runs the program of the one that stands for it, and groups of a shape tile the world.
///
/// Another world than the traced one is more or fewer data-parallel ranks: the dimension "dp" of
/// the mesh (of HSDP "dp_replicate"; without a mesh: the one outside all smaller groups) gets
/// another size, dimensions outside it another stride. Where the optimizer's state is sharded, its
/// kernels take time as their share of it; all else keeps its size. Fails when the world does not
/// divide, and when a job has no such dimension.
[[nodiscard]] Result<TracedEnsemble> EnsembleOfTracedJob(const TracedJob& job,
                                                         const TracedGroupRoles& roles,
                                                         std::vector<Program> programs, Rank world);

}  // namespace orrery::workload
