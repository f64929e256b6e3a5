
#include "orrery/workload/generate/program_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/data_parallel_communication.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/token_load.h"
#include "orrery/workload/program.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kPieces = 16;
constexpr std::size_t kUnitsInFlight = 2;
constexpr double kPicoseconds = 1e12;

std::int64_t PicosecondsFor(double bytes, double bytes_per_second) {
  return bytes_per_second > 0 ? std::llround(bytes / bytes_per_second * kPicoseconds) : 0;
}

/// Times of the pieces of an update in host memory on each of its lanes.
struct OffloadedPiece {
  std::int64_t out_ps = 0;     // gradients to the host
  std::int64_t update_ps = 0;  // at the speed of its memory
  std::int64_t back_ps = 0;    // parameters
};

OffloadedPiece OffloadedPieceOf(const Job& job, std::int64_t parameters) {
  const Precision& precision = job.training.precision;
  const double piece = static_cast<double>(parameters) / kPieces;
  // States are read and written, the gradient is read, the parameter is written.
  const int touched =
      2 * OptimizerBytes(job.training) + precision.gradient_bytes + precision.gathered_bytes;
  const double link = job.gpu.host_link.bytes_per_second;
  return {
      .out_ps = PicosecondsFor(piece * precision.gradient_bytes, link),
      .update_ps = PicosecondsFor(piece * touched, DefaultMemoryConstants().host_bytes_per_second),
      .back_ps = PicosecondsFor(piece * precision.gathered_bytes, link)};
}

// Writes the update of an optimizer whose states are in host memory: gradients are copied there,
// the host updates them, parameters are copied back; in pieces, so that all three overlap. The next
// computation waits for the last piece.
void WriteOffloadedUpdate(const Job& job, std::int64_t parameters, ProgramWriter& writer) {
  const auto [out_ps, update_ps, back_ps] = OffloadedPieceOf(job, parameters);
  const TaskId ready = writer.last_compute();
  for (std::int64_t i = 0; i < kPieces; ++i) {
    const TaskId out =
        writer.WriteSideTask(ProgramWriter::Side::kToHost, "copy gradients out", out_ps, {ready});
    const TaskId update =
        writer.WriteSideTask(ProgramWriter::Side::kOnHost, "update on the host", update_ps, {out});
    writer.WaitFor(writer.WriteSideTask(ProgramWriter::Side::kFromHost, "copy parameters back",
                                        back_ps, {update}));
  }
}

constexpr std::string_view kRecomputed = "recomputed activations";
constexpr std::string_view kLogits = "logits";
constexpr std::string_view kActivationGradients = "gradients of activations";

// The passes of one unit, prepared for one program.
struct PreparedUnit {
  PreparedOps forward;
  PreparedOps recompute;
  PreparedOps backward;
  PreparedOps weights;  // the deferred part of the backward pass
};

// Messages to and from the neighbours of a chunk for one pass.
struct Neighbours {
  std::optional<GroupRole> from;
  std::optional<GroupRole> to;
};

// The roles of pipeline messages follow each other in the enumeration.
GroupRole MessageRole(bool is_next, bool is_forward, bool is_in) {
  return static_cast<GroupRole>(static_cast<std::uint32_t>(GroupRole::kNextForwardOut) +
                                (is_next ? 0 : 4) + (is_forward ? 0 : 2) + (is_in ? 1 : 0));
}

// If tokens are dropped above a capacity, every expert has as much to do.
std::optional<TokenLoad> UnevenLoadOf(const Job& job) {
  const Experts* const experts = ExpertsOf(job.model);
  const bool is_uneven = experts != nullptr && job.plan.ep > 1 && job.plan.capacity_factor == 0 &&
                         job.plan.token_imbalance > 1;
  return is_uneven ? std::optional<TokenLoad>(std::in_place, *experts, job.plan) : std::nullopt;
}

