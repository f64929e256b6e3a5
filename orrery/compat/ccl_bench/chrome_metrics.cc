#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/fields.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {

namespace {

using analyze::CardNumber;
using trace::Trace;

enum class SliceKind : std::uint8_t { kComm, kCompute, kOther };

// A slice with everything that the suite reads.
struct ChromeRow {
  SliceKind kind = SliceKind::kOther;
  bool is_all_reduce = false;
  double seconds = 0;
  double message_bytes = 0;
  std::size_t file = 0;
  std::int64_t process = 0;
  Interval time;
  XlaArguments arguments;
};

// Of name and category the kind that comes first counts.
SliceKind KindOf(std::string_view name) {
  return kChromeComm(name)      ? SliceKind::kComm
         : kChromeCompute(name) ? SliceKind::kCompute
                                : SliceKind::kOther;
}

// Calls visit(row) for each slice of the run. Its time is the device's where any slice of the run
// has one; else its duration.
template <typename Visit>
void ForEachChromeRow(const Run& run, Visit visit) {
  bool has_device_times = false;
  for (const Trace& trace : run.set->ranks) {
    PerName arguments_of(trace, &ReadXlaArguments);
    ForEachSlice(trace, [&](const Slice& slice) {
      has_device_times |= arguments_of(slice.extra).device_seconds.has_value();
    });
  }
  for (std::size_t file = 0; file < run.set->ranks.size(); ++file) {
    const Trace& trace = run.set->ranks[file];
    PerName kind_of(trace, &KindOf);
    PerName is_all_reduce(trace, kChromeAllReduce);
    PerName arguments_of(trace, &ReadXlaArguments);
    ForEachSlice(trace, [&](const Slice& slice) {
      const XlaArguments& arguments = arguments_of(slice.extra);
      visit(ChromeRow{.kind = std::min(kind_of(slice.name), kind_of(slice.category)),
                      .is_all_reduce = is_all_reduce(slice.name),
                      .seconds = has_device_times ? arguments.device_seconds.value_or(0)
                                                  : Microseconds(slice.time.length_ns()) / 1e6,
                      .message_bytes = arguments.message_bytes.value_or(0),
                      .file = file,
                      .process = slice.track == kNoRow ? 0 : trace.tracks.process[slice.track],
                      .time = slice.time,
                      .arguments = arguments});
    });
  }
}

struct KindTotal {
  double seconds = 0;
  double message_bytes = 0;
  std::int64_t count = 0;
};

KindTotal TotalOf(const Run& run, SliceKind kind) {
  KindTotal total;
  ForEachChromeRow(run, [&](const ChromeRow& row) {
    if (row.kind == kind) {
      total.seconds += row.seconds;
      total.message_bytes += row.message_bytes;
      ++total.count;
    }
  });
  return total;
}

MetricResult SumOrZero(double sum, bool is_known) {
  return is_known ? Number(sum) : Placeholder(0.0);
}

bool IsAllReduceSample(const ChromeRow& row) {
  return row.kind == SliceKind::kComm && row.is_all_reduce && row.message_bytes > 0 &&
         row.seconds > 0;
}

struct Line {
  double intercept = 0;
  double slope = 0;
};

// Ordinary least squares; nothing when all x are equal.
std::optional<Line> FitLine(const std::vector<std::pair<double, double>>& points) {
  double mean_x = 0;
  double mean_y = 0;
  for (const auto& [x, y] : points) {
    mean_x += x / static_cast<double>(points.size());
    mean_y += y / static_cast<double>(points.size());
  }
  double covariance = 0;
  double variance = 0;
  for (const auto& [x, y] : points) {
    covariance += (x - mean_x) * (y - mean_y);
    variance += (x - mean_x) * (x - mean_x);
  }
  if (variance == 0) {
    return std::nullopt;
  }
  const double slope = covariance / variance;
  return Line{.intercept = mean_y - slope * mean_x, .slope = slope};
}

// T/(2(n−1)) = α + β·S/n over all-reduces; the suite takes the world size for the group size.
std::optional<Line> FitHockney(const Run& run) {
  constexpr std::size_t kMinSamples = 5;
  const double world = CardNumber(*run.set, "total_count").value_or(0);
  if (world < 2) {
    return std::nullopt;
  }
  std::vector<std::pair<double, double>> points;
  ForEachChromeRow(run, [&](const ChromeRow& row) {
    if (IsAllReduceSample(row)) {
      points.emplace_back(row.message_bytes / world, row.seconds / (2 * (world - 1)));
    }
  });
  return points.size() < kMinSamples ? std::nullopt : FitLine(points);
}

double FlopsPerToken(const Run& run) {
  return 6 * run.model_params;
}

}  // namespace

std::optional<double> CommSeconds(const Run& run) {
  const KindTotal total = TotalOf(run, SliceKind::kComm);
  return total.count > 0 ? std::optional(total.seconds) : std::nullopt;
}

MetricResult WallTime(const Run& run) {
  const auto wall_us = WallMicroseconds(run);
  return wall_us ? Number(*wall_us / 1e6) : NotANumber();
}

MetricResult TotalComputeTime(const Run& run) {
  const KindTotal total = TotalOf(run, SliceKind::kCompute);
  return SumOrZero(total.seconds, total.count > 0);
}

MetricResult TotalCommTime(const Run& run) {
  const KindTotal total = TotalOf(run, SliceKind::kComm);
  return SumOrZero(total.seconds, total.count > 0);
}

