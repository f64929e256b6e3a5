#include "orrery/analyze/need.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/dimension.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/collective_events.h"
#include "orrery/trace/collective_names.h"

namespace orrery::analyze {
namespace {

using trace::CollectiveKind;
using trace::KernelClass;

bool HasDeviceTime(const RunView& run) {
  return std::ranges::any_of(run.devices,
                             [](const DeviceView& device) { return device.total.window_ns > 0; });
}

bool HasCommunication(const RunView& run) {
  return std::ranges::any_of(
      run.devices, [](const DeviceView& device) { return !device.communication.empty(); });
}

template <typename Test>
bool AnyCollective(const RunView& run, Test&& test) {
  return std::ranges::any_of(run.set->ranks, [&](const trace::Trace& trace) {
    for (RowId row = 0; row < trace.collectives.size(); ++row) {
      if (test(trace, row)) {
        return true;
      }
    }
    return false;
  });
}

bool HasKind(const RunView& run, CollectiveKind kind) {
  return AnyCollective(run, [&](const trace::Trace& trace, RowId row) {
    const CollectiveKind found = trace.collectives.kind[row];
    const bool is_pair = found == CollectiveKind::kSend || found == CollectiveKind::kRecv;
    return found == kind || (kind == CollectiveKind::kSendRecv && is_pair);
  });
}

bool HasSizes(const RunView& run) {
  return AnyCollective(run, [](const trace::Trace& trace, RowId row) {
    return trace::EventOfRow(trace, row).bytes >= 0;
  });
}

bool HasCounter(const RunView& run, std::string_view word) {
  return std::ranges::any_of(run.set->ranks, [&](const trace::Trace& trace) {
    return std::ranges::any_of(trace.counters.name, [&](StringId name) {
      return trace.Text(name).find(word) != std::string_view::npos;
    });
  });
}

bool HasTable(const RunView& run, std::string_view format) {
  return std::ranges::any_of(run.measurements, [&](const Measurement& measurement) {
    return measurement.format == format;
  });
}

bool HasWallClock(const RunView& run) {
  return std::ranges::any_of(run.set->ranks, [](const trace::Trace& trace) {
    return trace.info.time_origin == trace::TimeOrigin::kEpoch;
  });
}

bool HasMarkers(const RunView& run) {
  return std::ranges::any_of(run.set->ranks,
                             [](const trace::Trace& trace) { return !trace.steps.empty(); });
}

bool HasEngineSteps(const RunView& run) {
  return std::ranges::any_of(run.set->ranks, [](const trace::Trace& trace) {
    return std::ranges::any_of(trace.steps.name, [&](StringId name) {
      const std::string_view text = trace.Text(name);
      return text.starts_with("execute_") || text.ends_with("run_batch");
    });
  });
}

bool HasEvents(const RunView& run) {
  return std::ranges::any_of(run.set->ranks, [](const trace::Trace& trace) {
    return trace::RecordedSpan(trace).duration_ns() > 0;
  });
}

bool HasCopies(const RunView& run) {
  return std::ranges::any_of(run.set->ranks, [](const trace::Trace& trace) {
    for (std::size_t row = 0; row < trace.activities.size(); ++row) {
      if (trace.activities.kind[row] == trace::ActivityKind::kMemcpy &&
          trace.activities.bytes[row] > 0 && trace.activities.duration_ns[row] > 0) {
        return true;
      }
    }
    return false;
  });
}

bool HasGeometry(const RunView& run) {
  return std::ranges::any_of(run.set->ranks, [](const trace::Trace& trace) {
    return std::ranges::any_of(trace.devices.multiprocessors, [](int n) { return n > 0; }) &&
           std::ranges::any_of(trace.launch_shapes.grid_x, [](int n) { return n > 0; });
  });
}

bool HasPairs(const RunView& run) {
  const auto& kinds = run.matched.instances.kind;
  return std::ranges::any_of(kinds, [](CollectiveKind kind) {
    return kind == CollectiveKind::kSend || kind == CollectiveKind::kSendRecv;
  });
}

std::string WhyNotInference(const RunView& run) {
  const auto phase = CardText(*run.set, "phase");
  return phase ? fmt::format("the workload is {}, not inference", *phase)
               : "no engine steps, serving results or card that says inference";
}

bool IsInference(const RunView& run) {
  const auto phase = CardText(*run.set, "phase");
  return phase == "inference" || phase == "serving" || HasEngineSteps(run) ||
         HasTable(run, "serving benchmark");
}

std::optional<std::string> Unless(bool is_met, std::string reason) {
  return is_met ? std::nullopt : std::optional(std::move(reason));
}

}  // namespace

std::optional<std::string> WhyUnmet(const Need& need, const RunView& run) {
  switch (need.kind) {
    case NeedKind::kEvents:
      return Unless(HasEvents(run), "the run holds no timed events");
    case NeedKind::kGpu:
      return Unless(HasDeviceTime(run), kNoGpuReason);
    case NeedKind::kSteps:
      return Unless(HasMarkers(run), kNoStepsReason);
    case NeedKind::kComm:
      return Unless(HasCommunication(run), kNoCommunicationReason);
    case NeedKind::kCollective:
      return Unless(
          HasKind(run, need.collective),
          fmt::format("no {} in the selected steps", trace::CollectiveKindName(need.collective)));
    case NeedKind::kSizes:
      return Unless(HasSizes(run), kNoSizesReason);
    case NeedKind::kRanks:
      return Unless(run.set->ranks.size() >= 2,
                    fmt::format("needs 2 ranks or more, found {}", run.set->ranks.size()));
    case NeedKind::kMatched:
      return Unless(run.matched.size() > 0, kNoMatchReason);
    case NeedKind::kCard:
      return Unless(CardText(*run.set, need.card_field).has_value(),
                    WhyNoCardValue(*run.set, need.card_field));
    case NeedKind::kPipeline:
      return Unless(HasPipeline(run), "no pipeline parallelism (pp = 1)");
    case NeedKind::kPointToPoint:
      return Unless(HasPairs(run), "no matched send/receive");
    case NeedKind::kPhase:
      return Unless(IsInference(run), WhyNotInference(run));
    case NeedKind::kGeometry:
      return Unless(HasGeometry(run), kNoGeometryReason);
    case NeedKind::kCopies:
      return Unless(HasCopies(run), "no copies");
    case NeedKind::kSmCounters:
      return Unless(HasCounter(run, "SMs Active"),
                    "no SM activity counters; mean_sm_coverage estimates it from launch geometry");
    case NeedKind::kLinkCounters:
      return Unless(HasTable(run, "NVF1") || HasCounter(run, "NVLink"),
                    "no NVLink or PCIe counters (NVF1 file or nsys GPU metrics)");
    case NeedKind::kCommonClock:
      return Unless(!HasTable(run, "NVF1") || HasWallClock(run),
                    "the counter file and the trace share no clock");
  }
  return std::nullopt;
}

std::string NeedText(const Need& need) {
  switch (need.kind) {
    case NeedKind::kEvents:
      return "events";
    case NeedKind::kGpu:
      return "GPU activity";
    case NeedKind::kSteps:
      return "steps";
    case NeedKind::kComm:
      return "communication kernels";
    case NeedKind::kCollective:
      return std::string(trace::CollectiveKindName(need.collective));
    case NeedKind::kSizes:
      return "message sizes";
    case NeedKind::kRanks:
      return "2 ranks";
    case NeedKind::kMatched:
      return "matched collectives";
    case NeedKind::kCard:
      return fmt::format("card {}", need.card_field);
    case NeedKind::kPipeline:
      return "pipeline parallelism";
    case NeedKind::kPointToPoint:
      return "send/receive";
    case NeedKind::kPhase:
      return "inference";
    case NeedKind::kGeometry:
      return "launch geometry";
    case NeedKind::kCopies:
      return "copies";
    case NeedKind::kSmCounters:
      return "SM counters";
    case NeedKind::kLinkCounters:
      return "link counters";
    case NeedKind::kCommonClock:
      return "a common clock";
  }
  return "";
}

}  // namespace orrery::analyze
