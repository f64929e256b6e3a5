#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {

/// The layers of one part of the chain (see PartOf): blocks one after another, and the ends.
struct PartLayers {
  int first_block = 0;
  int num_blocks = 0;  // 0: an end alone, or nothing where work was cut and the head is heavy
  bool has_embedding = false;
  bool has_head = false;

  bool operator==(const PartLayers&) const = default;
};

struct LayerCut {
  PipelineShape shape = {};
  int blocks = 0;
  std::vector<int> layers_per_stage = {};  // of the plan: of stages or of parts; empty: evenly
  bool counts_embedding = false;           // as a block
  bool counts_loss = false;
  std::optional<double> head_work = {};  // in blocks: cut so that work is even (nanotron)
};

/// The cut of a model by a framework: blocks of encoder and decoder in one chain. Blocks that
/// predict further tokens are not among them; they belong to the part with the head.
[[nodiscard]] LayerCut LayerCutOf(const Transformer& model, const Plan& plan,
                                  const Framework& framework, const PipelineShape& shape);

/// Cuts the blocks into NumParts(shape) parts.
///
/// Evenly, with the ends that count as a block each. Where blocks do not divide and neither end
/// counts, both do, as Megatron can be told to, and what is left over goes to the first parts. With
/// `head_work`, as nanotron does: a part ends behind the block with which the work so far passes
/// its share. `layers_per_stage` decides alone; chunks share the layers of their stage. Fails in
/// one sentence that names the key and the fix.
[[nodiscard]] Result<std::vector<PartLayers>> CutLayers(const LayerCut& cut);

/// Reads a layout as Megatron writes them, `Et*4|(t*4|)*14tmL`: for each part of the chain an
/// embedding (E), blocks (t), blocks that predict further tokens (m) and the loss (L); `*` repeats
/// a letter or what is in parentheses. Returns the blocks of each part; nothing for other texts.
[[nodiscard]] std::optional<std::vector<int>> LayersOfLayout(std::string_view text);

}  // namespace orrery::workload
