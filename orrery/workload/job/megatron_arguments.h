#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {

/// Splits a command line into words as a shell does: blanks separate, quotes keep together, a
/// backslash takes the next character as it is and joins lines, # begins a comment. Nothing is
/// expanded. Fails when a quote is not closed.
[[nodiscard]] Result<std::vector<std::string>> ShellWords(std::string_view text);

/// A job according to a command line of Megatron-LM. An argument that is not given has Megatron's
/// default.
struct MegatronJob {
  TransformerShape shape = {};
  Plan plan = {};  // but dp, which follows from the GPUs
  Training training = {};
  Framework framework = {};       // the one given, with what arguments switch
  std::optional<int> gpus = {};   // from --nnodes and --nproc-per-node of a launcher
  int optimizer_instances = 1;    // copies of the sharded optimizer over data-parallel ranks
  bool has_global_batch = false;  // else one micro-batch a replica
  std::vector<std::string> unknown = {};       // arguments that are not understood
  std::vector<std::string> not_modelled = {};  // a sentence for each thing that is left out
};

/// Reads arguments as a shell would: blanks, quotes, backslashes before line ends, comments.
/// Arguments that do not change a step's time (learning rates, paths, logging) are passed over;
/// those that are not understood are listed, and refused where they look like one that decides the
/// model, the plan or the batch. A value that cannot be read is an error that names
/// the argument.
[[nodiscard]] Result<MegatronJob> ReadMegatronArguments(std::string_view text,
                                                        const Framework& framework);

/// The layers that have experts: "1" all, "2" every second from the first on, "([0]*3+[1]*58)" as
/// Python reads it. Nothing when it is none of these.
[[nodiscard]] std::optional<std::vector<bool>> ExpertPattern(std::string_view text,
                                                             std::int64_t layers);

}  // namespace orrery::workload
