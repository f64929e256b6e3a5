#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/operator_work.h"
#include "orrery/api/view.h"
#include "orrery/api/view/places.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/activity.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/cluster.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/kernel_name.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/shape_text.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/recorded/operator_prices.h"

namespace orrery::api::view {
namespace {

constexpr std::size_t kMostLinks = 200;
constexpr std::size_t kMostFrames = 200;

std::string DurationText(std::int64_t duration_ns) {
  return draw::FormatDuration({duration_ns});
}

/// Names and values that people read.
class Facts {
 public:
  void Add(std::string_view name, std::string text) {
    if (!text.empty()) {
      list_.push_back({std::string(name), std::move(text)});
    }
  }

  /// Adds a field that leads to a slice.
  void AddLink(std::string_view name, std::string text, std::optional<SlicePlace> place) {
    list_.push_back({std::string(name), std::move(text), std::move(place)});
  }

  void AddNumber(std::string_view name, std::int64_t number) {
    if (number >= 0) {
      Add(name, draw::FormatCount(number));
    }
  }

  [[nodiscard]] std::vector<SliceFact> Take() && { return std::move(list_); }

 private:
  std::vector<SliceFact> list_;
};

std::string SecondsText(double seconds) {
  return DurationText(std::llround(seconds * 1e9));
}

std::string RateText(double bytes, std::int64_t duration_ns) {
  return duration_ns <= 0
             ? std::string()
             : draw::FormatBandwidth({bytes / (static_cast<double>(duration_ns) * 1e-9)});
}

/// All about one slice, by its table.
class SliceDescription {
 public:
  SliceDescription(const ViewedRun& run, RankPlace rank, const SliceTrack& track, RowId row)
      : run_(run),
        rank_(rank),
        trace_(run.set().ranks[rank.trace]),
        table_(track.table),
        columns_(ColumnsOf(trace_, track.table)),
        row_(row) {}

  [[nodiscard]] SliceDetails Take() && {
    SliceDetails details{.name = Text(columns_.name[row_]),
                         .begin_ns = columns_.begin_ns[row_] - run_.begin_ns(),
                         .duration_ns = columns_.duration_ns[row_],
                         .class_key = "host",
                         .stack = Stack()};
    facts_.Add("duration", DurationText(columns_.duration_ns[row_]));
    switch (table_) {
      case SliceTable::kActivities:
        details.class_key = kActivityNames[static_cast<std::size_t>(ActivityOf(Class()))].key;
        details.collective = AddActivity();
        details.launch = Link(SliceTable::kRuntimeCalls, trace_.activities.launch[row_]);
        break;
      case SliceTable::kHostOps:
        AddOperator(row_);
        details.kernels = Links(run_.IndexOf(rank_.trace).of_operator().Of(row_));
        break;
      case SliceTable::kRuntimeCalls:
        facts_.AddNumber("correlation", trace_.runtime_calls.correlation[row_]);
        details.kernels = Links(run_.IndexOf(rank_.trace).of_call().Of(row_));
        break;
      case SliceTable::kAnnotations:
        facts_.Add("domain", Text(trace_.annotations.domain[row_]));
        facts_.Add("arguments", Text(trace_.annotations.extra[row_]));
        break;
      case SliceTable::kPythonCalls:
        facts_.Add("arguments", Text(trace_.python_calls.extra[row_]));
        break;
    }
    details.facts = std::move(facts_).Take();
    return details;
  }

 private:
  [[nodiscard]] std::string Text(StringId id) const { return std::string(trace_.Text(id)); }

  [[nodiscard]] trace::KernelClass Class() const { return run_.view().classes[rank_.trace][row_]; }

  [[nodiscard]] std::optional<SlicePlace> Link(SliceTable table, RowId row) const {
    return row == kNoRow ? std::nullopt : PlaceOf(run_, rank_.row, table, row);
  }

