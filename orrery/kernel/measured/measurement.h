#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// The scope of a measured time; models of different timings are not comparable.
enum class Timing : std::uint8_t {
  kKernels,  // durations of the kernels, added
  kReplay,   // a captured graph replayed by a serving stack
  kEager,    // a framework's call in a loop, including its launch
  kTuned,    // the fastest kernel that a search over several libraries found
};

inline constexpr std::size_t kNumTimings = 4;

[[nodiscard]] std::string_view TimingName(Timing timing);

/// "replay", or "replay, sustained".
[[nodiscard]] std::string TimingText(Timing timing, bool is_sustained);

struct Measurement {
  Operator op;
  const hardware::Gpu* gpu = nullptr;
  Timing timing = Timing::kKernels;
  double seconds = 0;
  double spread = 0;          // relative, between the quartiles of the repeats; zero if unknown
  bool is_sustained = false;  // repeated until clock and power had settled, instead of a burst
  std::uint32_t file = 0;
  std::uint32_t line = 0;
};

struct Measurements {
  std::vector<std::string> files;
  std::vector<Measurement> rows;
  std::vector<RejectedRow> rejected;
};

/// Reads tables of `orrery measure`, of NeuSight and of aiconfigurator (compressed or not),
/// identified by their columns. Rows without a time above zero, of a GPU that is not in the
/// catalogue, implausibly fast or slow, or of a type whose calls all took as long as the host to
/// make them, are rejected by file and line.
[[nodiscard]] Result<Measurements> ReadMeasurements(std::span<const std::string> paths);

/// The same for a table in memory; `name` stands for its file.
[[nodiscard]] Result<Measurements> MeasurementsOf(const Table& table, const std::string& name);

/// Keeps the fastest of the rows that serving stacks or searches have for the same operator on the
/// same GPU: a training framework calls the best library, and slower rows include casts or poor
/// kernels.
void KeepFastest(std::vector<Measurement>& rows);

/// One row of a table of some layout: an operator and its time, not yet checked. A row may contain
/// several times.
struct LayoutRow {
  Operator op;
  std::string_view gpu;
  double seconds = 0;
  double spread = 0;
  bool is_sustained = false;
};

struct Layout {
  std::string_view name;
  Timing timing;
  std::vector<std::string_view> needs;  // required columns, which identify the layout
  Result<std::vector<LayoutRow>> (*read)(const Table& table, std::size_t row);
};

/// Returns the layout of a table; fails and names the nearest layout and its missing columns.
[[nodiscard]] Result<const Layout*> FindLayout(const Table& table);

/// Reads a node of the graphs that NeuSight timed call by call (fp32, eager): the matrix
/// multiplications of inference runs. Other calls have their own tables, and views run no kernel:
/// no row. Nodes of training runs are skipped, because those runs evaluate the simulator.
[[nodiscard]] Result<std::vector<LayoutRow>> ReadNeuSightNode(const Table& table, std::size_t row);

}  // namespace orrery::kernel
