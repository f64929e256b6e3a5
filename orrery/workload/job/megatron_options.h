#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/workload/job/megatron_arguments.h"

namespace orrery::workload {

/// Arguments that are combined after all are read.
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
  bool recomputes_attention = true;  // among the modules of selective recomputation
  std::int64_t recompute_layers = 0;
  bool is_bf16 = false;
  bool is_fp16 = false;
  bool is_fp8 = false;
  bool has_block_scales = false;  // of fp8
  bool is_fp4 = false;
  int first_moment_bytes = 4;
  int second_moment_bytes = 4;
  bool gradients_in_fp32 = false;
  bool gradients_in_bf16 = false;
  bool shards_with_fsdp = false;
  bool keeps_gathered = false;  // PyTorch's FSDP2: behind the forward pass
  std::string sharding = "no_shard";
  std::int64_t nodes = 1;
  std::int64_t gpus_of_node = 0;
  std::string window_layers = {};  // those that see only the window; empty: all
};

/// Reads the value of one argument; false if it is invalid.
using TakeArgument = bool (*)(MegatronState& state, std::string_view value);

struct MegatronOption {
  std::string_view name;  // without dashes before it
  bool has_value = true;
  TakeArgument take = nullptr;  // null: no effect on the time of a step
  bool is_list = false;         // all words up to the next name
};

/// Finds an option; underscores count as dashes. Nothing for an unknown one.
[[nodiscard]] std::optional<MegatronOption> FindMegatronOption(std::string_view name);

/// Returns the option of the model, the plan or the batch that an unknown name looks like: a few
/// letters differ, or it has the same words. Empty when there is none.
[[nodiscard]] std::string_view DecisiveOptionLike(std::string_view name);

}  // namespace orrery::workload
