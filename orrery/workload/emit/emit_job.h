#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

enum class LaunchFormat : std::uint8_t {
  kMegatron,    // a command line of Megatron-LM's pretrain_gpt.py
  kNemo,        // overrides of a recipe of NeMo 2
  kTorchtitan,  // TOML
  kDeepSpeed,   // JSON
};

/// A job in the form that a training tool is started with.
struct EmittedJob {
  std::string text;
  std::vector<std::string> not_expressed = {};  // a sentence for each setting that has no key
};

/// Writes the settings of a checked job (CheckJob) for a tool, as docs/formats/launch.md lists
/// them; settings of no effect are left out. Data, tokenizer, learning rate and checkpoints are not
/// among them. Where nothing is in `not_expressed`, reading Megatron's command line gives the
/// plan, training and model of the job again. Fails in one sentence for a model that the tool does
/// not train.
[[nodiscard]] Result<EmittedJob> EmitJob(const Job& job, LaunchFormat format);

}  // namespace orrery::workload
