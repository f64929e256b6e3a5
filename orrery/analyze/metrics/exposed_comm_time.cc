#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::exposed_comm_time {
namespace {

void Add(Exposure& into, const Exposure& from) {
  into.busy_ns += from.busy_ns;
  into.hidden_ns += from.hidden_ns;
  into.exclusive_ns += from.exclusive_ns;
  into.shared_ns += from.shared_ns;
  into.shared_wait_ns += from.shared_wait_ns;
  into.shared_transfer_ns += from.shared_transfer_ns;
}

// Per device and step, in µs.
Value RowOf(std::string_view key, const std::string& name, const Exposure& exposure, double scale) {
  return Value::Object()
      .Set(key, name)
      .Set("exposed_us", exposure.shared_ns * scale)
      .Set("waiting_us", exposure.shared_wait_ns * scale)
      .Set("transfer_us", exposure.shared_transfer_ns * scale)
      .Set("exclusive_us", static_cast<double>(exposure.exclusive_ns) * scale)
      .Set("overlap_percent",
           exposure.busy_ns == 0 ? Value() : Value(*Percent(exposure.hidden_ns, exposure.busy_ns)));
}

std::string GroupName(const RunView& run, std::size_t group) {
  if (group == run.matched.groups.size()) {
    return "unmatched";
  }
  const std::string& key = run.matched.groups[group].key;
  return key.empty() ? "(not named)" : key;
}

MetricResult Compute(const RunView& run) {
  MetricResult result = MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Seconds(device.total.exposed_communication_ns) / static_cast<double>(NumSteps(device));
  });
  const std::size_t num_groups = run.matched.groups.size() + 1;
  std::vector<Exposure> by_dimension(kNumDimensions);
  std::vector<Exposure> by_group(num_groups);
  for (const DeviceView& device : run.devices) {
    const std::vector<CommunicationPart> parts = CommunicationParts(run, device);
    std::vector<std::size_t> dimensions;
    std::vector<std::size_t> groups;
    for (const CommunicationPart& part : parts) {
      dimensions.push_back(static_cast<std::size_t>(part.dimension));
      groups.push_back(std::min<std::size_t>(part.group, num_groups - 1));
    }
    const auto of_dimensions = SplitExposure(device.compute, parts, dimensions, kNumDimensions);
    const auto of_groups = SplitExposure(device.compute, parts, groups, num_groups);
    for (std::size_t i = 0; i < by_dimension.size(); ++i) {
      Add(by_dimension[i], of_dimensions[i]);
    }
    for (std::size_t i = 0; i < by_group.size(); ++i) {
      Add(by_group[i], of_groups[i]);
    }
  }
  const double scale =
      1e-3 / static_cast<double>(run.devices.size()) / static_cast<double>(NumSteps(run));
  Value dimension_rows = Value::List();
  for (std::size_t i = 0; i < by_dimension.size(); ++i) {
    if (by_dimension[i].busy_ns > 0) {
      dimension_rows.Add(RowOf("dimension", std::string(DimensionName(static_cast<Dimension>(i))),
                               by_dimension[i], scale));
    }
  }
  Value group_rows = Value::List();
  for (std::size_t i = 0; i < by_group.size(); ++i) {
    if (by_group[i].busy_ns > 0) {
      group_rows.Add(RowOf("group", GroupName(run, i), by_group[i], scale));
    }
  }
  result.detail.Set("per_dimension", std::move(dimension_rows));
  result.detail.Set("per_group", std::move(group_rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "exposed_comm_time",
           .meaning = "Time per step in which communication runs and no compute hides it",
           .unit = "s",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "Union of communication kernels without that of compute kernels, per step; "
               "detail per dimension and group, waiting and transfer apart",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::exposed_comm_time
