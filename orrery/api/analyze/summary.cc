#include "orrery/api/analyze/summary.h"

#include <optional>
#include <string>
#include <vector>

#include "orrery/analyze/step_time.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"

namespace orrery::api {
namespace {

std::optional<double> PercentOf(std::optional<double> share) {
  return share ? std::optional(100 * *share) : std::nullopt;
}

AnalyzedCommunication CommunicationOf(const std::vector<report::CommunicationTime>& devices) {
  const report::MeanCommunication mean = report::MeanOf(devices);
  AnalyzedCommunication communication{
      .time_ns = mean.time_ns,
      .hidden_ns = mean.hidden_ns,
      .exposed_ns = mean.time_ns - mean.hidden_ns,
      .hidden_percent = 100 * mean.hidden_share,
      .exposed_definition = std::string(analyze::kExposedCommunication)};
  for (const report::CommunicationTime& device : devices) {
    communication.per_device.push_back({.time_ns = device.time_ns,
                                        .hidden_ns = device.hidden_ns,
                                        .exposed_ns = device.time_ns - device.hidden_ns,
                                        .hidden_percent = PercentOf(report::HiddenShare(device)),
                                        .device = device.label});
  }
  return communication;
}

AnalyzedKernel KernelOf(const report::KernelRow& row) {
  AnalyzedKernel kernel{.name = row.name,
                        .short_name = row.short_name,
                        .kernel_class = row.kernel_class,
                        .calls = row.calls,
                        .time_ns = row.time_ns,
                        .percent = 100 * row.share,
                        .known_percent = 100 * row.known_share,
                        .flops_per_s = row.flops_per_second,
                        .bytes_per_s = row.bytes_per_second,
                        .roof_percent = PercentOf(row.roof_share)};
  if (row.wait_ns != 0) {
    kernel.wait_percent =
        100 * static_cast<double>(row.wait_ns) / static_cast<double>(row.total_ns);
  }
  if (row.roof_share) {
    kernel.bottleneck = report::BoundName(row);
  }
  return kernel;
}

}  // namespace

Keyed<AnalyzedMetric> MetricsOf(const std::vector<report::MetricRow>& rows) {
  Keyed<AnalyzedMetric> metrics;
  for (const report::MetricRow& row : rows) {
    metrics.emplace_back(
        row.name, AnalyzedMetric{.value = row.value,
                                 .unit = row.unit,
                                 .status = row.value ? "ok" : "n/a",
                                 .reason = row.value ? std::nullopt : std::optional(row.reason),
                                 .detail = row.detail,
                                 .meaning = row.meaning});
  }
  return metrics;
}

void AddSummary(const report::RunReport& report, AnalyzeResult& result) {
  result.has_summary = true;
  if (report.time) {
    result.time = {.name = std::string(report.time->name),
                   .seconds = report.time->seconds,
                   .definition = std::string(report.time->definition)};
  }
  for (const report::Document::Finding& finding : report.findings) {
    result.findings.push_back({.text = finding.text, .more = finding.more, .share = finding.share});
  }
  if (!report.communication.empty()) {
    result.communication = CommunicationOf(report.communication);
  }
  for (const report::KernelRow& row : report.kernels) {
    result.kernels.push_back(KernelOf(row));
  }
}

}  // namespace orrery::api
