#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// The step of a recorded or traced rank on a GPU, and the time of single operators, of a collective
// on a cluster, and of a kernel that runs beside communication.

namespace orrery::api {

/// A rank, or all ranks of a job, as an execution trace or a recording.
struct PredictTraceRequest {
  std::string trace = {};                // file, or a folder of all ranks
  std::string gpu = {};                  // empty: the recorded one
  std::vector<std::string> models = {};  // files; empty: the shipped ones
  std::string host = {};                 // a file or a name; empty: the shared costs
  std::string cluster = {};              // of several ranks; empty: one with the GPU
  std::string kineto = {};               // recording of the same job, for an execution trace
  std::string kernels = "auto";          // or measured, model
  bool tf32 = false;                     // products of fp32 may run in TF32
  std::string measured = {};             // recording to compare with
  int repetitions = 4;
  RunInput run = {};  // options of reading; its paths are not used
  CallOptions call = {};
};

struct PredictedModels {
  std::int64_t calls = 0;
  std::int64_t unknown_calls = 0;
  std::int64_t operators_of_this_gpu = 0;
  std::int64_t operators_of_siblings = 0;
  std::int64_t operators_of_all_gpus = 0;
  std::int64_t operators_by_roofline = 0;
  std::int64_t operators_extrapolated = 0;
};

/// Costs of the host. Counts are of one rank; of several there is only the source.
struct PredictedHost {
  std::string source;
  std::optional<std::int64_t> operators = {};
  std::optional<std::int64_t> recomputed_operators = {};
  std::optional<std::int64_t> launches = {};
  std::optional<std::int64_t> waits = {};
  std::optional<std::int64_t> costs_by_name = {};
  std::optional<std::int64_t> costs_as_recorded = {};
  std::optional<std::int64_t> costs_by_kind = {};
  std::optional<std::int64_t> costs_global = {};
  std::optional<std::int64_t> costs_unknown = {};
  std::optional<double> pace = {};  // of a recording
  std::optional<double> pace_under_profiler = {};
  std::optional<std::int64_t> pace_operators = {};
  std::optional<double> profiler_us = {};
  std::optional<double> operators_s = {};
  std::optional<double> program_s = {};
  std::optional<double> loader_batch_s = {};
};

struct PredictedOperator {
  std::string name;
  std::int64_t calls = 0;
  double predicted_s = 0;
  double measured_s = 0;
};

struct PredictedRank {
  std::int64_t rank = 0;
  double begin_s = 0;
  double step_time_s = 0;
  double wait_for_ranks_s = 0;
  std::optional<double> measured_step_s = {};
  std::optional<double> error = {};
};

struct ReplayedStep;

struct PredictTraceResult {
  std::string trace;
  std::string gpu;
  std::optional<std::string> cluster = {};  // of several ranks

  // Of one rank.
  std::optional<double> step_time_s = {};
  std::optional<double> low_s = {};
  std::optional<double> high_s = {};
  std::optional<double> active_time_s = {};
  std::optional<double> host_bound = {};
  std::optional<double> idle_for_host_s = {};
  std::optional<double> idle_other_s = {};
  std::optional<std::int64_t> kernels = {};

  std::string kernel_times;  // their source
  double unmodelled_share = 0;
  std::optional<PredictedModels> models = {};
  PredictedHost host = {};
  std::optional<double> measured_step_s = {};
  std::vector<PredictedOperator> worst_operators = {};
  std::vector<PredictedRank> ranks = {};  // of several
  std::vector<std::string> not_modelled = {};