  [[nodiscard]] std::vector<SlicePlace> Links(std::span<const RowId> rows) const {
    std::vector<SlicePlace> links;
    for (const RowId row : rows.first(std::min(rows.size(), kMostLinks))) {
      if (std::optional<SlicePlace> link = Link(SliceTable::kActivities, row)) {
        links.push_back(*std::move(link));
      }
    }
    return links;
  }

  // Returns the number of the matched collective.
  std::optional<std::int64_t> AddActivity() {
    const trace::Activities& activities = trace_.activities;
    facts_.Add("class", std::string(trace::KernelClassName(Class())));
    facts_.Add("short name", report::ShortKernelName(trace_.Text(activities.name[row_])));
    AddShape(activities.shape[row_]);
    if (activities.bytes[row_] >= 0) {
      const auto bytes = static_cast<double>(activities.bytes[row_]);
      facts_.Add("bytes", draw::FormatBytes({activities.bytes[row_]}));
      facts_.Add("bandwidth", RateText(bytes, activities.duration_ns[row_]));
    }
    if (const RowId launch = activities.launch[row_]; launch != kNoRow) {
      facts_.Add("after its launch",
                 DurationText(activities.begin_ns[row_] - trace_.runtime_calls.begin_ns[launch]));
    }
    const RowId host_op = activities.host_op[row_];
    if (host_op != kNoRow) {
      facts_.AddLink("operator", Text(trace_.host_ops.name[host_op]),
                     Link(SliceTable::kHostOps, host_op));
      AddOperator(host_op);
      AddPrice();
    }
    const std::optional<std::int64_t> collective = AddCollective(activities.collective[row_]);
    facts_.AddNumber("correlation", activities.correlation[row_]);
    facts_.Add("arguments", Text(activities.extra[row_]));
    return collective;
  }

  void AddShape(RowId shape) {
    if (shape == kNoRow) {
      return;
    }
    const trace::LaunchShapes& shapes = trace_.launch_shapes;
    if (shapes.grid_x[shape] >= 0) {
      facts_.Add("grid", fmt::format("{} × {} × {}", shapes.grid_x[shape], shapes.grid_y[shape],
                                     shapes.grid_z[shape]));
      facts_.Add("block", fmt::format("{} × {} × {}", shapes.block_x[shape], shapes.block_y[shape],
                                      shapes.block_z[shape]));
    }
    facts_.AddNumber("registers a thread", shapes.registers_per_thread[shape]);
    if (shapes.shared_memory_bytes[shape] >= 0) {
      facts_.Add("shared memory", draw::FormatBinaryBytes({shapes.shared_memory_bytes[shape]}));
    }
    // Profilers that do not know it say 0, which no kernel that runs has.
    if (shapes.occupancy_percent[shape] > 0) {
      facts_.Add("occupancy (estimate)", fmt::format("{} %", shapes.occupancy_percent[shape]));
    }
  }

  void AddOperator(RowId host_op) {
    const trace::HostOps& ops = trace_.host_ops;
    facts_.Add("shapes", Text(ops.input_dims[host_op]));
    facts_.Add("types", Text(ops.input_types[host_op]));
    facts_.Add("inputs", Text(ops.concrete_inputs[host_op]));
    facts_.Add("module", Text(ops.module_hierarchy[host_op]));
    const auto work = analyze::WorkOfCall(analyze::OperatorsOfCalls(trace_).Of(host_op));
    if (work && table_ == SliceTable::kActivities && columns_.duration_ns[row_] > 0) {
      const double seconds = static_cast<double>(columns_.duration_ns[row_]) * 1e-9;
      facts_.Add("FLOPs", fmt::format("{:.3g} ({:.3g} TFLOP/s)", work->flops,
                                      work->flops / seconds * 1e-12));
      facts_.Add("bytes at least",
                 fmt::format("{} ({})", draw::FormatBytes({static_cast<std::int64_t>(work->bytes)}),
                             draw::FormatBandwidth({work->bytes / seconds})));
    }
  }

