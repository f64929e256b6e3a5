#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/request.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/data_loader.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_pace.h"
#include "orrery/workload/recorded/host/replayed_host.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::workload {

/// Communication of a call with other ranks.
struct RecordedCommunication {
  std::string role = {};       // the group, as all its members call it
  std::string dimension = {};  // of parallelism
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::int64_t bytes = 0;  // as collective::Request counts
  DataType element = DataType::kFp32;

  /// Between two ranks; the role is then one of this direction and these two.
  [[nodiscard]] bool IsMessage() const { return kind == CollectiveKind::kSendRecv; }

  bool operator==(const RecordedCommunication&) const = default;
};

/// The purpose of work on the GPU and its share of the GPU: see Parts.
struct DeviceRole {
  std::string category = {};
  Phase phase = Phase::kOther;
  std::int32_t microbatch = -1;
  std::uint32_t sm_share = 0;
  std::uint32_t memory_share = 0;
  std::uint32_t compute_share = 0;
  std::uint8_t operation = kNoOperation;
};

/// Something that a call runs on the GPU.
struct DeviceTask {
  std::int64_t duration_ps = 0;
  std::string name = {};
  std::string launch = {};  // the runtime call that launches it; empty: the usual one
  std::optional<RecordedCommunication> communication = {};
  std::optional<DeviceRole> role = {};
};

/// Returns what a node of an execution trace runs on the GPU itself, without its children: one
/// entry for each launch, empty for an operator that launches nothing.
using PriceNode = std::function<std::vector<DeviceTask>(RowId graph_node)>;

/// The sources of host costs, counted in lookups.
struct HostCoverage {
  std::array<std::int64_t, 5> lookups = {};  // by HostCostSource
  std::int64_t operators = 0;
  std::int64_t recomputed = 0;  // of the operators, those of the forward pass in the backward pass
  std::int64_t launches = 0;
  std::int64_t waits = 0;
  double operators_ns = 0;  // of operators and launches
  double program_ns = 0;    // of the program between them, without hooks of recomputation
};

struct RecordedProgram {
  Program program;
  HostCoverage coverage;
  bool has_inferred_waits = false;  // see WaitsOf
  RecordedPace pace = {};           // of the recording's host
  std::optional<LoaderPace> loader = {};
};

/// Completes a task with its communication and purpose, which the profiler does not know.
using CompleteTask = std::function<void(RowId activity, DeviceTask& task)>;

/// Makes a program from a step: host times from the model, kernels as recorded, each on its stream.
/// The pauses of a thread during which another runs the backward pass become dependencies.
///
/// Streams wait for events of each other, as recorded or inferred (WaitsOf), and the host for what
/// it waited for; where that was not recorded, for all streams. With kernels on several streams,
/// times are those of kernels alone and tasks have a role with their share of the GPU: whoever
/// simulates the program lets them share it.
///
/// With `costs`, those of the step call by call, the model only gives what these leave to it, and
/// what lies between host and GPU.
[[nodiscard]] RecordedProgram ProgramOfRecording(const trace::Trace& recording,
                                                 const CallTree& step, const HostModel& host,
                                                 const CompleteTask& complete = {},
                                                 const StepCosts* costs = nullptr);

/// The same of the middle one of its steps, with the host that the recording tells
/// (HostOfRecording) and the waits for its data loader.
[[nodiscard]] RecordedProgram ProgramOfMiddleStep(const trace::Trace& recording,
                                                  std::span<const CallTree> steps,
                                                  const HostChoice& host,
                                                  const CompleteTask& complete = {});

[[nodiscard]] RecordedProgram ProgramOfMiddleStep(const trace::Trace& recording,
                                                  const HostChoice& host);

/// Makes a program from an execution trace: host times from the model, kernels from `price`, all on
/// one stream. Operators that read a value back wait for the stream.
///
/// A communication runs on a stream of its group, behind the kernels that were launched before it;
/// the first kernel of a call that touches a storage it writes waits for it, as the waits that
/// PyTorch puts between streams have it.
[[nodiscard]] RecordedProgram ProgramOfGraph(const trace::Trace& graph, const CallTree& step,
                                             const HostModel& host, const PriceNode& price);

/// One rank of a job that was recorded.
struct RankGraph {
  const trace::Trace* graph = nullptr;  // an execution trace
  PriceNode price;                      // of the kernels of its nodes; not asked for collectives
  std::int64_t begin_ps = 0;            // when it begins the step, after the first rank
};

struct RecordedEnsemble {
  Ensemble ensemble;
  std::vector<HostCoverage> coverage_of_rank;
  trace::ProblemLog problems;
};

/// Makes the programs of all ranks from their execution traces, in order of rank, with collectives
/// that wait for each other. A group has the ranks that the traces name, or else those that speak
/// in it. Ranks do not begin a step together: `begin_ps` is idle time of the host in front of it.
[[nodiscard]] Result<RecordedEnsemble> EnsembleOfGraphs(std::span<const RankGraph> ranks,
                                                        const HostModel& host);

/// The communication of the nodes of an execution trace, from its collectives. A
/// group without a name is "all". Kinds that have no model, and messages, are counted in
/// `problems`.
[[nodiscard]] std::map<RowId, RecordedCommunication> CommunicationsOf(const trace::Trace& graph,
                                                                      trace::ProblemLog& problems);

/// Prices nodes as `price` does, and nodes that communicate as one communication. Both must
/// outlive it.
[[nodiscard]] PriceNode WithCommunications(
    const std::map<RowId, RecordedCommunication>& communications, const PriceNode& price);

/// The storages on the GPU that a call reads or writes.
[[nodiscard]] std::vector<std::int64_t> TouchedStorages(const trace::Trace& graph, RowId node);

/// Those that a call writes; where its results are not recorded, those that it touches.
[[nodiscard]] std::vector<std::int64_t> WrittenStorages(const trace::Trace& graph, RowId node);

}  // namespace orrery::workload
