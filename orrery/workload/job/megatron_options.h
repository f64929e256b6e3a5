#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "orrery/workload/job/megatron_arguments.h"

namespace orrery::workload {

/// What arguments leave to be put together when all are read.
struct MegatronState {
  MegatronJob job = {};
  bool swiglu = false;
  bool grouped_heads = false;
  std::int64_t query_groups = 1;
  bool learned_positions = true;
  std::int64_t max_positions = 0;
  bool latent_attention = false;
  std::string expert_layers = "1";
  std::int64_t layers_of_chunk = 0;
  std::int64_t first_stage_layers = 0;
  std::int64_t last_stage_layers = 0;
  bool recomputes_in_blocks = false;
  std::int64_t recompute_layers = 0;
  bool is_bf16 = false;
  bool is_fp16 = false;
  bool is_fp8 = false;
  bool gradients_in_fp32 = false;
  bool gradients_in_bf16 = false;
  bool shards_with_fsdp = false;
  std::string sharding = "no_shard";
  std::int64_t nodes = 1;
  std::int64_t gpus_of_node = 0;
};

/// Takes the value of one argument; false when it cannot be read.
using TakeArgument = bool (*)(MegatronState& state, std::string_view value);

struct MegatronOption {
  std::string_view name;  // without dashes before it
  bool has_value = true;
  TakeArgument take = nullptr;  // null: known, and without effect on a step's time
  bool is_list = false;         // all words up to the next name
};

/// Those that do not change the time of a step, or name the only way in which it is done.
[[nodiscard]] std::span<const MegatronOption> IgnoredMegatronOptions();

/// Finds an option; underscores count as dashes. Nothing when it is not understood.
[[nodiscard]] const MegatronOption* FindMegatronOption(std::string_view name);

}  // namespace orrery::workload
