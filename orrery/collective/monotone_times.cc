#include "orrery/collective/monotone_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/floor.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner.h"
#include "orrery/collective/request.h"

namespace orrery::collective {
namespace {

/// The grid of sizes: half octaves from 64 bytes to 64 GiB. Below, times are those of the first;
/// above, they grow with the bytes.
constexpr int kFirstOctave = 6;
constexpr int kLastOctave = 36;
constexpr int kSizesOfOctave = 2;
constexpr std::size_t kSizes = (kLastOctave - kFirstOctave) * kSizesOfOctave + 1;
/// The largest predicted speedup of a forced candidate over NCCL's choice.
constexpr double kForcedGain = 1.05;

Bytes SizeAt(std::size_t place) {
  const double octave = kFirstOctave + static_cast<double>(place) / kSizesOfOctave;
  return {std::llround(std::exp2(octave))};
}

/// A place on the grid and the way to the next one.
struct Place {
  std::size_t before = 0;
  double part = 0;   // of the way
  double above = 0;  // ln of the size over the largest of the grid
};

Place PlaceOf(Bytes size) {
  constexpr double kLn2 = 0.6931471805599453;
  const double octave = std::log2(std::max(1.0, static_cast<double>(size.count)));
  if (octave >= kLastOctave) {
    return {kSizes - 1, 0, (octave - kLastOctave) * kLn2};
  }
  const double place = std::max(0.0, (octave - kFirstOctave) * kSizesOfOctave);
  const auto before = static_cast<std::size_t>(place);
  return {before, place - static_cast<double>(before), 0};
}

double At(const std::vector<double>& row, const Place& place) {
  const double before = row[place.before];
  return place.part > 0 ? before + place.part * (row[place.before + 1] - before)
                        : before + place.above;
}

/// Makes no time less than that of `least`, which may have none.
void RaiseTo(const std::vector<double>& least, std::vector<double>& row) {
  for (std::size_t i = 0; i < std::min(row.size(), least.size()); ++i) {
    row[i] = std::max(row[i], least[i]);
  }
}

}  // namespace

Result<MonotoneTimes::Logs> MonotoneTimes::ChosenTimes(const Fabric& nominal,
                                                       const Request& request,
                                                       const LinkLimits& limits) const {
  const FormRules& rules = nominal.nodes > 1 ? forms_.over_nodes : forms_.of_node;
  const Fabric limited = Limited(nominal, limits);
  Logs row(kSizes);
  for (std::size_t i = 0; i < kSizes; ++i) {
    const Request sized{request.kind, SizeAt(i), request.element};
    ORRERY_TRY(const Tuning tuning, Tune(nominal, sized, rules.nccl, *rules.tables));
    const AlgorithmAndProtocol choice{tuning.choice().algorithm, tuning.choice().protocol};
    row[i] = std::log(ClosedFormSeconds(limited, sized, choice, *rules.tables, rules.constants));
  }
  for (std::size_t i = kSizes - 1; i > 0; --i) {
    row[i - 1] = std::min(row[i - 1], row[i]);
  }
  return row;
}

Result<MonotoneTimes::Logs> MonotoneTimes::NewRow(int nodes, const Fabric& fabric,
                                                  const Request& request,
                                                  const LinkLimits& limits) const {
  ORRERY_TRY(Logs row, ChosenTimes(OnNodes(fabric, nodes), request, limits));
  // Hosts of one island are nodes, too, though no network is between them. From one to two, NCCL
  // may change to reduction in the switch, which is measured to be faster (GB300: 5 %); from two on
  // not.
  const int host = fabric.ranks_of_host;
  for (int ranks = 2 * host; nodes == 1 && host > 0 && ranks < fabric.ranks_per_node;
       ranks += host) {
    const Result<Logs> fewer = ChosenTimes(OfOneNode(fabric, ranks), request, limits);
    RaiseTo(fewer ? *fewer : Logs(), row);
  }
  return row;
}

// Fewer nodes come first: each row is at least the one before.
Result<const MonotoneTimes::Logs*> MonotoneTimes::RowOf(Rows& rows, std::size_t power,
                                                        const Fabric& fabric,
                                                        const Request& request,
                                                        const LinkLimits& limits) {
  while (rows.of_power.size() <= power) {
    const std::size_t next = rows.of_power.size();
    Logs row;
    if (next > 0 || fabric.ranks_per_node > 1) {  // one rank alone does nothing
      Result<Logs> made = NewRow(1 << next, fabric, request, limits);
      if (!made && next == power) {
        return tl::unexpected(made.error());
      }
      row = made ? *std::move(made) : Logs();
    }
    if (next > 0 && !row.empty()) {
      RaiseTo(rows.of_power[next - 1], row);
    }
    rows.of_power.push_back(std::move(row));
  }
  return &rows.of_power[power];
}

Result<double> MonotoneTimes::Seconds(const Fabric& fabric, const Request& request,
                                      const LinkLimits& limits) {
  if (fabric.ranks <= 1) {
    return ClosedFormSeconds(fabric, request, {}, *forms_.of_node.tables, forms_.of_node.constants);
  }
  Fabric usable = fabric;
  usable.has_nvls = fabric.has_nvls && limits.reduces_in_switch;
  const Key key{fabric.ranks_per_node,
                request.kind,
                request.element,
                usable.has_nvls,
                limits.link_share,
                limits.network_share,
                limits.host_link.bytes_per_second};
  Rows& rows = rows_of_[key];
  const auto nodes = static_cast<unsigned>(fabric.nodes);
  const auto power = static_cast<std::size_t>(std::bit_width(nodes) - 1);
  const Place place = PlaceOf(request.size);
  const double more = static_cast<double>(nodes) / static_cast<double>(1U << power);
  const double floor = FloorSeconds(Limited(usable, limits), request);
  if (more == 1) {
    ORRERY_TRY(const Logs* row, RowOf(rows, power, usable, request, limits));
    return std::max(floor, std::exp(At(*row, place)));
  }
  ORRERY_TRY(const Logs* after_row, RowOf(rows, power + 1, usable, request, limits));
  const Logs& before_row = rows.of_power[power];
  const double after = At(*after_row, place);
  const double before = before_row.empty() ? after : At(before_row, place);
  return std::max(floor, std::exp(before + std::log2(more) * (after - before)));
}

Result<Prediction> Predict(const Fabric& fabric, const Request& request,
                           const FormsOfMachine& forms, const std::optional<NcclSettings>& forced) {
  FormsOfMachine asked = forms;
  if (forced) {
    asked.of_node.nccl = *forced;
    asked.over_nodes.nccl = *forced;
  }
  const FormRules& rules = fabric.nodes > 1 ? asked.over_nodes : asked.of_node;
  ORRERY_TRY(Prediction prediction,
             PredictChoice(fabric, request, rules.nccl, *rules.tables, rules.constants));
  ORRERY_TRY(prediction.seconds, MonotoneTimes(asked).Seconds(fabric, request));
  if (forced) {
    const Result<double> usual = MonotoneTimes(forms).Seconds(fabric, request);
    prediction.seconds = std::max(prediction.seconds, usual ? *usual / kForcedGain : 0);
  }
  prediction.algorithm_bandwidth = static_cast<double>(request.size.count) / prediction.seconds;
  prediction.bus_bandwidth = prediction.algorithm_bandwidth * BusFactor(request.kind, fabric.ranks);
  return prediction;
}

Result<Prediction> Predict(const Fabric& fabric, const Request& request,
                           const NcclSettings& settings, const TunerTables& tables,
                           const MachineConstants& constants) {
  const FormRules rules{constants, settings, &tables};
  return Predict(fabric, request, {rules, rules});
}

}  // namespace orrery::collective
