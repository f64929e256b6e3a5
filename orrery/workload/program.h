#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/collective/request.h"

namespace orrery::workload {

using TaskId = RowId;
using LaneId = RowId;
using CallId = RowId;
using PartId = RowId;
using CommunicationId = RowId;

inline constexpr RowId kNone = kNoRow;

/// No kernel::OperatorKind: the operation is unknown.
inline constexpr std::uint8_t kNoOperation = 0xFF;

// Stored by number in results: append at the end, never reorder.

enum class LaneKind : std::uint8_t { kHostThread, kStream };

enum class TaskKind : std::uint8_t {
  kHost,         // work of the host
  kLaunch,       // the host launches work on a stream
  kKernel,       // a kernel, memcpy or memset on a stream
  kRecord,       // a stream passes an event; takes no time
  kWait,         // a stream waits for an event; takes no time itself
  kSynchronize,  // the host waits; what follows its predecessors is its own cost
  kCollective,   // work of several ranks on a stream
};

/// The phase of a training step that a task belongs to.
enum class Phase : std::uint8_t {
  kOther,
  kForward,
  kRecompute,
  kBackward,        // with or without gradients of weights
  kWeightBackward,  // weight gradients only
  kReduce,          // of gradients
  kOptimizer,
  kGather,  // of parameters
};

/// A host thread or a stream, which runs its tasks in order.
#define ORRERY_PROGRAM_LANE_COLUMNS(X)     \
  X(LaneKind, kind, LaneKind::kHostThread) \
  X(std::int64_t, number, 0)               \
  X(std::int64_t, gap_ps, 0) /* the least time between the end of a task and the next begin */
ORRERY_TABLE(Lanes, ORRERY_PROGRAM_LANE_COLUMNS);

/// Operators and annotations that tasks belong to, in order of begin on their lane.
#define ORRERY_PROGRAM_CALL_COLUMNS(X) \
  X(StringId, name, StringId::kEmpty)  \
  X(LaneId, lane, kNone)               \
  X(CallId, parent, kNone)             \
  X(std::uint8_t, is_annotation, 0)    \
  X(TaskId, first_task, kNone)         \
  X(TaskId, last_task, kNone)
ORRERY_TABLE(Calls, ORRERY_PROGRAM_CALL_COLUMNS);

/// Properties shared by many tasks: their purpose and their share of the GPU while they run.
#define ORRERY_PROGRAM_PART_COLUMNS(X)                                                          \
  X(StringId, category, StringId::kEmpty) /* "product", "attention", "norm", "optimizer" … */   \
  X(Phase, phase, Phase::kOther)                                                                \
  X(std::int32_t, chunk, -1)               /* of the pipeline's, of this device */              \
  X(std::uint32_t, sm_share, 0)            /* of the multiprocessors, in millionths */          \
  X(std::uint32_t, memory_share, 0)        /* of the memory's bandwidth alone, in millionths */ \
  X(std::uint32_t, compute_share, 0)       /* of the peak of its type alone, in millionths */   \
  X(std::uint8_t, operation, kNoOperation) /* a kernel::OperatorKind */
ORRERY_TABLE(Parts, ORRERY_PROGRAM_PART_COLUMNS);

/// The direction of the bytes of a rank's communication. Ranks of a collective do both.
enum class Direction : std::uint8_t { kBoth, kSends, kReceives };

/// The process groups of a rank; a communication refers to one by its row.
#define ORRERY_PROGRAM_ROLE_COLUMNS(X)                                       \
  X(StringId, name, StringId::kEmpty)       /* "tp", "dp", "pp forward 0" */ \
  X(StringId, dimension, StringId::kEmpty)  /* of parallelism: "tp", "pp" */ \
  X(Direction, direction, Direction::kBoth) /* of messages, where known */
ORRERY_TABLE(Roles, ORRERY_PROGRAM_ROLE_COLUMNS);

/// The group and size of a task of kind kCollective. The n-th communication that the
/// members of a group start on one role match.
#define ORRERY_PROGRAM_COMMUNICATION_COLUMNS(X)                                        \
  X(std::uint32_t, role, 0) /* a row of Program::roles */                              \
  X(CollectiveKind, kind, CollectiveKind::kAllReduce)                                  \
  X(std::int64_t, bytes, 0) /* as collective::Request counts; of a message its size */ \
  X(DataType, element, DataType::kBf16)                                                \
  X(std::uint8_t, in_pieces, 0) /* 1: copy engines send it piece by piece */
ORRERY_TABLE(Communications, ORRERY_PROGRAM_COMMUNICATION_COLUMNS);

/// Memory that a task allocates when it begins or frees when it ends.
#define ORRERY_PROGRAM_MEMORY_COLUMNS(X)                                   \
  X(TaskId, task, kNone)                                                   \
  X(StringId, category, StringId::kEmpty) /* "activations", "logits", … */ \
  X(std::int64_t, bytes, 0) /* above 0: taken at the begin; below: given back at the end */
ORRERY_TABLE(MemoryChanges, ORRERY_PROGRAM_MEMORY_COLUMNS);

/// Memory that is allocated during the whole step.
#define ORRERY_PROGRAM_HELD_COLUMNS(X)    \
  X(StringId, category, StringId::kEmpty) \
  X(std::int64_t, bytes, 0)
ORRERY_TABLE(HeldMemory, ORRERY_PROGRAM_HELD_COLUMNS);

/// Tasks; those of one lane run in order of their ids.
#define ORRERY_PROGRAM_TASK_COLUMNS(X)                                    \
  X(LaneId, lane, kNone)                                                  \
  X(TaskKind, kind, TaskKind::kHost)                                      \
  X(std::int64_t, duration_ps, 0)                                         \
  X(StringId, name, StringId::kEmpty)                                     \
  X(CallId, call, kNone)                                                  \
  X(TaskId, launch, kNone) /* of a kernel: the task that hands it over */ \
  X(PartId, part, kNone)                                                  \
  X(std::int32_t, microbatch, -1)                                         \
  X(CommunicationId, communication, kNone)
ORRERY_TABLE(Tasks, ORRERY_PROGRAM_TASK_COLUMNS);

/// `to` begins no earlier than `lag_ps` after the end of `from`.
#define ORRERY_PROGRAM_EDGE_COLUMNS(X) \
  X(TaskId, from, kNone)               \
  X(TaskId, to, kNone)                 \
  X(std::int64_t, lag_ps, 0)
ORRERY_TABLE(Edges, ORRERY_PROGRAM_EDGE_COLUMNS);

/// The work of one rank in one step: lanes of tasks with dependencies. Times are integer
/// picoseconds. Columns, so that millions of tasks fit and are walked quickly.
struct Program {
  StringTable strings;
  Lanes lanes;
  Calls calls;
  Tasks tasks;
  Edges edges;
  Parts parts;
  Communications communications;
  MemoryChanges memory_changes;
  HeldMemory held_memory;
  Roles roles;
  std::int64_t launch_latency_ps = 0;  // from the end of a launch to the first begin of its kernel

