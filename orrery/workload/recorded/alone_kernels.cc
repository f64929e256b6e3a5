#include "orrery/workload/recorded/alone_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {
namespace {

using trace::Trace;

constexpr std::int64_t kWholeGpu = 1'000'000;  // shares are millionths

std::int64_t MultiprocessorsOf(const Trace& recording) {
  for (const std::int32_t count : recording.devices.multiprocessors) {
    if (count > 0) {
      return count;
    }
  }
  const hardware::Gpu* const gpu = hardware::FindGpu(trace::DeviceName(recording));
  return gpu == nullptr ? 0 : gpu->multiprocessors;
}

std::uint32_t ShareOf(const Trace& recording, RowId row, std::int64_t multiprocessors) {
  const trace::Activities& activities = recording.activities;
  if (activities.kind[row] != trace::ActivityKind::kKernel ||
      activities.collective[row] != kNoRow) {
    return 0;
  }
  const RowId shape = activities.shape[row];
  const trace::LaunchShapes& shapes = recording.launch_shapes;
  if (shape == kNoRow || shapes.grid_x[shape] <= 0 || multiprocessors <= 0) {
    return kWholeGpu;
  }
  const std::int64_t blocks = std::int64_t{shapes.grid_x[shape]} *
                              std::max(1, shapes.grid_y[shape]) * std::max(1, shapes.grid_z[shape]);
  return static_cast<std::uint32_t>(kWholeGpu * std::min(blocks, multiprocessors) /
                                    multiprocessors);
}

/// A kernel from when its stream is done with the one before.
struct Running {
  RowId row = kNoRow;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

std::vector<Running> RunningKernels(const Trace& recording,
                                    const std::vector<std::uint32_t>& shares) {
  std::vector<Running> kernels;
  for (RowId row = 0; row < shares.size(); ++row) {
    if (shares[row] > 0) {
      const std::int64_t begin_ns = recording.activities.begin_ns[row];
      kernels.push_back({row, begin_ns, begin_ns + recording.activities.duration_ns[row]});
    }
  }
  std::ranges::stable_sort(kernels, {}, &Running::begin_ns);
  std::map<RowId, std::int64_t> end_of_stream;
  for (Running& kernel : kernels) {
    const auto [end_ns, is_first] =
        end_of_stream.try_emplace(recording.activities.track[kernel.row], kernel.begin_ns);
    kernel.begin_ns = std::clamp(end_ns->second, kernel.begin_ns, kernel.end_ns);
    end_ns->second = std::max(end_ns->second, kernel.end_ns);
  }
  return kernels;
}

/// The progress of a kernel that always runs, by time: if more is wanted than there is, all kernels
/// progress at the same rate.
std::map<std::int64_t, double> Progress(const std::vector<Running>& kernels,
                                        const std::vector<std::uint32_t>& shares) {
  std::map<std::int64_t, std::int64_t> changes;  // of what is wanted
  for (const Running& kernel : kernels) {
    changes[kernel.begin_ns] += shares[kernel.row];
    changes[kernel.end_ns] -= shares[kernel.row];
  }
  std::map<std::int64_t, double> progress;
  std::int64_t wanted = 0;
  std::int64_t at_ns = 0;
  double sum_ns = 0;
  for (const auto& [time_ns, change] : changes) {
    const double rate =
        wanted <= kWholeGpu ? 1.0 : static_cast<double>(kWholeGpu) / static_cast<double>(wanted);
    sum_ns += rate * static_cast<double>(progress.empty() ? 0 : time_ns - at_ns);
    progress.emplace_hint(progress.end(), time_ns, sum_ns);
    wanted += change;
    at_ns = time_ns;
  }
  return progress;
}

}  // namespace

AloneKernels AloneKernelsOf(const Trace& recording) {
  AloneKernels alone{.duration_ns = recording.activities.duration_ns};
  const std::int64_t multiprocessors = MultiprocessorsOf(recording);
  std::map<std::int32_t, std::vector<Running>> of_device;
  std::set<RowId> streams;
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    alone.sm_share.push_back(ShareOf(recording, row, multiprocessors));
    if (alone.sm_share.back() > 0) {
      streams.insert(recording.activities.track[row]);
    }
  }
  alone.have_several_streams = streams.size() > 1;
  if (!alone.have_several_streams) {
    return alone;
  }
  for (const Running& kernel : RunningKernels(recording, alone.sm_share)) {
    const RowId track = recording.activities.track[kernel.row];
    of_device[track == kNoRow ? -1 : recording.tracks.device[track]].push_back(kernel);
  }
  for (const auto& [device, kernels] : of_device) {
    const std::map<std::int64_t, double> progress = Progress(kernels, alone.sm_share);
    for (const Running& kernel : kernels) {
      const double lost_ns = static_cast<double>(kernel.end_ns - kernel.begin_ns) -
                             (progress.at(kernel.end_ns) - progress.at(kernel.begin_ns));
      alone.duration_ns[kernel.row] -= std::llround(lost_ns);
    }
  }
  return alone;
}

}  // namespace orrery::workload