class StageWriter {
 public:
  explicit StageWriter(const StageSource& source)
      : source_(source),
        job_(source.job),
        units_(source.model.stages[source.program]),
        parameters_(StageTensors{&units_, &source.model.tensors}.Parameters()),
        writer_(job_),
        load_(UnevenLoadOf(job_)),
        data_(job_, {&units_, &source.model.tensors}, source.shape, source.stage, writer_) {
    const StateBytes states = StatesOf(parameters_.trained, job_.plan, job_.training);
    writer_.Hold("parameters",
                 states.parameters + HeldFrozenBytes(parameters_.frozen_bytes, job_.plan));
    writer_.Hold("gradients", states.gradients);
    writer_.Hold("optimizer states", states.optimizer);
    writer_.Hold("embedding tables", source.model.table_bytes[source.program]);
    for (std::size_t chunk = 0; chunk < units_.size(); ++chunk) {
      prepared_.push_back(PrepareChunk(units_[chunk], static_cast<int>(chunk)));
      passes_left_.push_back(0);
      is_first_pass_.push_back(true);
    }
  }

  Result<Program> Write() {
    ORRERY_TRY(const std::vector<PipelineStep> steps, ScheduleOf(source_.shape, source_.stage));
    for (const PipelineStep& step : steps) {
      const bool ends =
          step.pass == PipelinePass::kBackward || step.pass == PipelinePass::kWeightBackward;
      passes_left_[static_cast<std::size_t>(step.chunk)] += ends ? 1 : 0;
    }
    data_.BeginStep();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i + 1 < steps.size() && RunConcurrently(steps[i], steps[i + 1])) {
        const bool is_forward = steps[i].pass == PipelinePass::kForward;
        WriteTogether(steps[is_forward ? i : i + 1], steps[is_forward ? i + 1 : i]);
        ++i;
      } else {
        WriteStep(steps[i]);
      }
    }
    WriteEnd();
    const MemoryConstants& constants = DefaultMemoryConstants();
    writer_.Hold("communication buffers",
                 constants.communicator_bytes * writer_.NumCommunicators());
    writer_.Hold("CUDA context", constants.context_bytes);
    return writer_.Finish();
  }

 private:
  std::vector<PreparedUnit> PrepareChunk(const std::vector<StageUnit>& units, int chunk) {
    std::vector<PreparedUnit> prepared;
    for (const StageUnit& unit : units) {
      const UnitOps& kind = source_.kinds[unit.kind];
      std::vector<LayerOp> again = unit.recomputes ? kind.forward : kind.recompute;
      if (!again.empty() && again.front().launches > 0 && !job_.framework.is_compiled &&
          job_.mechanisms.host_calls) {
        // States of random numbers are saved before and restored after it.
        constexpr int kCheckpointCalls = 10;
        again.front().launches += kCheckpointCalls;
      }
      std::vector<LayerOp> weights;
      std::ranges::copy_if(kind.backward, std::back_inserter(weights), &LayerOp::is_wgrad);
      prepared.push_back({writer_.Prepare(kind.forward, Phase::kForward, chunk),
                          writer_.Prepare(again, Phase::kRecompute, chunk),
                          writer_.Prepare(kind.backward, Phase::kBackward, chunk),
                          writer_.Prepare(weights, Phase::kWeightBackward, chunk)});
    }
    return prepared;
  }

  void WriteStep(const PipelineStep& step) {
    if (step.pass == PipelinePass::kForward) {
      WriteForward(step);
    } else if (step.pass == PipelinePass::kWeightBackward) {
      WriteWeights(step);
    } else {
      WriteBackward(step, step.pass == PipelinePass::kBackward
                              ? ProgramWriter::Part::kAll
                              : ProgramWriter::Part::kWithoutWeights);
    }
  }

  // The sender and receiver of a chunk. Chunks of the same device need no message.
  Neighbours NeighboursOf(int chunk, bool is_forward) const {
    const ChunkPlace place = {source_.stage, chunk};
    const auto before = ChunkBefore(source_.shape, place);
    const auto after = ChunkAfter(source_.shape, place);
    const auto& source = is_forward ? before : after;
    const auto& target = is_forward ? after : before;
    Neighbours neighbours;
    if (source && source->stage != source_.stage) {
      neighbours.from = MessageRole(IsNext(*source, is_forward), is_forward, true);
    }
    if (target && target->stage != source_.stage) {
      neighbours.to = MessageRole(IsNext(*target, !is_forward), is_forward, false);
    }
    return neighbours;
  }

  // Interleaved chunks always continue on the next device, in a ring, so that with two devices both
  // neighbours are the same one.
  bool IsNext(const ChunkPlace& other, bool is_before) const {
    return source_.shape.schedule == PipelineSchedule::kInterleaved ? !is_before
                                                                    : other.stage > source_.stage;
  }

  TaskId WriteMessage(GroupRole role, std::string_view name, TaskId after,
                      const PipelineStep& step) {
    PreparedOps& prepared = messages_[{role, step.chunk}];
    if (prepared.empty()) {
      const LayerOp message = CommunicationOp(
          name,
          {.role = role, .kind = CollectiveKind::kSendRecv, .bytes = source_.model.message_bytes});
      const Phase phase = step.pass == PipelinePass::kForward ? Phase::kForward : Phase::kBackward;
      prepared = writer_.Prepare(std::span(&message, 1), phase, step.chunk);
    }
    return writer_.WriteCommunication(prepared.front(), after, step.microbatch);
  }

  [[nodiscard]] bool OverlapsSends() const { return OverlapsPipelineSends(job_, source_.shape); }

  // An overlapped receive is posted when the last pass of its direction has ended, not as early as
  // the host can: until its peer sends, its kernel would spin beside all that the GPU computes.
  void Receive(const Neighbours& neighbours, const PipelineStep& step) {
    if (!neighbours.from) {
      return;
    }
    const TaskId as_posted = job_.mechanisms.receives ? LastPassOf(step) : kNone;
    const TaskId after = OverlapsSends() ? as_posted : writer_.last_compute();
    const TaskId message = WriteMessage(*neighbours.from, "receive", after, step);
    writer_.WaitFor(message);
    if (job_.framework.waits_each_pipeline_message) {
      writer_.HostWaitsFor(message);
    }
  }

  // The last computation of the last pass of the same direction; kNone before the first.
  TaskId& LastPassOf(const PipelineStep& step) {
    return last_pass_[step.pass == PipelinePass::kForward ? 0 : 1];
  }

  void Send(const Neighbours& neighbours, const PipelineStep& step) {
    LastPassOf(step) = writer_.last_compute();
    if (!neighbours.to) {
      return;
    }
    const TaskId message = WriteMessage(*neighbours.to, "send", writer_.last_compute(), step);
    if (!OverlapsSends()) {
      writer_.WaitFor(message);
    }
  }

  const UnitMemory& MemoryOf(std::size_t chunk, std::size_t unit) const {
    return source_.model.memory[units_[chunk][unit].kind];
  }

  bool HasBackward(std::size_t chunk, std::size_t unit) const {
    return source_.model.tensors[units_[chunk][unit].kind].has_backward;
  }

  // The pass of a micro-batch through a unit.
  using UnitPass = std::tuple<std::size_t, std::size_t, int>;  // chunk, unit, micro-batch

  std::int64_t OffloadedBytesOf(std::size_t chunk, std::size_t unit) const {
    const UnitMemory& memory = MemoryOf(chunk, unit);
    return memory.is_offloadable
               ? OffloadedBytes(memory.Kept(units_[chunk][unit].recomputes), job_.plan)
               : 0;
  }

  std::int64_t HostCopyPs(std::int64_t bytes) const {
    return PicosecondsFor(static_cast<double>(bytes), job_.gpu.host_link.bytes_per_second);
  }

  // Copies what a unit keeps to the host, beside what follows.
  void CopyOut(const UnitPass& pass, const PassTasks& tasks) {
    const auto [chunk, unit, microbatch] = pass;
    const std::int64_t bytes = OffloadedBytesOf(chunk, unit);
    if (bytes > 0) {
      const TaskId copy = writer_.WriteSideTask(ProgramWriter::Side::kToHost, "offload activations",
                                                HostCopyPs(bytes), {tasks.last}, Phase::kForward);
      writer_.Free(copy, MemoryOf(chunk, unit).category, bytes);
      copies_out_[pass] = copy;
      // No more than two units wait for the link: the next computation waits for those before.
      last_copies_.push_back(copy);
      if (last_copies_.size() > kUnitsInFlight) {
        writer_.WaitFor(last_copies_.front());
        last_copies_.pop_front();
      }
    }
  }

  // Copies it back, beside what runs now. Once for each pass.
  void CopyBack(const UnitPass& pass) {
    const auto found = copies_out_.find(pass);
    if (found == copies_out_.end()) {
      return;
    }
    const auto [chunk, unit, microbatch] = pass;
    const std::int64_t bytes = OffloadedBytesOf(chunk, unit);
    const TaskId copy = writer_.WriteSideTask(
        ProgramWriter::Side::kFromHost, "reload activations", HostCopyPs(bytes),
        {writer_.last_compute(), found->second}, Phase::kBackward);
    writer_.Allocate(copy, MemoryOf(chunk, unit).category, bytes);
    copies_back_[pass] = copy;
    copies_out_.erase(found);
  }

  // One unit ahead, as gathers of parameters.
  void AwaitKept(const UnitPass& pass) {
    const auto [chunk, unit, microbatch] = pass;
    CopyBack(pass);
    if (unit > 0) {
      CopyBack({chunk, unit - 1, microbatch});
    }
    if (const auto found = copies_back_.find(pass); found != copies_back_.end()) {
      writer_.WaitFor(found->second);
      copies_back_.erase(found);
    }
  }

  void AfterForward(const UnitPass& pass, const PassTasks& tasks) {
    const auto [chunk, unit, microbatch] = pass;
    data_.AfterForward({chunk, unit});
    const UnitMemory& memory = MemoryOf(chunk, unit);
    writer_.Allocate(tasks.first, memory.category, memory.Kept(units_[chunk][unit].recomputes));
    CopyOut(pass, tasks);
    writer_.Allocate(tasks.first, kLogits, memory.logits + memory.logits_copy);
    writer_.Free(tasks.last, kLogits, memory.logits_copy);
  }

  void AfterBackward(std::size_t chunk, std::size_t unit, bool is_whole, const PassTasks& tasks) {
    const UnitMemory& memory = MemoryOf(chunk, unit);
    const std::int64_t kept = memory.Kept(units_[chunk][unit].recomputes);
    writer_.Allocate(tasks.first, kRecomputed, memory.whole - kept);
    writer_.Allocate(tasks.first, kActivationGradients, memory.working);
    writer_.Allocate(tasks.first, kLogits, memory.logits_copy);
    writer_.Free(tasks.last, kRecomputed, memory.whole - kept);
    writer_.Free(tasks.last, kActivationGradients, memory.working);
    writer_.Free(tasks.last, kLogits, memory.logits + memory.logits_copy);
    // The inputs of deferred weight gradients exist already, or replace freed tensors.
    writer_.Free(tasks.last, memory.category, kept - (is_whole ? 0 : memory.weight_inputs));
    data_.AfterBackward({chunk, unit});
    if (is_whole) {
      data_.AfterWeights({chunk, unit}, passes_left_[chunk] == 0);
    }
  }

  // A forward pass runs concurrently with the backward pass of another micro-batch in DualPipe's
  // pairs; and a backward pass with the next forward pass where a framework hides the token
  // dispatch this way. The latter only without a pipeline: in 1F1B a stage that keeps a message
  // until the end of a pair delays all others.
  bool RunConcurrently(const PipelineStep& step, const PipelineStep& next) const {
    if (step.microbatch == next.microbatch) {
      return false;
    }
    const bool hides_experts =
        job_.framework.overlaps_experts && job_.plan.ep > 1 && job_.plan.pp == 1;
    return step.runs_with_next || (hides_experts && step.pass == PipelinePass::kBackward &&
                                   next.pass == PipelinePass::kForward);
  }

  void WriteTogether(const PipelineStep& forward, const PipelineStep& backward) {
    const auto fore = static_cast<std::size_t>(forward.chunk);
    const auto back = static_cast<std::size_t>(backward.chunk);
    const bool is_whole = backward.pass == PipelinePass::kBackward;
    passes_left_[back] -= is_whole ? 1 : 0;
    const Neighbours around_forward = NeighboursOf(forward.chunk, true);
    const Neighbours around_backward = NeighboursOf(backward.chunk, false);
    Receive(around_forward, forward);
    Receive(around_backward, backward);
    const std::size_t units = std::max(prepared_[fore].size(), prepared_[back].size());
    for (std::size_t i = 0; i < units; ++i) {
      WriteUnitsTogether(forward, backward, i);
    }
    is_first_pass_[fore] = false;
    Send(around_forward, forward);
    Send(around_backward, backward);
  }

  // The i-th unit of the forward pass and the i-th from the end of the other, if they exist.
  void WriteUnitsTogether(const PipelineStep& forward, const PipelineStep& backward,
                          std::size_t i) {
    const auto fore = static_cast<std::size_t>(forward.chunk);
    const auto back = static_cast<std::size_t>(backward.chunk);
    const bool is_whole = backward.pass == PipelinePass::kBackward;
    const bool has_forward = i < prepared_[fore].size();
    const std::size_t from_behind = i < prepared_[back].size() ? prepared_[back].size() - 1 - i : 0;
    const bool has_backward = i < prepared_[back].size() && HasBackward(back, from_behind);
    PreparedOps ahead;
    PreparedOps behind;
    if (has_forward) {
      data_.BeforeForward({fore, i}, is_first_pass_[fore]);
      ahead = prepared_[fore][i].forward;
    }
    if (has_backward) {
      data_.BeforeBackward({back, from_behind});
      AwaitKept({back, from_behind, backward.microbatch});
      behind = prepared_[back][from_behind].recompute;
      const PreparedOps& ops = prepared_[back][from_behind].backward;
      behind.insert(behind.end(), ops.begin(), ops.end());
    }
    const auto part = is_whole ? ProgramWriter::Part::kAll : ProgramWriter::Part::kWithoutWeights;
    const RoutedLoad fore_load =
        has_forward ? LoadOf(forward.chunk, i, forward.microbatch) : RoutedLoad{};
    const RoutedLoad back_load =
        has_backward ? LoadOf(backward.chunk, from_behind, backward.microbatch) : RoutedLoad{};
    const auto tasks =
        writer_.WriteTogether({&ahead, forward.microbatch, ProgramWriter::Part::kAll, fore_load},
                              {&behind, backward.microbatch, part, back_load});
    if (has_forward) {
      AfterForward({fore, i, forward.microbatch}, tasks[0]);
    }
    if (has_backward) {
      AfterBackward(back, from_behind, is_whole, tasks[1]);
    }
  }

  // The imbalance of experts in a layer and a micro-batch, in steps that keep the number of
  // different communications small. Layers count from the first stage on, as if parts had equally
  // many.
  RoutedLoad LoadOf(int chunk, std::size_t unit, int microbatch) {
    if (!load_) {
      return {};
    }
    constexpr double kSteps = 256;
    const int part = PartOf(source_.shape, {source_.stage, chunk});
    const auto units = units_[static_cast<std::size_t>(chunk)].size();
    const auto layer = static_cast<std::uint32_t>(static_cast<std::size_t>(part) * units + unit);
    const double mean = job_.plan.token_imbalance;
    const double busiest = load_->Busiest(layer, static_cast<std::uint32_t>(microbatch));
    const double compute = std::round(busiest / mean * kSteps) / kSteps;
    return {.compute = compute, .sent = std::max(1.0, compute * mean)};
  }

  void WriteForward(const PipelineStep& step) {
    const auto chunk = static_cast<std::size_t>(step.chunk);
    const Neighbours neighbours = NeighboursOf(step.chunk, true);
    Receive(neighbours, step);
    if (job_.framework.waits_each_batch) {
      writer_.HostWaitsFor(writer_.last_compute());
    }
    for (std::size_t unit = 0; unit < prepared_[chunk].size(); ++unit) {
      data_.BeforeForward({chunk, unit}, is_first_pass_[chunk]);
      const PassTasks tasks =
          writer_.Write(prepared_[chunk][unit].forward, step.microbatch, ProgramWriter::Part::kAll,
                        LoadOf(step.chunk, unit, step.microbatch));
      AfterForward({chunk, unit, step.microbatch}, tasks);
    }
    is_first_pass_[chunk] = false;
    Send(neighbours, step);
  }

  void WriteBackward(const PipelineStep& step, ProgramWriter::Part part) {
    const auto chunk = static_cast<std::size_t>(step.chunk);
    const Neighbours neighbours = NeighboursOf(step.chunk, false);
    const bool is_whole = part == ProgramWriter::Part::kAll;
    passes_left_[chunk] -= is_whole ? 1 : 0;
    Receive(neighbours, step);
    for (std::size_t i = prepared_[chunk].size(); i-- > 0 && HasBackward(chunk, i);) {
      data_.BeforeBackward({chunk, i});
      AwaitKept({chunk, i, step.microbatch});
      const RoutedLoad load = LoadOf(step.chunk, i, step.microbatch);
      const PassTasks again = writer_.Write(prepared_[chunk][i].recompute, step.microbatch,
                                            ProgramWriter::Part::kAll, load);
      PassTasks tasks = writer_.Write(prepared_[chunk][i].backward, step.microbatch, part, load);
      tasks.first = again.first != kNone ? again.first : tasks.first;
      AfterBackward(chunk, i, is_whole, tasks);
    }
    Send(neighbours, step);
  }

  void WriteWeights(const PipelineStep& step) {
    const auto chunk = static_cast<std::size_t>(step.chunk);
    --passes_left_[chunk];
    for (std::size_t i = prepared_[chunk].size(); i-- > 0;) {
      const PassTasks tasks =
          writer_.Write(prepared_[chunk][i].weights, step.microbatch, ProgramWriter::Part::kAll,
                        LoadOf(step.chunk, i, step.microbatch));
      writer_.Free(tasks.last, MemoryOf(chunk, i).category, MemoryOf(chunk, i).weight_inputs);
      data_.AfterWeights({chunk, i}, passes_left_[chunk] == 0);
    }
  }

  void WriteEnd() {
    data_.FinishGradients();
    WriteTied();
    writer_.Write(writer_.Prepare(source_.optimizer, Phase::kOptimizer, -1), -1);
    if (job_.plan.offload_optimizer) {
      WriteOffloadedUpdate(job_, OwnedParameters(job_.plan, parameters_.trained), writer_);
    }
    data_.GatherParameters();
    writer_.WriteMarker("end of step");
    writer_.HostWaitsFor(writer_.last_compute());
  }

  void WriteTied() {
    const std::int64_t bytes = source_.model.tied_bytes[source_.program];
    if (bytes == 0) {
      return;
    }
    const LayerOp sum = CommunicationOp("sum tied embedding", {.role = GroupRole::kTied,
                                                               .kind = CollectiveKind::kAllReduce,
                                                               .bytes = bytes,
                                                               .element = DataType::kFp32});
    writer_.Write(writer_.Prepare(std::span(&sum, 1), Phase::kReduce, -1), -1);
  }

  const StageSource& source_;
  const Job& job_;
  const StageUnits& units_;
  StageParameters parameters_;
  ProgramWriter writer_;
  std::optional<TokenLoad> load_;  // of experts, where it is uneven
  DataParallelCommunication<ProgramWriter> data_;
  std::vector<std::vector<PreparedUnit>> prepared_;  // by chunk
  std::vector<int> passes_left_;                     // backward, by chunk
  std::vector<bool> is_first_pass_;
  std::array<TaskId, 2> last_pass_ = {kNone, kNone};           // forward, backward
  std::map<UnitPass, TaskId> copies_out_;                      // of what units keep, to the host
  std::deque<TaskId> last_copies_;                             // of these, not waited for yet
  std::map<UnitPass, TaskId> copies_back_;                     // not waited for yet
  std::map<std::pair<GroupRole, int>, PreparedOps> messages_;  // by role and chunk
};

}  // namespace

