#include "orrery/kernel/measurement.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"

namespace orrery::kernel {
namespace {

/// Caches are several times faster than memory, so bytes are only a soft bound.
constexpr double kFastestAgainstCompute = 0.2;
constexpr double kFastestAgainstMemory = 0.02;
/// No kernel is faster, however little it does.
constexpr double kShortestKernel = 0.2e-6;
/// Slow rows are 2 to 50 times their bound and a launch; a unit wrong by 1,000 exceeds this for
/// nine rows of ten.
constexpr double kSlowest = 500;
/// Measured cuDNN kernels can be far slower: plain loops for large windows, sequential groups, and
/// tens of thousands of transforms for one dimension.
constexpr double kSlowestConv = 3000;
constexpr double kSlowestConv1d = 100'000;

/// Describes what is implausible about a time, if anything.
std::string DoubtAbout(const Operator& op, const hardware::Gpu& gpu, Timing timing,
                       double seconds) {
  const Bound bound = BoundOf(op, WorkOf(op), gpu);
  if (seconds < kShortestKernel) {
    return fmt::format("{:.3g} s is less than any kernel takes; is the unit right?", seconds);
  }
  if (seconds < kFastestAgainstCompute * bound.compute_seconds ||
      seconds < kFastestAgainstMemory * bound.memory_seconds) {
    return fmt::format("{:.3g} s is faster than a {} can be ({:.3g} s); is the unit right?",
                       seconds, gpu.name, bound.Seconds());
  }
  const double slowest = op.kind() == OperatorKind::kConv1d ? kSlowestConv1d
                         : op.kind() == OperatorKind::kConv ? kSlowestConv
                                                            : kSlowest;
  // A framework's call includes host time; the steps of a sequence follow one another.
  const double steps =
      op.kind() == OperatorKind::kRnn ? op.Number(Key::kSequence) * op.Number(Key::kLayers) : 1;
  const double longest_launch = timing == Timing::kEager ? 100e-6 : 5e-6;
  if (seconds > slowest * (bound.Seconds() + steps * longest_launch)) {
    return fmt::format("{:.3g} s is {:.0f} times what a {} needs at least; is the unit right?",
                       seconds, seconds / bound.Seconds(), gpu.name);
  }
  return {};
}

class TableReader {
 public:
  TableReader(const Layout& layout, std::uint32_t file, Measurements& into)
      : layout_(layout), file_(file), into_(into) {}

  void Add(const Table& table, std::size_t row) {
    const auto line = static_cast<std::uint32_t>(row + 2);  // the header is line 1
    const Result<std::vector<LayoutRow>> read = layout_.read(table, row);
    if (!read) {
      into_.rejected.push_back({file_, line, read.error().message()});
      return;
    }
    for (const LayoutRow& one : *read) {
      AddTime(one, line);
    }
  }

 private:
  void AddTime(const LayoutRow& one, std::uint32_t line) {
    const hardware::Gpu* gpu = hardware::FindGpu(one.gpu);
    if (gpu == nullptr) {
      into_.rejected.push_back(
          {file_, line, fmt::format("the GPU '{}' is not in the catalogue", one.gpu)});
      return;
    }
    if (std::string doubt = DoubtAbout(one.op, *gpu, layout_.timing, one.seconds); !doubt.empty()) {
      into_.rejected.push_back({file_, line, std::move(doubt)});
      return;
    }
    into_.rows.push_back({one.op, gpu, layout_.timing, one.seconds, one.spread, file_, line});
  }

  const Layout& layout_;
  std::uint32_t file_;
  Measurements& into_;
};

Status AddTable(const Table& table, const std::string& name, Measurements& into) {
  const auto file = static_cast<std::uint32_t>(into.files.size());
  into.files.push_back(name);
  const Result<const Layout*> layout = FindLayout(table);
  if (!layout) {
    return FailWithin(name, layout);
  }
  TableReader reader(**layout, file, into);
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    reader.Add(table, row);
  }
  return {};
}

}  // namespace

std::string_view TimingName(Timing timing) {
  constexpr std::array<std::string_view, 3> kNames = {"kernels", "replay", "eager"};
  return kNames.at(static_cast<std::size_t>(timing));
}

Result<Measurements> MeasurementsOf(const Table& table, const std::string& name) {
  Measurements measurements;
  ORRERY_TRY_STATUS(AddTable(table, name, measurements));
  return measurements;
}

Result<Measurements> ReadMeasurements(std::span<const std::string> paths) {
  Measurements measurements;
  for (const std::string& path : paths) {
    ORRERY_TRY(const Table table, ReadCsvFile(path));
    ORRERY_TRY_STATUS(AddTable(table, path, measurements));
  }
  return measurements;
}

}  // namespace orrery::kernel
