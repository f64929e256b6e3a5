#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/format.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

std::optional<double> HiddenShare(const CommunicationTime& device) {
  return device.time_ns > 0 ? std::optional(device.hidden_ns / device.time_ns) : std::nullopt;
}

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

}  // namespace orrery::report
