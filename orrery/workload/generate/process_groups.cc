#include "orrery/workload/generate/process_groups.h"

#include <cstddef>
#include <vector>

#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::workload {
namespace {

// The devices of a pipeline that hold the same layers: in DualPipe the one of the first half, then
// the one of the second half.
struct Copies {
  const Plan& plan;

  [[nodiscard]] int IndexOf(int pp) const {
    return LayerCopies(plan) == 2 && pp >= plan.pp / 2 ? 1 : 0;
  }

  [[nodiscard]] int At(int index, int pp) const {
    return IndexOf(pp) == index ? pp : plan.pp - 1 - pp;
  }
};

// Ranks that hold the same dense parameters count context-parallel ones first, copies of the layers
// last.
struct Replicas {
  const Plan& plan;

  [[nodiscard]] int count() const { return DenseReplicas(plan); }

  [[nodiscard]] int shard() const { return DenseShards(plan); }

  [[nodiscard]] int IndexOf(const RankPlace& place) const {
    return place.cp + plan.cp * (place.dp + plan.dp * Copies{plan}.IndexOf(place.pp));
  }

  [[nodiscard]] Rank At(int index, RankPlace place) const {
    place.cp = index % plan.cp;
    place.dp = index / plan.cp % plan.dp;
    place.pp = Copies{plan}.At(index / plan.cp / plan.dp, place.pp);
    return RankAt(plan, place);
  }
};

// Ranks that hold the same layers count tp, cp, dp, copies; expert groups divide them
// independently.
struct StageRanks {
  const Plan& plan;

  [[nodiscard]] int IndexOf(const RankPlace& place) const {
    return place.tp + plan.tp * Replicas{plan}.IndexOf(place);
  }

  [[nodiscard]] Rank At(int index, RankPlace place) const {
    place.tp = index % plan.tp;
    return Replicas{plan}.At(index / plan.tp, place);
  }
};

// Ulysses groups of neighbours have rings across them; other kinds have one group.
int ContextNeighbours(const Plan& plan) {
  return plan.context == ContextKind::kUlyssesRing ? ContextRanksOf(plan).ulysses : plan.cp;
}

int SizeOf(const Plan& plan, GroupRole role) {
  switch (role) {
    case GroupRole::kTensor:
      return plan.tp;
    case GroupRole::kContext:
      return ContextNeighbours(plan);
    case GroupRole::kContextRing:
      return ContextRanksOf(plan).ring;
    case GroupRole::kData:
      return Replicas{plan}.shard();
    case GroupRole::kReplicas:
      return Replicas{plan}.count() / Replicas{plan}.shard();
    case GroupRole::kExpertTensor:
      return plan.expert_tp;
    case GroupRole::kExperts:
      return plan.ep;
    case GroupRole::kExpertData:
      return ExpertShards(plan);
    case GroupRole::kExpertReplicas:
      return ExpertReplicas(plan) / ExpertShards(plan);
    case GroupRole::kTied:
      return 2;
    default:
      return plan.tp * plan.cp * plan.dp * plan.pp;
  }
}

Rank MemberOf(const Plan& plan, GroupRole role, RankPlace place, int i) {
  const Replicas replicas{plan};
  const StageRanks stage{plan};
  const int etp = plan.expert_tp;
  switch (role) {
    case GroupRole::kTensor:
      place.tp = i;
      return RankAt(plan, place);
    case GroupRole::kContext: {
      const int inside = ContextNeighbours(plan);
      place.cp = place.cp / inside * inside + i;
      return RankAt(plan, place);
    }
    case GroupRole::kContextRing: {
      const int inside = ContextNeighbours(plan);
      place.cp = place.cp % inside + i * inside;
      return RankAt(plan, place);
    }
    case GroupRole::kData: {
      const int shard = replicas.shard();
      return replicas.At(replicas.IndexOf(place) / shard * shard + i, place);
    }
    case GroupRole::kReplicas: {
      const int shard = replicas.shard();
      return replicas.At(replicas.IndexOf(place) % shard + i * shard, place);
    }
    case GroupRole::kExpertTensor:
      return stage.At(stage.IndexOf(place) / etp * etp + i, place);
    case GroupRole::kExperts: {
      const int index = stage.IndexOf(place);
      return stage.At(index / (etp * plan.ep) * etp * plan.ep + i * etp + index % etp, place);
    }
    case GroupRole::kExpertData:
    case GroupRole::kExpertReplicas: {
      const int index = stage.IndexOf(place);
      const int same = etp * plan.ep;  // between ranks with the same experts
      const int shards = ExpertShards(plan);
      const int replica = index / same;
      const int member = role == GroupRole::kExpertData ? replica / shards * shards + i
                                                        : replica % shards + i * shards;
      return stage.At(index % same + member * same, place);
    }
    case GroupRole::kTied:
      place.pp = i == 0 ? 0 : plan.pp - 1;
      return RankAt(plan, place);
    default:
      return static_cast<Rank>(i);
  }
}

}  // namespace

RankPlace PlaceOfRank(const Plan& plan, Rank rank) {
  int rest = static_cast<int>(rank);
  RankPlace place;
  place.tp = rest % plan.tp;
  rest /= plan.tp;
  place.cp = rest % plan.cp;
  rest /= plan.cp;
  if (plan.pipeline_is_innermost) {
    place.pp = rest % plan.pp;
    place.dp = rest / plan.pp;
  } else {
    place.dp = rest % plan.dp;
    place.pp = rest / plan.dp;
  }
  return place;
}

Rank RankAt(const Plan& plan, const RankPlace& place) {
  const int outer =
      plan.pipeline_is_innermost ? place.pp + plan.pp * place.dp : place.dp + plan.dp * place.pp;
  return static_cast<Rank>(place.tp + plan.tp * (place.cp + plan.cp * outer));
}

bool HasGroups(const Plan& plan, GroupRole role) {
  switch (role) {
    case GroupRole::kContextRing:
      return plan.context == ContextKind::kUlyssesRing;
    case GroupRole::kReplicas:
      return DenseShards(plan) < DenseReplicas(plan);
    case GroupRole::kExpertReplicas:
      return ExpertShards(plan) < ExpertReplicas(plan);
    case GroupRole::kTied:
      return plan.pp > 1;
    default:
      return true;
  }
}

void MembersOf(const Plan& plan, GroupRole role, const RankPlace& place,
               std::vector<Rank>& members) {
  members.resize(static_cast<std::size_t>(SizeOf(plan, role)));
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i] = MemberOf(plan, role, place, static_cast<int>(i));
  }
}

}  // namespace orrery::workload