  void AddRole(std::string_view name, std::string_view dimension,
               Direction direction = Direction::kBoth) {
    roles.Append({.name = strings.Intern(name),
                  .dimension = strings.Intern(dimension),
                  .direction = direction});
  }

  [[nodiscard]] std::string_view RoleName(std::uint32_t role) const {
    return strings.View(roles.name[role]);
  }

  bool operator==(const Program&) const = default;
};

/// The edges of a program, grouped by the task they come from: those of task t are
/// `targets[offsets[t]] … targets[offsets[t + 1] - 1]`, in order of their ids. Edges from a
/// launch to its kernel are among them.
struct Successors {
  std::vector<std::uint32_t> offsets;
  std::vector<TaskId> targets;
  std::vector<std::int64_t> lags_ps;
};

[[nodiscard]] Successors SuccessorsOf(const Program& program);

/// The share of a GPU's multiprocessors, in millionths, that NCCL's thread blocks hold: a few for
/// messages, one for each channel of a collective.
[[nodiscard]] std::uint32_t CommunicationShare(CollectiveKind kind, int multiprocessors);

/// Gives all programs the same roles, as an ensemble requires: the union by name, in order of first
/// appearance.
void UniteGroupRoles(std::span<Program> programs);

/// Finds the parts of a program by their content.
class PartIndex {
 public:
  /// Returns the part with this content, added to `program` if it is new.
  PartId Find(const Parts::Row& row, Program& program);

 private:
  std::map<std::tuple<StringId, Phase, std::int32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                      std::uint8_t>,
           PartId>
      parts_;
};

/// Returns the nodes of a graph, inputs before what needs them, and of those that could be next the
/// lowest. `inputs` are the nodes that a node needs. Shorter than `inputs` when some wait for each
/// other in a circle: those and what needs them are missing.
[[nodiscard]] std::vector<std::size_t> InputsFirst(
    const std::vector<std::vector<std::size_t>>& inputs);

/// Returns the first node that such an order lacks.
[[nodiscard]] std::size_t FirstMissing(const std::vector<std::size_t>& order,
                                       std::size_t num_nodes);

}  // namespace orrery::workload
