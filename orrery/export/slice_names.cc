#include "orrery/export/slice_names.h"

#include <fmt/format.h>

#include "orrery/base/check.h"

namespace orrery::exporting {
namespace {

using trace::Trace;

// Work and calls of other vendors have no category of their own in Kineto; these are read back as
// "other" again.
std::string_view ActivityCategory(trace::ActivityKind kind) {
  switch (kind) {
    case trace::ActivityKind::kMemcpy:
      return "gpu_memcpy";
    case trace::ActivityKind::kMemset:
      return "gpu_memset";
    case trace::ActivityKind::kOther:
      return "hpu_op";
    case trace::ActivityKind::kKernel:
      break;
  }
  return "kernel";
}

std::string_view ApiCategory(trace::ApiKind api) {
  switch (api) {
    case trace::ApiKind::kDriver:
      return "cuda_driver";
    case trace::ApiKind::kOther:
      return "privateuse1_runtime";
    case trace::ApiKind::kRuntime:
      break;
  }
  return "cuda_runtime";
}

std::string_view AnnotationCategory(trace::AnnotationKind kind) {
  return kind == trace::AnnotationKind::kHost ? "user_annotation" : "gpu_user_annotation";
}

std::string_view SyncCategory(trace::SyncKind kind) {
  return kind == trace::SyncKind::kEventRecord ? "cuda_event" : "cuda_sync";
}

}  // namespace

std::int64_t RankNumber(const Trace& trace, std::size_t rank_index) {
  return trace.info.rank >= 0 ? trace.info.rank : static_cast<std::int64_t>(rank_index);
}

std::string TrackTitle(const Trace& trace, RowId drawn_track) {
  const DrawnTracks tracks(trace);
  if (drawn_track >= tracks.none) {
    return drawn_track == tracks.steps ? "steps" : "no track";
  }
  if (trace.tracks.name[drawn_track] != StringId::kEmpty) {
    return std::string(trace.Text(trace.tracks.name[drawn_track]));
  }
  const bool on_device = trace.tracks.kind[drawn_track] == trace::TrackKind::kDevice;
  return fmt::format("{} {}", on_device ? "stream" : "thread", trace.tracks.thread[drawn_track]);
}

std::string LaneTitle(std::string_view track_title, Lane lane) {
  return lane == 0 ? std::string(track_title) : fmt::format("{} ({})", track_title, lane + 1);
}

std::string MemoryCounterName(const Trace& trace, RowId memory_event) {
  const trace::DeviceKind kind = trace.memory_events.device_kind[memory_event];
  if (kind == trace::DeviceKind::kCpu) {
    return "orrery memory of CPU";
  }
  return fmt::format("orrery memory of {} {}", kind == trace::DeviceKind::kGpu ? "GPU" : "device",
                     trace.memory_events.device[memory_event]);
}

SliceNames::SliceNames(const Trace& trace)
    : trace_(trace), carrier_(trace.strings.Find("record_param_comms")) {}

StringId SliceNames::Name(const PlacedSlice& slice) const {
  switch (slice.kind) {
    case SliceKind::kStep:
      return trace_.steps.name[slice.row];
    case SliceKind::kOther:
      return trace_.other_slices.name[slice.row];
    case SliceKind::kAnnotation:
      return trace_.annotations.name[slice.row];
    case SliceKind::kPythonCall:
      return trace_.python_calls.name[slice.row];
    case SliceKind::kHostOp:
      return trace_.host_ops.name[slice.row];
    case SliceKind::kRuntimeCall:
      return trace_.runtime_calls.name[slice.row];
    case SliceKind::kActivity:
      return trace_.activities.name[slice.row];
    case SliceKind::kSync:
      return trace_.syncs.name[slice.row];
    case SliceKind::kWait:
      break;
  }
  CheckFailed("slice.kind != kWait", "waits have no name in the trace");
}

std::string_view SliceNames::Category(const PlacedSlice& slice) const {
  switch (slice.kind) {
    case SliceKind::kStep:
      return "orrery_step";
    case SliceKind::kOther:
      return trace_.Text(trace_.other_slices.category[slice.row]);
    case SliceKind::kAnnotation:
      return AnnotationCategory(trace_.annotations.kind[slice.row]);
    case SliceKind::kPythonCall:
      return "python_function";
    case SliceKind::kHostOp:
      return "cpu_op";
    case SliceKind::kRuntimeCall:
      return ApiCategory(trace_.runtime_calls.api[slice.row]);
    case SliceKind::kActivity:
      return ActivityCategory(trace_.activities.kind[slice.row]);
    case SliceKind::kSync:
      return SyncCategory(trace_.syncs.kind[slice.row]);
    case SliceKind::kWait:
      return "orrery_wait";
  }
  return {};
}

}  // namespace orrery::exporting