MetricResult AvgCommKernelTime(const Run& run) {
  const KindTotal total = TotalOf(run, SliceKind::kComm);
  return total.count > 0 ? Number(total.seconds / static_cast<double>(total.count)) : NotANumber();
}

MetricResult AllReduceCommTime(const Run& run) {
  double seconds = 0;
  bool any = false;
  ForEachChromeRow(run, [&](const ChromeRow& row) {
    if (IsAllReduceSample(row)) {
      seconds += row.seconds;
      any = true;
    }
  });
  return any ? Number(seconds) : NotANumber();
}

MetricResult ComputeUtilizationProxy(const Run& run) {
  struct ProcessUse {
    Interval span;
    double compute_seconds = 0;
  };

  std::map<std::pair<std::size_t, std::int64_t>, ProcessUse> use_of_process;
  ForEachChromeRow(run, [&](const ChromeRow& row) {
    const auto [use, is_new] =
        use_of_process.try_emplace({row.file, row.process}, ProcessUse{row.time});
    use->second.span = Hull(use->second.span, row.time);
    use->second.compute_seconds += row.kind == SliceKind::kCompute ? row.seconds : 0;
  });
  std::vector<double> ratios;
  for (const auto& [process, use] : use_of_process) {
    if (use.compute_seconds > 0 && use.span.length_ns() > 0) {
      ratios.push_back(use.compute_seconds / (Microseconds(use.span.length_ns()) / 1e6));
    }
  }
  return NumberOrNaN(SequentialMean(ratios));
}

MetricResult NumCommKernels(const Run& run) {
  if (!CardNumber(*run.set, "total_count")) {
    return Fails("the card has no total_count");
  }
  return Number(static_cast<double>(TotalOf(run, SliceKind::kComm).count));
}

MetricResult AvgCommBandwidth(const Run& run) {
  const auto world = CardNumber(*run.set, "total_count");
  const KindTotal total = TotalOf(run, SliceKind::kComm);
  if (!world || total.message_bytes <= 0 || total.seconds <= 0) {
    return NotANumber();
  }
  return Number((*world - 1) * total.message_bytes / total.seconds / 1e9);
}

MetricResult HockneyAlpha(const Run& run) {
  const auto line = FitHockney(run);
  return line ? Number(line->intercept) : NotANumber();
}

MetricResult HockneyBeta(const Run& run) {
  const auto line = FitHockney(run);
  return line ? Number(line->slope) : NotANumber();
}

MetricResult HockneyInverseBeta(const Run& run) {
  const auto line = FitHockney(run);
  return line && line->slope != 0 ? Number(1 / line->slope) : NotANumber();
}

MetricResult AchievedFlops(const Run& run) {
  double flops = 0;
  double seconds = 0;
  ForEachChromeRow(run, [&](const ChromeRow& row) {
    if (row.arguments.model_flops.value_or(0) > 0 && row.seconds > 0) {
      flops += *row.arguments.model_flops;
      seconds += row.seconds;
    }
  });
  return seconds > 0 ? Number(flops / seconds) : NotANumber();
}

MetricResult TotalModelFlops(const Run& run) {
  const ModelFlops flops = SumModelFlops(run);
  return SumOrZero(flops.model_flops, flops.model_flops > 0);
}

MetricResult FlopsPerTokenUsed(const Run& run) {
  return Number(FlopsPerToken(run));
}

MetricResult EstimatedTotalTokens(const Run& run) {
  const double flops = SumModelFlops(run).model_flops;
  return SumOrZero(flops / FlopsPerToken(run), flops > 0);
}

MetricResult EstimatedThroughput(const Run& run) {
  const double flops = SumModelFlops(run).model_flops;
  const auto wall_us = WallMicroseconds(run);
  if (flops <= 0 || !wall_us || *wall_us <= 0) {
    return Placeholder(0.0);
  }
  return Number(flops / FlopsPerToken(run) / (*wall_us / 1e6));
}

MetricResult CommKernelBreakdownTpu(const Run& run) {
  struct LabelTotal {
    double total_us = 0;
    std::int64_t count = 0;
  };

  if (run.set->ranks.size() != 1) {
    return Fails("needs exactly one .json.gz file");
  }
  const Trace& trace = run.set->ranks.front();
  std::map<std::string_view, LabelTotal> total_of_label;
  PerName label_of(trace, &CollectiveLabel);
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    const std::string_view label = label_of(trace.activities.name[row]);
    if (!label.empty()) {
      LabelTotal& total = total_of_label[label];
      total.total_us += Microseconds(trace.activities.duration_ns[row]);
      ++total.count;
    }
  }
  if (total_of_label.empty()) {
    return Fails("no collective in the file");
  }
  double total_us = 0;
  Value table = Value::List();
  for (const auto& [label, total] : total_of_label) {
    total_us += total.total_us;
    table.Add(Value::Object()
                  .Set("collective", label)
                  .Set("total_us", total.total_us)
                  .Set("count", total.count)
                  .Set("average_us", total.total_us / static_cast<double>(total.count)));
  }
  MetricResult result = Number(total_us);
  result.detail.Set("collectives", std::move(table));
  return result;
}

MetricResult EstimatedBandwidth(const Run& run) {
  double bytes = 0;
  ForEachChromeRow(
      run, [&](const ChromeRow& row) { bytes += row.arguments.accessed_bytes.value_or(0); });
  const auto wall_us = WallMicroseconds(run);
  return bytes > 0 && wall_us && *wall_us > 0 ? Number(bytes / (*wall_us / 1e6) / 1e9)
                                              : NotANumber();
}

}  // namespace orrery::compat::ccl_bench
