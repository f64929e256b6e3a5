#include "orrery/kernel/measured/measurement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/data_type.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
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
    into_.rows.push_back(
        {one.op, gpu, layout_.timing, one.seconds, one.spread, one.is_sustained, file_, line});
  }

  const Layout& layout_;
  std::uint32_t file_;
  Measurements& into_;
};

/// Moves rows from `first` on to the rejected ones, with a reason for each.
template <typename IsRejected, typename ReasonOf>
void RejectRows(std::size_t first, const IsRejected& is_rejected, const ReasonOf& reason_of,
                Measurements& into) {
  const auto begin = into.rows.begin() + static_cast<std::ptrdiff_t>(first);
  for (auto row = begin; row != into.rows.end(); ++row) {
    if (is_rejected(*row)) {
      into.rejected.push_back({row->file, row->line, reason_of(*row)});
    }
  }
  into.rows.erase(std::remove_if(begin, into.rows.end(), is_rejected), into.rows.end());
}

/// Among the shortest times of a table: what little work takes.
constexpr double kShortestShare = 0.02;
constexpr std::size_t kEnoughRows = 200;
/// Kernels of narrow types take as long to launch as others; a host takes ten times as long.
constexpr double kHostBound = 8;

double ShortestOf(std::vector<double> seconds) {
  const auto place =
      static_cast<std::ptrdiff_t>(kShortestShare * static_cast<double>(seconds.size()));
  std::ranges::nth_element(seconds, seconds.begin() + place);
  return seconds[static_cast<std::size_t>(place)];
}

/// Serving stacks replay graphs. Where one type of a table has far longer shortest times than the
/// others it was timed without, and its rows are times of the host.
void RejectHostBound(std::size_t first, Measurements& into) {
  std::map<std::pair<OperatorKind, DataType>, std::vector<double>> times;
  for (const Measurement& row : std::span(into.rows).subspan(first)) {
    if (row.timing == Timing::kReplay) {
      times[{row.op.kind(), row.op.type()}].push_back(row.seconds);
    }
  }
  std::map<OperatorKind, double> least;
  std::map<std::pair<OperatorKind, DataType>, double> shortest;
  for (const auto& [key, seconds] : times) {
    if (seconds.size() >= kEnoughRows) {
      shortest[key] = ShortestOf(seconds);
      const auto [found, is_new] = least.try_emplace(key.first, shortest[key]);
      found->second = std::min(found->second, shortest[key]);
    }
  }
  const auto is_host_bound = [&](const Measurement& row) {
    const auto found = shortest.find({row.op.kind(), row.op.type()});
    return row.timing == Timing::kReplay && found != shortest.end() &&
           found->second > kHostBound * least.at(row.op.kind());
  };
  RejectRows(
      first, is_host_bound,
      [&](const Measurement& row) {
        return fmt::format(
            "{} is host-bound in this table: no row below {:.0f} µs, where other types "
            "have {:.1f} µs",
            DataTypeName(row.op.type()), shortest.at({row.op.kind(), row.op.type()}) * 1e6,
            least.at(row.op.kind()) * 1e6);
      },
      into);
}

/// A table that has an attention with a larger head in a quarter of the time timed another kernel
/// for the smaller one: the fallback of a stack that has none for its size. Short ones hide it
/// behind their launch, so that all rows of a size go where more than a few are seen to.
constexpr double kFallback = 4;
constexpr double kFewFallbacks = 0.05;

bool IsReplayedAttention(const Measurement& row) {
  return row.op.kind() == OperatorKind::kAttention && row.timing == Timing::kReplay;
}

/// Attention of one table, by shape without the head size.
class HeadSizes {
 public:
  explicit HeadSizes(std::span<const Measurement> rows) {
    for (const Measurement& row : rows) {
      if (IsReplayedAttention(row)) {
        times_[ShapeOf(row.op)][row.op.Get(Key::kHeadSize)] = row.seconds;
      }
    }
    for (const auto& [shape, of_sizes] : times_) {
      for (const auto& [size, seconds] : of_sizes) {
        Share& share = shares_[size];
        share.compared += of_sizes.upper_bound(size) != of_sizes.end() ? 1 : 0;
        share.slow += IsSlow(of_sizes, size, seconds) ? 1 : 0;
      }
    }
  }

  [[nodiscard]] bool IsFallback(const Measurement& row) const {
    if (!IsReplayedAttention(row)) {
      return false;
    }
    const std::int64_t size = row.op.Get(Key::kHeadSize);
    const Share& share = shares_.at(size);
    return share.slow > kFewFallbacks * share.compared ||
           IsSlow(times_.at(ShapeOf(row.op)), size, row.seconds);
  }

 private:
  using Times = std::map<std::int64_t, double>;  // by head size

  struct Share {
    double compared = 0;  // rows with a larger head beside them
    double slow = 0;
  };

  static Operator ShapeOf(Operator op) { return op.Set(Key::kHeadSize, 1); }

  static bool IsSlow(const Times& of_sizes, std::int64_t size, double seconds) {
    return std::any_of(of_sizes.upper_bound(size), of_sizes.end(),
                       [&](const auto& larger) { return seconds > kFallback * larger.second; });
  }

  std::map<Operator, Times> times_;
  std::map<std::int64_t, Share> shares_;
};

void RejectFallbacks(std::size_t first, Measurements& into) {
  const HeadSizes sizes(std::span(into.rows).subspan(first));
  RejectRows(
      first, [&](const Measurement& row) { return sizes.IsFallback(row); },
      [](const Measurement& row) {
        return fmt::format(
            "attention with heads of {} takes more than four times as long as with larger "
            "ones in this table: a fallback, not a kernel for this size",
            row.op.Get(Key::kHeadSize));
      },
      into);
}

Status AddTable(const Table& table, const std::string& name, Measurements& into) {
  const std::size_t first = into.rows.size();
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
  RejectHostBound(first, into);
  RejectFallbacks(first, into);
  return {};
}

}  // namespace

void KeepFastest(std::vector<Measurement>& rows) {
  std::map<std::tuple<const hardware::Gpu*, Timing, Operator>, double> fastest;
  const auto key = [](const Measurement& row) { return std::tuple(row.gpu, row.timing, row.op); };
  const auto is_of_choice = [](const Measurement& row) {
    return (row.timing == Timing::kReplay || row.timing == Timing::kTuned) && !row.is_sustained;
  };
  for (const Measurement& row : rows) {
    if (is_of_choice(row)) {
      const auto [found, is_new] = fastest.try_emplace(key(row), row.seconds);
      found->second = std::min(found->second, row.seconds);
    }
  }
  std::erase_if(rows, [&](const Measurement& row) {
    return is_of_choice(row) && row.seconds > fastest.at(key(row));
  });
}

std::string_view TimingName(Timing timing) {
  constexpr std::array<std::string_view, kNumTimings> kNames = {"kernels", "replay", "eager",
                                                                "tuned"};
  return kNames.at(static_cast<std::size_t>(timing));
}

std::string TimingText(Timing timing, bool is_sustained) {
  return fmt::format("{}{}", TimingName(timing), is_sustained ? ", sustained" : "");
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
