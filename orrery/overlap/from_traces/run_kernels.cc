#include "orrery/overlap/from_traces/run_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "orrery/trace/collective_names.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::overlap::from_traces {
namespace {

/// The launch of an activity; zeros if not recorded.
struct Launch {
  std::array<std::int64_t, 3> grid = {};
  std::array<std::int64_t, 3> block = {};
  LaunchShape shape = {};
};

std::int64_t KnownProduct(const std::array<std::int64_t, 3>& numbers) {
  std::int64_t product = 1;
  for (const std::int64_t number : numbers) {
    product *= std::clamp<std::int64_t>(number, 0, 1 << 20);
  }
  return product;
}

Launch LaunchOf(const trace::Trace& trace, RowId activity) {
  const RowId row = trace.activities.shape[activity];
  if (row == kNoRow) {
    return {};
  }
  const trace::LaunchShapes& shapes = trace.launch_shapes;
  Launch launch;
  launch.grid = {shapes.grid_x[row], shapes.grid_y[row], shapes.grid_z[row]};
  launch.block = {shapes.block_x[row], shapes.block_y[row], shapes.block_z[row]};
  launch.shape = {
      .blocks = KnownProduct(launch.grid),
      .threads = static_cast<int>(std::min<std::int64_t>(KnownProduct(launch.block), 1 << 20)),
      .registers = std::max(shapes.registers_per_thread[row], 0),
      .shared_bytes =
          static_cast<int>(std::clamp<std::int64_t>(shapes.shared_memory_bytes[row], 0, 1 << 30))};
  return launch;
}

struct Lane {
  std::int32_t device = 0;
  std::int64_t stream = 0;
};

Lane LaneOf(const trace::Trace& trace, RowId activity) {
  const RowId track = trace.activities.track[activity];
  if (track == kNoRow) {
    return {};
  }
  return {std::max(trace.tracks.device[track], 0), trace.tracks.thread[track]};
}

/// "RING" and "LL" of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage…)": words
/// between underscores before the parameters.
std::string WordOf(std::string_view name, std::initializer_list<std::string_view> words) {
  name = name.substr(0, name.find('('));
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const std::string_view word = name.substr(0, end);
    if (std::ranges::find(words, word) != words.end()) {
      return std::string(word);
    }
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return {};
}

void AddCollective(const trace::Trace& trace, RowId collective, RunCommunication& communication) {
  if (collective == kNoRow) {
    return;
  }
  const trace::Collectives& calls = trace.collectives;
  if (calls.kind[collective] != trace::CollectiveKind::kUnknown) {
    communication.collective = trace::CollectiveKindName(calls.kind[collective]);
  }
  communication.bytes = std::max(calls.in_bytes[collective], calls.out_bytes[collective]);
  if (const RowId group = calls.group[collective]; group != kNoRow) {
    communication.ranks = trace.process_groups.num_ranks[group];
  }
}

RunCommunication CommunicationOf(const trace::Trace& trace, RowId activity) {
  const Launch launch = LaunchOf(trace, activity);
  const std::string_view name = trace.Text(trace.activities.name[activity]);
  RunCommunication communication{
      .name = std::string(name),
      .collective = {},
      .algorithm = WordOf(name, {"RING", "TREE", "NVLS", "COLLNET", "PAT"}),
      .protocol = WordOf(name, {"LL", "LL128", "SIMPLE"}),
      .channels = launch.shape.blocks,
      .threads = launch.shape.threads,
      .device = LaneOf(trace, activity).device,
      .begin_ns = trace.activities.begin_ns[activity],
      .duration_ns = trace.activities.duration_ns[activity]};
  const auto told = trace::ClassifyCommunicationKernel(name);
  if (told && told->kind != trace::CollectiveKind::kUnknown) {
    communication.collective = trace::CollectiveKindName(told->kind);
  }
  AddCollective(trace, trace.activities.collective[activity], communication);
  return communication;
}

/// Tools write anonymous namespaces differently; their parentheses are not parameters.
std::string WithoutAnonymous(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string rest(name);
  for (std::size_t at = rest.find(kAnonymous); at != std::string::npos;
       at = rest.find(kAnonymous)) {
    rest.erase(at, kAnonymous.size());
  }
  return rest;
}

RunKernel KernelOf(const trace::Trace& trace, RowId activity) {
  const Launch launch = LaunchOf(trace, activity);
  const Lane lane = LaneOf(trace, activity);
  return {.name = std::string(trace.Text(trace.activities.name[activity])),
          .grid = launch.grid,
          .block = launch.block,
          .shape = launch.shape,
          .device = lane.device,
          .stream = lane.stream,
          .begin_ns = trace.activities.begin_ns[activity],
          .duration_ns = trace.activities.duration_ns[activity]};
}

}  // namespace

RunKernels KernelsOf(const trace::Trace& trace) {
  const std::vector<trace::KernelClass> classes = trace::ClassifyActivities(trace);
  RunKernels run;
  for (RowId activity = 0; activity < trace.activities.size(); ++activity) {
    if (trace.activities.kind[activity] != trace::ActivityKind::kKernel ||
        trace.activities.duration_ns[activity] <= 0) {
      continue;
    }
    if (classes[activity] == trace::KernelClass::kCommunication) {
      run.communications.push_back(CommunicationOf(trace, activity));
    } else {
      run.kernels.push_back(KernelOf(trace, activity));
    }
  }
  return run;
}

RunKernels KernelsOf(const CountedKernels& counted) {
  RunKernels run;
  std::int64_t begin_ns = 0;
  for (const CountedKernel& kernel : counted.kernels) {
    if (!(kernel.duration_us > 0) || kernel.duration_us > 1e12 ||
        trace::ClassifyCommunicationKernel(kernel.name)) {
      continue;
    }
    const std::int64_t duration_ns =
        std::max<std::int64_t>(std::llround(kernel.duration_us * 1e3), 1);
    run.kernels.push_back({.name = kernel.name,
                           .grid = kernel.grid,
                           .block = kernel.block,
                           .shape = kernel.shape,
                           .begin_ns = begin_ns,
                           .duration_ns = duration_ns});
    begin_ns += duration_ns;
  }
  return run;
}

std::string FunctionName(std::string_view kernel) {
  const std::string name = WithoutAnonymous(kernel);
  std::string flat;  // without angle brackets and their contents
  int depth = 0;
  for (const char c : name) {
    depth += c == '<' ? 1 : 0;
    if (depth == 0) {
      if (c == '(') {
        break;
      }
      flat += c;
    }
    depth -= c == '>' && depth > 0 ? 1 : 0;
  }
  flat.erase(flat.find_last_not_of(' ') + 1);
  const std::size_t begin = flat.find_last_of(" :");
  const std::string function = begin == std::string::npos ? flat : flat.substr(begin + 1);
  return function.empty() ? std::string(kernel) : function;
}

}  // namespace orrery::overlap::from_traces
