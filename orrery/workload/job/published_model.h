#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// The model of a row of published runs: from its columns, and what they leave out from the family
/// that the activation tells (GELU: GPT with biases and learned positions; gated: LLaMA). Latent
/// attention and shared experts come from the preset of that name.
[[nodiscard]] Result<Model> PublishedModel(const Table& table, std::size_t row, const Job& job,
                                           std::vector<std::string>& assumptions);

}  // namespace orrery::workload