std::int64_t OffloadedUpdatePs(const Job& job, std::int64_t parameters) {
  const auto [out_ps, update_ps, back_ps] = OffloadedPieceOf(job, parameters);
  const std::int64_t longest_ps = std::max({out_ps, update_ps, back_ps});
  return out_ps + update_ps + back_ps + (kPieces - 1) * longest_ps;
}

bool OverlapsPipelineSends(const Job& job, const PipelineShape& shape) {
  return job.framework.overlaps_pipeline_sends || shape.chunks > 1 ||
         shape.schedule == PipelineSchedule::kZeroBubble2p;
}

std::int64_t LaunchPs(const Job& job, const LayerOp& op, bool is_first) {
  int launches = op.launches;
  int calls = op.calls;
  switch (job.mechanisms.graphs ? job.framework.graphs : CudaGraphs::kOff) {
    case CudaGraphs::kOff:
      break;
    case CudaGraphs::kLayers:
      launches = op.is_dynamic ? op.launches : is_first ? 1 : 0;
      calls = op.is_dynamic ? op.calls : 0;
      break;
    case CudaGraphs::kStep:
      launches = 0;
      calls = 0;
      break;
  }
  // Communication is one call into the library, without the modules and autograd around a kernel,
  // unless the framework wraps it in Python.
  const int parts = op.communication && !job.framework.wraps_communication ? 3 : 1;
  const double call_ps = job.framework.launch_us * 1e6;
  return std::llround(call_ps) * launches / parts +
         std::llround(call_ps * job.cluster.host_ratio) * calls;
}

Result<Program> WriteStageProgram(const StageSource& source) {
  return StageWriter(source).Write();
}

}  // namespace orrery::workload
