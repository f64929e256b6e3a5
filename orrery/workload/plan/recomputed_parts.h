#pragma once

#include <array>
#include <string_view>

namespace orrery::workload {

/// Parts of a block that run again before its backward pass, so that their results need not be
/// kept, where the block is not recomputed as a whole.
struct RecomputedParts {
  bool norms = false;        // all of them
  bool latent_up = false;    // queries, keys and values from the narrow vectors of latent attention
  bool activations = false;  // between the products of feed-forward networks and experts
  bool experts = false;      // all of their layer, with router and communication of tokens

  bool operator==(const RecomputedParts&) const = default;
};

/// What a part is called in job files and in Megatron's --recompute-modules.
struct RecomputedPartName {
  std::string_view name;
  std::string_view megatron;
  bool RecomputedParts::* member;
};

inline constexpr std::array<RecomputedPartName, 4> kRecomputedPartNames{{
    {"norms", "layernorm", &RecomputedParts::norms},
    {"latent_up", "mla_up_proj", &RecomputedParts::latent_up},
    {"activations", "moe_act", &RecomputedParts::activations},
    {"experts", "moe", &RecomputedParts::experts},
}};

}  // namespace orrery::workload