  // A model estimates a call: all its kernels together.
  void AddPrice() {
    const Result<workload::OperatorPrices>& prices = run_.PricesOf(rank_.trace);
    if (!prices) {
      if (trace::IsCompute(Class())) {
        facts_.Add("kernel model", prices.error().message());
      }
      return;
    }
    const workload::OperatorPrice* const price = prices->OfActivity(trace_, row_);
    if (price == nullptr) {
      if (trace::IsCompute(Class())) {
        facts_.Add("kernel model", "does not know this call");
      }
      return;
    }
    facts_.AddLink(
        "kernel model",
        fmt::format("{} ± {:.0f} % for {}{}", SecondsText(price->model->seconds),
                    price->model->uncertainty * 100, Text(trace_.host_ops.name[price->host_op]),
                    price->model->is_extrapolated ? ", extrapolated" : ""),
        Link(SliceTable::kHostOps, price->host_op));
    facts_.Add(
        "recorded for that",
        fmt::format("{} in {} kernel{} ({:.2f} times the model)", DurationText(price->recorded_ns),
                    price->num_kernels, price->num_kernels == 1 ? "" : "s",
                    static_cast<double>(price->recorded_ns) * 1e-9 / price->model->seconds));
    facts_.Add("roofline", SecondsText(price->model->roofline_seconds) + " at least");
    facts_.Add("estimated as", fmt::format("{}, {}", price->model->Text(),
                                           kernel::EstimateSourceName(price->model->source)));
  }

  std::optional<std::int64_t> AddCollective(RowId row) {
    if (row == kNoRow) {
      return {};
    }
    const trace::Collectives& collectives = trace_.collectives;
    facts_.Add("collective", std::string(CollectiveKindName(collectives.kind[row])));
    const std::int64_t bytes = std::max(collectives.in_bytes[row], collectives.out_bytes[row]);
    if (bytes >= 0) {
      facts_.Add("message", draw::FormatBytes({bytes}));
    }
    if (const RowId group = collectives.group[row]; group != kNoRow) {
      facts_.Add("group", fmt::format("{} {}", trace_.Text(trace_.process_groups.name[group]),
                                      trace_.Text(trace_.process_groups.description[group])));
    }
    const std::int64_t wait_ns = run_.view().waits.WaitOfRow(run_.view().matched, rank_.trace, row);
    facts_.Add("waited for others", DurationText(wait_ns));
    const std::int64_t transfer_ns = columns_.duration_ns[row_] - wait_ns;
    if (bytes > 0 && transfer_ns > 0) {
      facts_.Add("message over transfer time", RateText(static_cast<double>(bytes), transfer_ns));
      AddBusBandwidth(row, static_cast<double>(bytes) / (static_cast<double>(transfer_ns) * 1e-9));
    }
    const std::vector<RowId>& instances = run_.view().matched.ranks[rank_.trace].instance_of_row;
    return row < instances.size() && instances[row] != kNoRow
               ? std::optional<std::int64_t>(instances[row])
               : std::nullopt;
  }

  void AddBusBandwidth(RowId row, double bytes_per_second) {
    const std::int32_t num_ranks = analyze::NumParticipants(run_.view(), rank_.trace, row);
    const auto factor = analyze::BusFactor(trace_.collectives.kind[row], num_ranks);
    if (!factor || *factor <= 0) {
      return;
    }
    const double bus = *factor * bytes_per_second;
    const std::optional<report::Roof> roof = RoofOf(row);
    facts_.Add("bus bandwidth",
               draw::FormatBandwidth({bus}) +
                   (roof ? fmt::format(", {:.0f} % of {}: {}", bus / roof->bytes_per_second * 100,
                                       draw::FormatBandwidth({roof->bytes_per_second}), roof->label)
                         : std::string()));
  }

