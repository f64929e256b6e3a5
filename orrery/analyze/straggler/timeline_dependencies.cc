#include "orrery/analyze/straggler/timeline_dependencies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "orrery/analyze/straggler/operation_table.h"
#include "orrery/base/error.h"

namespace orrery::analyze {
namespace {

using enum OperationType;

bool SpansDpRanks(OperationType type) {
  return type == kAllGather || type == kReduceScatter || type == kClip;
}

class DependencyFinder {
 public:
  explicit DependencyFinder(const OperationTable& table)
      : table_(table), before_(table.operations.size()) {
    for (std::size_t i = 0; i < table.operations.size(); ++i) {
      chains_[{table.operations[i].stage, table.operations[i].type}].push_back(i);
    }
  }

  Result<TimelineDependencies> Run() {
    for (const std::int32_t stage : table_.stages) {
      ORRERY_TRY_STATUS(AddStage(stage));
    }
    ORRERY_TRY_STATUS(AddGroups());
    ORRERY_TRY_STATUS(OrderGroups());
    return TimelineDependencies{.before = std::move(before_), .groups = std::move(groups_)};
  }

 private:
  using Chain = std::vector<std::size_t>;

  // In the order of their numbers.
  [[nodiscard]] Chain ChainOf(std::int32_t stage, OperationType type) const {
    const auto found = chains_.find({stage, type});
    return found == chains_.end() ? Chain() : found->second;
  }

  void Link(const Chain& chain) {
    for (std::size_t i = 1; i < chain.size(); ++i) {
      before_[chain[i]].push_back(chain[i - 1]);
    }
  }

  // Forward and backward in the order in which they started.
  [[nodiscard]] Chain ComputeChain(std::int32_t stage) const {
    Chain chain = ChainOf(stage, kForward);
    const Chain backward = ChainOf(stage, kBackward);
    chain.insert(chain.end(), backward.begin(), backward.end());
    std::ranges::stable_sort(chain, {}, [&](std::size_t i) { return table_.At(i, 0, 0).start_ns; });
    return chain;
  }

  Status AddStage(std::int32_t stage) {
    const Chain compute = ComputeChain(stage);
    Link(compute);
    ORRERY_TRY_STATUS(AddMessages(stage, kForward, kForwardSend, kForwardReceive));
    ORRERY_TRY_STATUS(AddMessages(stage, kBackward, kBackwardSend, kBackwardReceive));
    AddFirstBackwardMessages(stage, compute);
    Chain shards = ChainOf(stage, kAllGather);
    const Chain forward = ChainOf(stage, kForward);
    if (!shards.empty() && !forward.empty()) {
      before_[forward.front()].push_back(shards.front());
    }
    const Chain scatters = ChainOf(stage, kReduceScatter);
    shards.insert(shards.end(), scatters.begin(), scatters.end());
    Link(shards);
    Chain end = compute.empty() ? Chain() : Chain{compute.back()};
    for (const OperationType type :
         {kGc, kLayernormAllReduce, kEmbeddingAllReduce, kReduceScatter, kClip, kOptimizer}) {
      const Chain next = ChainOf(stage, type);
      end.insert(end.end(), next.begin(), next.end());
    }
    Link(end);
    return {};
  }

  // The k-th send waits for the k-th compute, which waits for the k-th receive, which waits for
  // the compute before.
  Status AddMessages(std::int32_t stage, OperationType compute_type, OperationType send_type,
                     OperationType receive_type) {
    const Chain compute = ChainOf(stage, compute_type);
    for (const OperationType type : {send_type, receive_type}) {
      const Chain messages = ChainOf(stage, type);
      if (messages.size() > compute.size()) {
        return Invalid("stage {} has {} {}, but {} {}", stage, messages.size(),
                       OperationTypeName(type), compute.size(), OperationTypeName(compute_type));
      }
      Link(messages);
      for (std::size_t k = 0; k < messages.size(); ++k) {
        if (type == send_type) {
          before_[messages[k]].push_back(compute[k]);
          continue;
        }
        before_[compute[k]].push_back(messages[k]);
        if (k > 0) {
          before_[messages[k]].push_back(compute[k - 1]);
        }
      }
    }
    return {};
  }

