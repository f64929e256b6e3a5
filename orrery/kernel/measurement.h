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

/// What a measured time includes; models of different timings are not comparable.
enum class Timing : std::uint8_t {
  kKernels,  // durations of the kernels, added
  kReplay,   // a captured graph replayed by a serving stack
  kEager,    // a framework's call in a loop, including its launch
};

[[nodiscard]] std::string_view TimingName(Timing timing);

/// A measured time of an operator.
struct Measurement {
  Operator op;
  const hardware::Gpu* gpu = nullptr;
  Timing timing = Timing::kKernels;
  double seconds = 0;
  double spread = 0;  // relative, between the quartiles of the repeats; zero if unknown
  std::uint32_t file = 0;
  std::uint32_t line = 0;
};

struct Measurements {
  std::vector<std::string> files;
  std::vector<Measurement> rows;
  std::vector<RejectedRow> rejected;
};

/// Reads tables of `orrery measure kernels`, of NeuSight and of aiconfigurator (compressed or not),
/// identified by their columns. Rows without a time above zero, of a GPU that is not in the
/// catalogue, or implausibly fast or slow are rejected by file and line.
[[nodiscard]] Result<Measurements> ReadMeasurements(std::span<const std::string> paths);

/// The same for a table in memory; `name` stands for its file.
[[nodiscard]] Result<Measurements> MeasurementsOf(const Table& table, const std::string& name);

}  // namespace orrery::kernel