  // Not part of the JSON.
  bool is_partial = false;                                // something of the input is lost
  std::shared_ptr<const report::Document> document = {};  // without its data
  std::shared_ptr<const ReplayedStep> replayed = {};      // of one rank, for WriteTrace
};

struct PredictKernelsRequest {
  std::vector<std::string> operators;  // "gemm m=4096 n=4096 k=4096 bf16"
  std::string gpu;
  bool sustained = false;
  double power = 0;                      // W, with sustained; 0: the GPU's own limit
  std::vector<std::string> models = {};  // files; empty: the shipped ones
  CallOptions call = {};
};

struct PredictedKernel {
  std::string op;
  std::string gpu;
  double time_s = 0;
  double low_s = 0;
  double high_s = 0;
  double uncertainty = 0;
  double roofline_s = 0;
  double flops = 0;
  double bytes = 0;
  std::string source;
  bool extrapolated = false;
  std::optional<std::string> alignment_from = {};
  std::optional<double> library_factor = {};
  bool is_memory_bound = false;  // by the roofline; not part of the JSON
};

struct PredictKernelsResult {
  std::vector<PredictedKernel> kernels;
};

struct PredictCollectiveRequest {
  std::string collective;  // "allreduce 64MiB bf16"
  std::string cluster = {};
  int gpus = 0;
  int gpus_per_node = 0;  // 0: all
  std::string env = {};   // variables of NCCL: "NCCL_ALGO=Ring"
  std::string nccl = {};  // version; empty: the model's
  std::string model = {};
  std::string matrix = {};    // file of an uneven all-to-all
  std::string emulate = {};   // name of another simulator
  std::string settings = {};  // of it
  bool flow = false;
  CallOptions call = {};
};

struct PredictCollectiveResult {
  std::string collective;
  std::optional<double> bytes = {};
  std::optional<std::string> played = {};  // simulator that was emulated
  std::optional<int> gpus = {};
  std::optional<std::string> cluster = {};
  std::optional<double> time_s = {};
  std::optional<double> low_s = {};
  std::optional<double> high_s = {};
  std::optional<std::string> algorithm = {};
  std::optional<std::string> protocol = {};
  std::optional<int> channels = {};
  std::optional<double> algorithm_gb_per_s = {};
  std::optional<double> bus_gb_per_s = {};
  std::optional<std::string> bottleneck = {};
  std::optional<std::string> model = {};
  std::optional<std::string> model_machine = {};
  std::optional<std::string> model_source = {};
  std::optional<double> busiest_link_bytes = {};  // of an uneven all-to-all
  std::optional<double> busiest_nic_bytes = {};
  std::optional<double> time_ns = {};  // of an emulated simulator
  std::int64_t model_gpus = 0;         // most GPUs of the model's measurements; not in the JSON
};

struct PredictOverlapRequest {
  std::string op;  // of the kernel
  std::string gpu;
  double alone_us = 0;       // measured; 0: predicted
  std::int64_t blocks = 16;  // of communication
  double gbps = 0;           // of the communication alone
  std::string pattern = "reduce_copy";
  std::string place = "hbm";
  std::string priority = "same";
  // Launch of the kernel; 0: not known.
  std::int64_t grid = 0;
  int block = 0;
  int registers = 0;
  int shared = 0;
  std::string model = {};  // file; empty: the shipped one
  CallOptions call = {};
};

struct PredictOverlapResult {
  std::string op;
  std::string gpu;
  double alone_us = 0;
  double together_us = 0;
  double low_us = 0;
  double high_us = 0;
  double stretch = 1;
  double communication_stretch = 1;
  double analytic_stretch = 1;
  double memory_load = 0;
  double wait_at_half_us = 0;

  // Not part of the JSON.
  double analytic_room = 1;
  double analytic_memory = 1;
  std::string communication;  // "16 blocks of communication (reduce_copy, 100 GB/s)"
};

[[nodiscard]] ORRERY_API Result<PredictTraceResult> PredictTrace(
    const Session& session, const PredictTraceRequest& request);

/// Writes the predicted step of one rank as .orr.
[[nodiscard]] ORRERY_API Status WriteTrace(const PredictTraceResult& result,
                                           const std::string& path);

[[nodiscard]] ORRERY_API Result<PredictKernelsResult> PredictKernels(
    const Session& session, const PredictKernelsRequest& request);

[[nodiscard]] ORRERY_API Result<PredictCollectiveResult> PredictCollective(
    const Session& session, const PredictCollectiveRequest& request);

[[nodiscard]] ORRERY_API Result<PredictOverlapResult> PredictOverlap(
    const Session& session, const PredictOverlapRequest& request);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const PredictTraceResult& result);

/// One operator is an object in JSON, several are a list.
[[nodiscard]] ORRERY_API report::Document MakeDocument(const PredictKernelsResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const PredictCollectiveResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const PredictOverlapResult& result);

ORRERY_HAS_FIELDS(PredictTraceRequest);
ORRERY_HAS_FIELDS(PredictedModels);
ORRERY_HAS_FIELDS(PredictedHost);
ORRERY_HAS_FIELDS(PredictedOperator);
ORRERY_HAS_FIELDS(PredictedRank);
ORRERY_HAS_FIELDS(PredictTraceResult);
ORRERY_HAS_FIELDS(PredictKernelsRequest);
ORRERY_HAS_FIELDS(PredictedKernel);
ORRERY_HAS_FIELDS(PredictKernelsResult);
ORRERY_HAS_FIELDS(PredictCollectiveRequest);
ORRERY_HAS_FIELDS(PredictCollectiveResult);
ORRERY_HAS_FIELDS(PredictOverlapRequest);
ORRERY_HAS_FIELDS(PredictOverlapResult);

}  // namespace orrery::api
