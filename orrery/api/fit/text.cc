#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit_overlap.h"
#include "orrery/base/document/value.h"
#include "orrery/base/text/visible_text.h"

namespace orrery::api {
namespace {

constexpr std::size_t kNamedOutliers = 20;

std::string ConstantsText(const FittedMachine& machine) {
  std::string text;
  for (const auto& [name, value] : machine.constants) {
    text += fmt::format("  {:<24}{:.4g}\n", name, value);
  }
  for (const FitBound& bound : machine.at_bounds) {
    text += fmt::format(
        "  {}: the rows drive it to a bound ({:g} to {:g}), so it keeps its prior, {:.4g}\n",
        bound.constant, bound.least, bound.most, bound.value);
  }
  return text;
}

std::string OutlierText(const FittedMachine& machine) {
  std::string text;
  for (std::size_t i = 0; i < std::min(machine.outliers.size(), kNamedOutliers); ++i) {
    const FitOutlier& outlier = machine.outliers[i];
    const std::string line = outlier.line == 0 ? "" : fmt::format(":{}", outlier.line);
    text += fmt::format("  {}{}: {} of {} bytes on {} GPUs: {:.1f} us, the fit says {:.1f}\n",
                        outlier.file, line, outlier.collective, outlier.bytes, outlier.gpus,
                        outlier.measured_s * 1e6, outlier.fitted_s * 1e6);
  }
  if (machine.outliers.size() > kNamedOutliers) {
    text += fmt::format("  … and {} more\n", machine.outliers.size() - kNamedOutliers);
  }
  return text;
}

std::string MachineText(const FittedMachine& machine) {
  const std::string assumed = machine.settings.empty() ? "" : "; " + machine.settings + " assumed";
  std::string text =
      fmt::format("{} by {} ({}): {} rows, up to {} GPUs; tuner of NCCL {}, {}{}\n",
                  machine.machine, machine.source, machine.setup, machine.rows, machine.most_gpus,
                  machine.nccl_version, machine.version_told ? "told" : "fits best", assumed);
  if (machine.machines_of_class > 1) {
    text += fmt::format("  constants shared with {} other machines of its class\n",
                        machine.machines_of_class - 1);
  }
  text += ConstantsText(machine);
  text += fmt::format("  error in sample         MAPE {:.1f} %, median {:.1f} %", machine.mape,
                      machine.median);
  if (machine.large_mape) {
    text += fmt::format("; from 4 MB: MAPE {:.1f} %", *machine.large_mape);
  }
  text += fmt::format("\n  off by more than 30 %   {} of {} rows\n", machine.outliers.size(),
                      machine.rows);
  return text + OutlierText(machine) + "\n";
}

std::string FrameworkText(const FittedFramework& framework) {
  std::string text = fmt::format(
      "{}: {} rows, mean error {:.1f} % with the population's mean, {:.1f} % with the fit\n",
      framework.name, framework.rows, 100 * framework.error_before, 100 * framework.error_after);
  for (const auto& [name, value] : framework.scalars) {
    text += fmt::format("  {:<22}{:.4g}\n", name, value);
  }
  return text;
}

std::string StallText(const FitJitterResult& result) {
  if (!result.median_stall_s) {
    return "stalls: none";
  }
  constexpr double kSecondsOfHour = 3600;
  return fmt::format(
      "stalls: one in {:.2g} GPU-hours, median {:.2g} s, one in a hundred above {:.2g} s, none "
      "above {:.2g} s",
      1 / (kSecondsOfHour * result.stalls_per_gpu_s), *result.median_stall_s, *result.p99_stall_s,
      *result.longest_stall_s);
}

// The document of a result whose text is all that there is to show; the first line is its title.
template <typename FitResult>
Document TextDocument(const FitResult& result) {
  const std::string text = FitText(result);
  std::string_view lines = text;
  Document document{.kind = "Orrery fit", .data = ToObject(result)};
  Document::Section& section = document.AddSection();
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::string line(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (document.title.empty()) {
      document.title = std::move(line);
    } else if (!line.empty()) {
      section.Say(std::move(line));
    }
  }
  return document;
}

}  // namespace

std::string FitText(const FitKernelsResult& result) {
  return fmt::format("{}: {} models from {} rows, {:.0f} kB\n", result.output, result.models,
                     result.rows, result.bytes / 1000);
}

std::string FitText(const FitSiblingsResult& result) {
  return fmt::format("{}: levels of {} operators from {} rows\n", result.output, result.operators,
                     result.rows);
}

std::string FitText(const FitCollectivesResult& result) {
  std::string text;
  for (const FittedMachine& machine : result.machines) {
    text += VisibleText(MachineText(machine));
  }
  return text + fmt::format("{}: {} machines\n", result.output, result.machines.size());
}

std::string FitText(const FitOverlapResult& result) {
  return fmt::format(
      "{}: from {} pairs, {:.0f} kB; kernels held out: MAPE {:.2f} %, {:.1f} % within 10 %\n",
      result.output, result.pairs, result.bytes / 1000, result.mape, result.within_10);
}

std::string FitText(const FitHostResult& result) {
  return fmt::format(
      "{}: {} entries from {} recording{}, {:.2f} µs of the profiler off each event in the "
      "median\n",
      result.output, result.entries, result.recordings, result.recordings == 1 ? "" : "s",
      result.profiler_cost_us);
}

std::string FitText(const FitJitterResult& result) {
  return fmt::format(
      "{} records; not used: {} at the beginning of runs, {} at their end, {} of runs or windows "
      "with too few\n"
      "{} systems of {} submitters, {} to {} GPUs ({})\n"
      "body: one step varies by {:.2g} % (sigma), the mean of 32 by {:.2g} %; systems differ by a "
      "factor of {:.1f} (one deviation)\n"
      "{}\n",
      result.records, result.in_warm_up, result.at_the_end, result.in_small_groups, result.systems,
      result.submitters, result.least_gpus, result.most_gpus, fmt::join(result.gpus, ", "),
      100 * result.step_sigma, 100 * result.sigma_of_32_steps, std::exp(result.sigma_deviation),
      StallText(result));
}

std::string FitText(const FitFrameworksResult& result) {
  std::string text;
  for (const FittedFramework& framework : result.frameworks) {
    text += FrameworkText(framework);
  }
  return text;
}

Document MakeDocument(const FitKernelsResult& result) {
  return TextDocument(result);
}

Document MakeDocument(const FitSiblingsResult& result) {
  return TextDocument(result);
}

Document MakeDocument(const FitCollectivesResult& result) {
  return TextDocument(result);
}

Document MakeDocument(const FitOverlapResult& result) {
  return TextDocument(result);
}

Document MakeDocument(const FitHostResult& result) {
  return TextDocument(result);
}

Document MakeDocument(const FitJitterResult& result) {
  return TextDocument(result);
}

Document MakeDocument(const FitFrameworksResult& result) {
  return TextDocument(result);
}

}  // namespace orrery::api
