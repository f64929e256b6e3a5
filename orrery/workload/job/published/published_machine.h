#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/run_row.h"

namespace orrery::workload {

/// Sets the GPU of a job and its usual machine, from the name in a table. A GPU without such a
/// machine stands alone in one.
[[nodiscard]] Status SetMachine(const std::string& gpu, Job& job);

/// The machine of a row of published runs: GPUs, nodes and their network.
[[nodiscard]] Status ReadMachine(RunRow& row, Job& job);

/// "8x 400 Gb/s NDR IB per node", "1600 Gb/s RoCE per node": what the NICs of a node carry in one
/// direction. A single number that is of a GPU or of a link ("NDR 400 Gb/s", "400 Gb/s per GPU")
/// counts `links` times. Nothing when the text gives no number.
[[nodiscard]] std::optional<Bandwidth> NodeNetworkOf(std::string_view text, int links = 1);

}  // namespace orrery::workload
