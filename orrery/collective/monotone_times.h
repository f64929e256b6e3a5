#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// The inputs to the time of a collective, besides its fabric.
struct FormRules {
  MachineConstants constants = DefaultConstants();
  NcclSettings nccl{};
  const TunerTables* tables = &NewestTunerTables();
};

/// The rules for ranks of one node and for ranks of several.
struct FormsOfMachine {
  FormRules of_node{};
  FormRules over_nodes{};
};

/// Times of the closed form that never fall with more bytes or more nodes of as many ranks each.
///
/// NCCL's constants choose algorithm and protocol, ours give the time. Where its choice changes
/// with the size, ours may disagree that the new one is not slower, and the time would jump down.
/// On a grid of sizes (half octaves) and nodes (powers of two), a time is therefore
///
/// - at most that of any larger size: a choice that takes longer is one too many, and measured
///   times before a change of protocol are lower than ours, too;
/// - at least that of as many bytes on fewer nodes (or on fewer hosts of one island, from two on),
///   which are measured better than more of them.
///
/// Between grid points it is interpolated, linear in logarithms. A table of a kind, a type, a
/// number of ranks per node and limits is computed once: 40 µs for each power of two up to the
/// number of nodes. Serves one thread.
class MonotoneTimes {
 public:
  explicit MonotoneTimes(FormsOfMachine forms) : forms_(std::move(forms)) {}

  /// Fails if the settings leave no candidate.
  [[nodiscard]] Result<double> Seconds(const Fabric& fabric, const Request& request,
                                       const LinkLimits& limits = {});

 private:
  using Logs = std::vector<double>;  // ln seconds by size; empty where nothing can be chosen
  using Key = std::tuple<int, CollectiveKind, DataType, bool, double, double, double>;

  struct Rows {
    std::vector<Logs> of_power{};  // of two: nodes
  };

  Result<const Logs*> RowOf(Rows& rows, std::size_t power, const Fabric& fabric,
                            const Request& request, const LinkLimits& limits);
  Result<Logs> ChosenTimes(const Fabric& nominal, const Request& request,
                           const LinkLimits& limits) const;
  Result<Logs> NewRow(int nodes, const Fabric& fabric, const Request& request,
                      const LinkLimits& limits) const;

  FormsOfMachine forms_;
  std::map<Key, Rows> rows_of_;
};

/// Chooses like NCCL and predicts the time as MonotoneTimes does. `forced`: settings of the user
/// instead of the usual ones. A forced candidate is predicted to be at most 5 % faster than NCCL's
/// choice: otherwise NCCL would choose it, and no measurement shows that it is wrong. Fails if the
/// settings leave no candidate.
[[nodiscard]] Result<Prediction> Predict(const Fabric& fabric, const Request& request,
                                         const FormsOfMachine& forms,
                                         const std::optional<NcclSettings>& forced = {});

}  // namespace orrery::collective
