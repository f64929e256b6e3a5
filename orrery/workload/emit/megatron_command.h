#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/emit/setting_list.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {

/// A job as arguments of Megatron-LM, those of the launcher first.
[[nodiscard]] Result<SettingList> MegatronSettings(const Job& job);

/// Adds the arguments of the model. Part of MegatronSettings.
void AddMegatronModel(const TransformerShape& shape, SettingList& list);

/// `torchrun … pretrain_gpt.py …`, one argument a line.
[[nodiscard]] Result<EmittedJob> MegatronCommand(const Job& job);

}  // namespace orrery::workload
