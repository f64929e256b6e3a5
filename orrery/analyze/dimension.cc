#include "orrery/analyze/dimension.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "orrery/analyze/card_fields.h"
#include "orrery/base/number_list.h"
#include "orrery/base/text.h"
#include "orrery/trace/collective_groups.h"

namespace orrery::analyze {
namespace {

using enum Dimension;
using trace::CollectiveKind;

struct DescriptionPattern {
  std::string_view needle;  // in the lower-case description
  Dimension dimension;
};

// Joined names first: "tensor_and_data" must not become tensor.
constexpr std::array kDescriptions{
    DescriptionPattern{"_and_", kJoint},
    DescriptionPattern{"with_context_parallel", kJoint},
    DescriptionPattern{"with_cp", kJoint},
    DescriptionPattern{"tensor_model_parallel", kTensor},
    DescriptionPattern{"tensor_parallel", kTensor},
    DescriptionPattern{"mesh_tp", kTensor},
    DescriptionPattern{"pipeline", kPipeline},
    DescriptionPattern{"mesh_pp", kPipeline},
    DescriptionPattern{"embedding_group", kPipeline},
    DescriptionPattern{"context_parallel", kContext},
    DescriptionPattern{"mesh_cp", kContext},
    DescriptionPattern{"expert", kExpert},
    DescriptionPattern{"mesh_ep", kExpert},
    DescriptionPattern{"data_parallel", kData},
    DescriptionPattern{"mesh_dp", kData},
    DescriptionPattern{"mesh_fsdp", kData},
    DescriptionPattern{"mesh_dp_shard", kData},
    DescriptionPattern{"mesh_dp_replicate", kData},
};

std::optional<Dimension> FromText(std::string_view text) {
  const std::string lower = LowerCase(text);
  for (const DescriptionPattern& pattern : kDescriptions) {
    if (lower.find(pattern.needle) != std::string::npos) {
      return pattern.dimension;
    }
  }
  return std::nullopt;
}

std::optional<Dimension> FromDescription(const trace::Trace& trace, RowId group) {
  const auto from_description = FromText(trace.Text(trace.process_groups.description[group]));
  return from_description ? from_description
                          : FromText(trace.Text(trace.process_groups.name[group]));
}

// The constant distance between neighbours in a group's list of ranks, if there is one.
std::optional<std::int64_t> StrideOf(const trace::Trace& trace, RowId group) {
  const auto& groups = trace.process_groups;
  if (groups.rank_stride[group] > 0) {
    return groups.rank_stride[group];
  }
  const std::vector<std::int32_t> ranks = NumbersIn<std::int32_t>(trace.Text(groups.ranks[group]));
  if (ranks.size() < 2 || groups.ranks_cut[group] != 0) {
    return std::nullopt;
  }
  for (std::size_t i = 2; i < ranks.size(); ++i) {
    if (ranks[i] - ranks[i - 1] != ranks[1] - ranks[0]) {
      return std::nullopt;
    }
  }
  return ranks[1] - ranks[0];
}

// Megatron's order, which others follow: tp innermost, then cp, dp, and pp outermost.
std::optional<Dimension> FromRankPattern(const RunView& run, const trace::Trace& trace,
                                         RowId group) {
  const trace::TraceSet& set = *run.set;
  const std::int64_t size = trace::GroupSize(trace, group);
  const auto stride = StrideOf(trace, group);
  const auto world = CardInteger(set, "total_count");
  const std::int64_t tp = CardParallelSize(set, "tp");
  const std::int64_t cp = CardParallelSize(set, "cp");
  const std::int64_t pp = CardParallelSize(set, "pp");
  const std::int64_t dp = CardParallelSize(set, "dp");
  if (!stride || size < 2) {
    return std::nullopt;
  }
  if (tp > 1 && size == tp && *stride == 1) {
    return kTensor;
  }
  if (cp > 1 && size == cp && *stride == tp) {
    return kContext;
  }
  if (pp > 1 && size == pp && world && *stride == *world / pp) {
    return kPipeline;
  }
  if (dp > 1 && size == dp && *stride == tp * cp) {
    return kData;
  }
  return std::nullopt;
}

std::optional<Dimension> FromOperation(const RunView& run, const trace::Trace& trace,
                                       RowId collective) {
  const trace::TraceSet& set = *run.set;
  const RowId group = trace.collectives.group[collective];
  const std::int64_t size = group == kNoRow ? -1 : trace::GroupSize(trace, group);
  const std::int64_t tp = CardParallelSize(set, "tp");
  switch (trace.collectives.kind[collective]) {
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
      return kPipeline;
    case CollectiveKind::kAllToAll:
      return kExpert;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return CardInteger(set, "dp_shard").value_or(1) > 1 ? std::optional(kData) : std::nullopt;
    case CollectiveKind::kAllReduce:
      return tp > 1 && size == tp ? std::optional(kTensor) : std::nullopt;
    default:
      return std::nullopt;
  }
}

DimensionOf DimensionOfRow(const RunView& run, const trace::Trace& trace, RowId collective) {
  const RowId group = trace.collectives.group[collective];
  if (group != kNoRow) {
    if (const auto found = FromDescription(trace, group)) {
      return {*found, DimensionRule::kDescription};
    }
    if (const auto found = FromRankPattern(run, trace, group)) {
      return {*found, DimensionRule::kRankPattern};
    }
  }
  if (const auto found = FromOperation(run, trace, collective)) {
    return {*found, DimensionRule::kOperation};
  }
  return {};
}

}  // namespace

std::string_view DimensionName(Dimension dimension) {
  constexpr std::array<std::string_view, kNumDimensions> kNames{"tp", "dp",    "pp",     "cp",
                                                                "ep", "joint", "unknown"};
  return kNames[static_cast<std::size_t>(dimension)];
}

std::string_view DimensionRuleName(DimensionRule rule) {
  constexpr std::array<std::string_view, 4> kNames{"description", "rank pattern", "operation",
                                                   "none"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::vector<DimensionOf> CollectiveDimensions(const RunView& run, std::uint32_t rank_index) {
  const trace::Trace& trace = run.set->ranks[rank_index];
  std::vector<DimensionOf> dimensions(trace.collectives.size());

  // Rows of one group and kind have one answer.
  struct Known {
    RowId group;
    CollectiveKind kind;
    DimensionOf dimension;
  };

  std::vector<Known> known;
  for (RowId row = 0; row < trace.collectives.size(); ++row) {
    const RowId group = trace.collectives.group[row];
    const CollectiveKind kind = trace.collectives.kind[row];
    auto found = std::ranges::find_if(
        known, [&](const Known& k) { return k.group == group && k.kind == kind; });
    if (found == known.end()) {
      known.push_back({group, kind, DimensionOfRow(run, trace, row)});
      found = known.end() - 1;
    }
    dimensions[row] = found->dimension;
  }
  return dimensions;
}

bool HasPipeline(const RunView& run) {
  if (CardParallelSize(*run.set, "pp") > 1) {
    return true;
  }
  for (std::uint32_t rank = 0; rank < run.set->ranks.size(); ++rank) {
    const auto dimensions = CollectiveDimensions(run, rank);
    if (std::ranges::any_of(dimensions, [](DimensionOf d) { return d.dimension == kPipeline; })) {
      return true;
    }
  }
  return false;
}

}  // namespace orrery::analyze
