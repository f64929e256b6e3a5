#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/step_time.h"
#include "orrery/base/value.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"

namespace orrery::report {
namespace {

// Devices without communication count as time, but have no share that is hidden.
std::optional<double> HiddenShare(const CommunicationTime& device) {
  return device.time_ns > 0 ? std::optional(device.hidden_ns / device.time_ns) : std::nullopt;
}

/// Means over devices, as `exposed_comm_time` and `comm_comp_overlap` have them.
struct MeanCommunication {
  double time_ns = 0;
  double hidden_ns = 0;
  double hidden_share = 0;
  const CommunicationTime* least = nullptr;  // hidden
  const CommunicationTime* most = nullptr;
};

MeanCommunication MeanOf(const std::vector<CommunicationTime>& devices) {
  MeanCommunication mean;
  double num_shares = 0;
  for (const CommunicationTime& device : devices) {
    mean.time_ns += device.time_ns / static_cast<double>(devices.size());
    mean.hidden_ns += device.hidden_ns / static_cast<double>(devices.size());
    if (const auto share = HiddenShare(device)) {
      mean.hidden_share += *share;
      ++num_shares;
      mean.least = mean.least == nullptr || share < HiddenShare(*mean.least) ? &device : mean.least;
      mean.most = mean.most == nullptr || share > HiddenShare(*mean.most) ? &device : mean.most;
    }
  }
  mean.hidden_share /= std::max(1.0, num_shares);
  return mean;
}

Value CommunicationData(const RunReport& report) {
  const auto times = [](double time_ns, double hidden_ns, std::optional<double> hidden_share) {
    return Value::Object()
        .Set("time_ns", time_ns)
        .Set("hidden_ns", hidden_ns)
        .Set("exposed_ns", time_ns - hidden_ns)
        .Set("hidden_percent", hidden_share ? Value(100 * *hidden_share) : Value());
  };
  const MeanCommunication mean = MeanOf(report.communication);
  Value data = times(mean.time_ns, mean.hidden_ns, mean.hidden_share);
  data.Set("exposed_definition", analyze::kExposedCommunication);
  data.Set("per_device", Value::ListOf(report.communication, [&](const CommunicationTime& device) {
             return times(device.time_ns, device.hidden_ns, HiddenShare(device))
                 .Set("device", device.label);
           }));
  return data;
}

Value KernelData(const KernelRow& row) {
  Value data = Value::Object();
  data.Set("name", row.name)
      .Set("short_name", row.short_name)
      .Set("class", row.kernel_class)
      .Set("calls", row.calls)
      .Set("time_ns", row.time_ns)
      .Set("percent", 100 * row.share)
      .Set("wait_percent", row.wait_ns == 0 ? Value()
                                            : Value(100 * static_cast<double>(row.wait_ns) /
                                                    static_cast<double>(row.total_ns)))
      .Set("known_percent", 100 * row.known_share)
      .Set("flops_per_s", row.flops_per_second)
      .Set("bytes_per_s", row.bytes_per_second)
      .Set("roof_percent", row.roof_share ? Value(100 * *row.roof_share) : Value())
      .Set("bottleneck", row.roof_share ? Value(BoundName(row)) : Value());
  return data;
}

}  // namespace

// "Communication: 417 ms per step; 12.0 % of it hidden by compute, 367 ms exposed (mean over
// ranks)."
std::string OverlapText(const RunReport& report) {
  const MeanCommunication mean = MeanOf(report.communication);
  const auto time_text = [](double ns) { return draw::FormatDuration({std::llround(ns)}); };
  const auto percent_of = [](const CommunicationTime& device) {
    return fmt::format("{:.1f} %", 100 * *HiddenShare(device));
  };
  std::string text = fmt::format(
      "Communication: {}{}; {:.1f} % of it hidden by compute, {} exposed{}.",
      time_text(mean.time_ns), report.has_steps ? " per step" : "", 100 * mean.hidden_share,
      time_text(ExposedNs(report)), report.communication.size() < 2 ? "" : " (mean over ranks)");
  if (percent_of(*mean.least) != percent_of(*mean.most)) {
    text += fmt::format("\nHidden: from {} on {} to {} on {}.", percent_of(*mean.least),
                        mean.least->label, percent_of(*mean.most), mean.most->label);
  }
  return text;
}

double ExposedNs(const RunReport& report) {
  const MeanCommunication mean = MeanOf(report.communication);
  return mean.time_ns - mean.hidden_ns;
}

void SetReportFields(const RunReport& report, Value& data) {
  data.Set("time", report.time ? Value::Object()
                                     .Set("name", report.time->name)
                                     .Set("seconds", report.time->seconds)
                                     .Set("definition", report.time->definition)
                               : Value());
  data.Set("findings", Value::ListOf(report.findings, [](const Document::Finding& finding) {
             return Value::Object()
                 .Set("text", finding.text)
                 .Set("more", finding.more)
                 .Set("share", finding.share);
           }));
  data.Set("communication", report.communication.empty() ? Value() : CommunicationData(report));
  data.Set("kernels", Value::ListOf(report.kernels, KernelData));
}

}  // namespace orrery::report
