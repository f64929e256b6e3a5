#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/import/chakra_trace.h"

namespace orrery::workload {

/// Ranks by the name of a process group.
using ChakraGroups = std::map<std::string, std::vector<Rank>, std::less<>>;

struct ChakraEnsemble {
  Ensemble ensemble;
  trace::ProblemLog problems;
};

/// Makes programs from the traces of all ranks, in order of rank. Nodes run inputs first, and of
/// those that could be next the one with the lowest id; work of the host, computing, communication
/// and copies have a lane each, or one for each "tid". Communication without a "pg_name" is among
/// all ranks; a group that `groups` does not name has the ranks that speak in it. Each rank's GPU
/// is the one of its number; equal programs are shared.
[[nodiscard]] Result<ChakraEnsemble> EnsembleOfChakra(std::span<const ChakraTrace> traces,
                                                      const ChakraGroups& groups = {});

}  // namespace orrery::workload
