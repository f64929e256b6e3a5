#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/rejected_row.h"
#include "orrery/base/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// What a measured time holds; models of one are no evaluates of another.
enum class Timing : std::uint8_t {
  kKernels,  // durations of the kernels, added
  kReplay,   // a captured graph replayed by a serving stack
  kEager,    // a framework's call in a loop, its launch with it
};

[[nodiscard]] std::string_view TimingName(Timing timing);

/// The time of an operator as somebody measured it.
struct Measurement {
  Operator op;
  const hardware::Gpu* gpu = nullptr;
  Timing timing = Timing::kKernels;
  double seconds = 0;
  double spread = 0;  // relative, between the quartiles of the repeats; zero when not told
  std::uint32_t file = 0;
  std::uint32_t line = 0;
};

struct Measurements {
  std::vector<std::string> files;
  std::vector<Measurement> rows;
  std::vector<RejectedRow> rejected;
};

/// Reads tables of `orrery measure kernels`, of NeuSight and of aiconfigurator (plain or packed);
/// which it is, the columns tell. Rows without a time above zero, of a GPU that the catalogue does
/// not have, or faster or slower than a mistaken unit would explain are rejected by file and line.
[[nodiscard]] Result<Measurements> ReadMeasurements(std::span<const std::string> paths);

/// The same for one table that was read already; `name` stands for its file.
[[nodiscard]] Result<Measurements> MeasurementsOf(const Table& table, const std::string& name);

}  // namespace orrery::kernel