  // They wait for the second-last forward before the first backward.
  void AddFirstBackwardMessages(std::int32_t stage, const Chain& compute) {
    const auto backward = std::ranges::find_if(
        compute, [&](std::size_t i) { return table_.operations[i].type == kBackward; });
    if (backward == compute.end() || backward - compute.begin() < 2) {
      return;
    }
    for (const OperationType type : {kBackwardSend, kBackwardReceive}) {
      const Chain messages = ChainOf(stage, type);
      if (!messages.empty()) {
        before_[messages.front()].push_back(*(backward - 2));
      }
    }
  }

  Status AddGroups() {
    const std::vector<std::int32_t>& stages = table_.stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const bool is_last = i + 1 == stages.size();
      ORRERY_TRY_STATUS(AddPairs(ChainOf(stages[i], kForwardSend),
                                 is_last ? Chain() : ChainOf(stages[i + 1], kForwardReceive),
                                 stages[i]));
      ORRERY_TRY_STATUS(AddPairs(is_last ? Chain() : ChainOf(stages[i + 1], kBackwardSend),
                                 ChainOf(stages[i], kBackwardReceive), stages[i]));
      AddShared({&stages[i], 1}, kAllGather);
      AddShared({&stages[i], 1}, kReduceScatter);
    }
    for (const OperationType type : {kForwardReceive, kBackwardSend}) {
      if (!ChainOf(stages.front(), type).empty()) {
        return Invalid("stage {}, the first, has {}", stages.front(), OperationTypeName(type));
      }
    }
    AddShared(stages, kEmbeddingAllReduce);
    AddShared(stages, kClip);
    for (std::size_t i = 0; i < table_.operations.size(); ++i) {
      if (!group_of_.contains(i)) {
        AddGroup({.members = {i}});
      }
    }
    return {};
  }

  Status AddPairs(const Chain& sends, const Chain& receives, std::int32_t stage) {
    if (sends.size() != receives.size()) {
      const Chain& some = sends.empty() ? receives : sends;
      return Invalid("between stage {} and the next there are {} sends, but {} receives ({})",
                     stage, sends.size(), receives.size(),
                     OperationTypeName(table_.operations[some.front()].type));
    }
    for (std::size_t k = 0; k < sends.size(); ++k) {
      AddGroup({.members = {sends[k], receives[k]}, .synchronises = true});
    }
    return {};
  }

  // The k-th operations of a type on these stages.
  void AddShared(std::span<const std::int32_t> stages, OperationType type) {
    for (std::size_t k = 0;; ++k) {
      OperationGroup group{
          .members = {}, .spans_dp_ranks = SpansDpRanks(type), .synchronises = true};
      for (const std::int32_t stage : stages) {
        const Chain chain = ChainOf(stage, type);
        if (k < chain.size()) {
          group.members.push_back(chain[k]);
        }
      }
      if (group.members.empty()) {
        return;
      }
      AddGroup(std::move(group));
    }
  }

  void AddGroup(OperationGroup group) {
    for (const std::size_t member : group.members) {
      group_of_[member] = groups_.size();
    }
    groups_.push_back(std::move(group));
  }

  Status OrderGroups() {
    std::vector<std::size_t> num_before(groups_.size());
    std::vector<std::vector<std::size_t>> after(groups_.size());
    for (std::size_t i = 0; i < before_.size(); ++i) {
      for (const std::size_t before : before_[i]) {
        after[group_of_[before]].push_back(group_of_[i]);
        ++num_before[group_of_[i]];
      }
    }
    std::vector<std::size_t> order;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (num_before[group] == 0) {
        order.push_back(group);
      }
    }
    for (std::size_t next = 0; next < order.size(); ++next) {
      for (const std::size_t group : after[order[next]]) {
        if (--num_before[group] == 0) {
          order.push_back(group);
        }
      }
    }
    if (order.size() != groups_.size()) {
      return Invalid(
          "the operations of dp rank {} in step {} wait for each other in a circle: their starts "
          "do not fit the order of a pipeline",
          table_.dp_ranks.front(), table_.steps.front());
    }
    std::vector<OperationGroup> ordered;
    for (const std::size_t group : order) {
      ordered.push_back(std::move(groups_[group]));
    }
    groups_ = std::move(ordered);
    return {};
  }

  const OperationTable& table_;
  std::map<std::pair<std::int32_t, OperationType>, Chain> chains_;
  std::vector<std::vector<std::size_t>> before_;  // by operation
  std::vector<OperationGroup> groups_;
  std::map<std::size_t, std::size_t> group_of_;  // while they are made
};

}  // namespace

Result<TimelineDependencies> FindDependencies(const OperationTable& table) {
  return DependencyFinder(table).Run();
}

}  // namespace orrery::analyze