  // The link that limits a group: inside a node, or across nodes.
  [[nodiscard]] std::optional<report::Roof> RoofOf(RowId row) const {
    const std::set<std::int32_t> nodes = NodesOf(row);
    const bool is_inside = nodes.size() <= 1;
    if (run_.simulated() != nullptr) {
      const hardware::Cluster& cluster = run_.simulated()->job->cluster;
      const double across = cluster.nics.bandwidth.bytes_per_second * cluster.nics.per_node /
                            std::max(cluster.gpus_per_node, 1);
      const double own = is_inside ? cluster.island.per_gpu.bytes_per_second : across;
      return own <= 0 ? std::nullopt
                      : std::optional(report::Roof{is_inside ? "links of a GPU inside a node"
                                                             : "a node's NICs for each of its GPUs",
                                                   own});
    }
    const std::vector<report::Roof> roofs = report::Roofs(run_.view());
    const auto found = std::ranges::find(roofs, !is_inside, &report::Roof::is_across_nodes);
    if (found == roofs.end()) {
      return std::nullopt;
    }
    report::Roof roof = *found;
    if (nodes.empty() || *nodes.begin() < 0) {
      roof.label += ", if its ranks are on one node, which is not recorded";
    }
    return roof;
  }

  // The nodes of a collective's group; -1 where that of a rank is not known.
  [[nodiscard]] std::set<std::int32_t> NodesOf(RowId row) const {
    const RowId group = trace_.collectives.group[row];
    const std::string_view list =
        group == kNoRow ? "" : trace_.Text(trace_.process_groups.ranks[group]);
    const auto per_node = analyze::CardInteger(*run_.view().set, "count_per_node");
    std::set<std::int32_t> nodes;
    for (const std::int64_t rank :
         trace::IntegerItems(list).value_or(std::vector<std::int64_t>{})) {
      const auto found = std::ranges::find(run_.ranks(), rank, &RankRow::rank);
      nodes.insert(per_node                      ? static_cast<std::int32_t>(rank / *per_node)
                   : found == run_.ranks().end() ? -1
                                                 : found->node);
    }
    return nodes;
  }

  // Python frames of the operator, or the operators around it, the outermost first.
  [[nodiscard]] std::vector<std::string> Stack() const {
    std::vector<std::string> frames;
    RowId op = kNoRow;
    if (table_ == SliceTable::kActivities) {
      op = trace_.activities.host_op[row_];
    } else if (table_ == SliceTable::kHostOps) {
      op = row_;
    } else if (table_ == SliceTable::kRuntimeCalls) {
      op = trace_.runtime_calls.host_op[row_];
    }
    if (op != kNoRow && trace_.host_ops.call_stack[op] != StringId::kEmpty) {
      frames.push_back(Text(trace_.host_ops.call_stack[op]));
    }
    for (; op != kNoRow && frames.size() < kMostFrames; op = trace_.host_ops.parent[op]) {
      frames.push_back(Text(trace_.host_ops.name[op]));
    }
    if (table_ == SliceTable::kPythonCalls) {
      for (RowId call = trace_.python_calls.parent[row_];
           call != kNoRow && frames.size() < kMostFrames; call = trace_.python_calls.parent[call]) {
        frames.push_back(Text(trace_.python_calls.name[call]));
      }
    }
    std::ranges::reverse(frames);
    return frames;
  }

  const ViewedRun& run_;
  RankPlace rank_;
  const trace::Trace& trace_;
  SliceTable table_;
  SliceColumns columns_;
  RowId row_;
  Facts facts_;
};

}  // namespace

Result<SliceDetails> DescribeSlice(const View& view, const SliceRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  ORRERY_TRY(const RankPlace rank, RankAt(*run, request.rank));
  ORRERY_TRY(const SliceTrack* const track, TrackAt(*run, rank, request.track));
  const SliceColumns columns = ColumnsOf(run->set().ranks[rank.trace], track->table);
  ORRERY_TRY_STATUS(
      CheckLimits("row", request.row, 0, static_cast<std::int64_t>(columns.begin_ns.size()) - 1));
  return SliceDescription(*run, rank, *track, static_cast<RowId>(request.row)).Take();
}

}  // namespace orrery::api::view
