#include "orrery/workload/recorded/repeated_layers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/text/decimal.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/input.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/repeated_periods.h"

namespace orrery::workload {
namespace {

using trace::Trace;

constexpr std::string_view kLayerPrefix = "layer#";
constexpr int kNoLayer = -1;

int LayerNamed(std::string_view name) {
  if (!name.starts_with(kLayerPrefix)) {
    return kNoLayer;
  }
  const std::optional<std::int64_t> number = ParseInteger(name.substr(kLayerPrefix.size()));
  return number && *number >= 0 ? static_cast<int>(*number) : kNoLayer;
}

/// A time at which a thread begins with a layer.
struct LayerBegin {
  std::int64_t begin_ns = 0;
  int layer = kNoLayer;
};

using BeginsOfTrack = std::map<RowId, std::vector<LayerBegin>>;  // in order of time

BeginsOfTrack ForwardBegins(const Trace& recording) {
  BeginsOfTrack begins;
  for (RowId row = 0; row < recording.annotations.size(); ++row) {
    const int layer = LayerNamed(recording.Text(recording.annotations.name[row]));
    if (layer != kNoLayer && recording.annotations.kind[row] == trace::AnnotationKind::kHost) {
      begins[recording.annotations.track[row]].push_back(
          {recording.annotations.begin_ns[row], layer});
    }
  }
  return begins;
}

/// The layer whose range is around each operator.
std::vector<int> LayersOfOperators(const Trace& recording) {
  std::vector<int> layer_of_range(recording.annotations.size(), kNoLayer);
  for (RowId row = 0; row < layer_of_range.size(); ++row) {
    const RowId parent = recording.annotations.parent[row];
    const int own = LayerNamed(recording.Text(recording.annotations.name[row]));
    layer_of_range[row] = own != kNoLayer || parent == kNoRow ? own : layer_of_range[parent];
  }
  std::vector<int> layers(recording.host_ops.size(), kNoLayer);
  for (RowId op = 0; op < layers.size(); ++op) {
    const RowId range = recording.host_ops.annotation[op];
    layers[op] = range == kNoRow ? kNoLayer : layer_of_range[range];
  }
  return layers;
}

/// When threads begin with the operators of a layer's backward pass: outermost calls whose
/// operators follow from the layer's. Calls without a known layer belong to the layer that was
/// begun.
BeginsOfTrack BackwardBegins(const Trace& recording) {
  const std::vector<int> layers = LayersOfOperators(recording);
  const trace::HostOps& ops = recording.host_ops;
  std::vector<RowId> outermost(ops.size());
  BeginsOfTrack begins;
  for (RowId op = 0; op < ops.size(); ++op) {
    outermost[op] = ops.parent[op] == kNoRow ? op : outermost[ops.parent[op]];
    const RowId forward = ops.forward_op[op];
    if (forward == kNoRow || layers[forward] == kNoLayer) {
      continue;
    }
    std::vector<LayerBegin>& of_track = begins[ops.track[op]];
    if (of_track.empty() || of_track.back().layer != layers[forward]) {
      of_track.push_back({ops.begin_ns[outermost[op]], layers[forward]});
    }
  }
  return begins;
}

/// The periods of one layer that the next one of its direction follows.
std::vector<HostPeriod> PeriodsOf(const BeginsOfTrack& begins, int layer, int direction) {
  std::vector<HostPeriod> periods;
  for (const auto& [track, of_track] : begins) {
    for (std::size_t i = 0; i + 1 < of_track.size(); ++i) {
      if (of_track[i].layer == layer && of_track[i + 1].layer == layer + direction) {
        const bool has_previous = i > 0 && of_track[i - 1].layer == layer - direction;
        periods.push_back({.track = track,
                           .begin_ns = of_track[i].begin_ns,
                           .end_ns = of_track[i + 1].begin_ns,
                           .previous_begin_ns = of_track[has_previous ? i - 1 : i].begin_ns});
      }
    }
  }
  return periods;
}

Result<std::vector<HostPeriod>> LayerPeriods(const Trace& recording, int traced) {
  // Inner layers, and such that the one done before is an inner one too where there are enough.
  const int forward_layer = std::min(traced / 2, traced - 2);
  const int backward_layer = std::max(1, (traced - 1) / 2);
  std::vector<HostPeriod> periods = PeriodsOf(ForwardBegins(recording), forward_layer, 1);
  const std::vector<HostPeriod> backward = PeriodsOf(BackwardBegins(recording), backward_layer, -1);
  if (periods.empty()) {
    return Refuse(
        "no range '{}{}' followed by the next layer's: layers cannot be repeated; `orrery trace` "
        "writes the ranges",
        kLayerPrefix, forward_layer);
  }
  if (backward.size() != periods.size()) {
    return Refuse(
        "{} passes forward through layer {} but {} backward through layer {}: layers cannot be "
        "repeated; trace whole steps, with sequence numbers",
        periods.size(), forward_layer, backward.size(), backward_layer);
  }
  periods.insert(periods.end(), backward.begin(), backward.end());
  return periods;
}

void ScaleOptimizer(double factor, Trace& recording) {
  const trace::Annotations& annotations = recording.annotations;
  std::vector<RowId> ranges;
  for (RowId row = 0; row < annotations.size(); ++row) {
    const std::string_view name = recording.Text(annotations.name[row]);
    if (annotations.kind[row] == trace::AnnotationKind::kHost &&
        (name == "optimizer" || BaseName(name) == "Optimizer.step")) {
      ranges.push_back(row);
    }
  }
  const auto is_in_range = [&](RowId call) {
    const std::int64_t at_ns = recording.runtime_calls.begin_ns[call];
    return std::ranges::any_of(ranges, [&](RowId range) {
      return annotations.track[range] == recording.runtime_calls.track[call] &&
             annotations.begin_ns[range] <= at_ns &&
             at_ns < annotations.begin_ns[range] + annotations.duration_ns[range];
    });
  };
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    const RowId launch = recording.activities.launch[row];
    if (launch != kNoRow && is_in_range(launch)) {
      std::int64_t& duration_ns = recording.activities.duration_ns[row];
      duration_ns = std::llround(static_cast<double>(duration_ns) * factor);
    }
  }
}

/// All parameters over those that were traced.
double ParameterFactor(const LayerRepeat& layers) {
  const std::int64_t traced =
      layers.parameters - (layers.wanted - layers.traced) * layers.layer_parameters;
  return layers.parameters <= 0 || traced <= 0
             ? static_cast<double>(layers.wanted) / layers.traced
             : static_cast<double>(layers.parameters) / static_cast<double>(traced);
}

}  // namespace

Result<Trace> RepeatLayers(Trace recording, const LayerRepeat& layers) {
  if (layers.wanted == layers.traced) {
    return recording;
  }
  if (layers.traced < 2 || layers.wanted < layers.traced) {
    return Refuse(
        "{} traced layers cannot stand for {}: at least two are needed, and no more than the model "
        "has",
        layers.traced, layers.wanted);
  }
  ORRERY_TRY(const std::vector<HostPeriod> periods, LayerPeriods(recording, layers.traced));
  Trace repeated = RepeatPeriods(std::move(recording), periods, layers.wanted - layers.traced);
  ScaleOptimizer(ParameterFactor(layers), repeated);
  return repeated;
}

}  // namespace orrery::workload
