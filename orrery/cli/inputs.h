#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/job_input.h"
#include "orrery/api/measured_input.h"
#include "orrery/api/option_text.h"
#include "orrery/api/price_list.h"
#include "orrery/api/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/learn/model_file.h"

// Inputs of verbs: runs, jobs, measurements and models. The types are declared only, because their
// headers take long to compile.

namespace orrery::collective {
class MachineModels;
struct Measurements;
}  // namespace orrery::collective

namespace orrery::hardware {
struct Cluster;
struct Gpu;
}  // namespace orrery::hardware

namespace orrery::ingest {
struct Run;
}  // namespace orrery::ingest

namespace orrery::kernel {
class ModelSet;
}  // namespace orrery::kernel

namespace orrery::overlap {
class Model;
struct PairTable;
}  // namespace orrery::overlap

namespace orrery::simulate {
enum class OverlapKind : std::uint8_t;
struct SimulationOptions;
}  // namespace orrery::simulate

namespace orrery::workload {
struct JobFile;
}  // namespace orrery::workload

namespace orrery::cli {

using api::ClusterNamed;
using api::GpuNamed;
using api::IsCollectiveData;
using api::LoadMachineModels;
using api::NumberSettings;
using api::OverridesOf;
using api::PriceList;
using api::PriceOfGpu;
using api::RangesText;
using api::RateOf;
using api::ReadJob;
using api::ReadNumberSettings;
using api::ReadOverlapPairs;
using api::ReadPrices;
using api::RejectedLines;
using api::RejectedText;
using api::WithRows;
using JobArguments = api::JobInput;
using RunArguments = api::RunInput;

/// Models that verbs of this process share.
[[nodiscard]] api::Session& ProgramSession();

/// The progress of a request as a line.
[[nodiscard]] api::Progress ReportTo(ProgressLine& line);

/// Adds them to a verb; the paths are left to the verb.
void AddRunOptions(Verb& verb, RunArguments& arguments);

/// Reads the run with a progress line.
[[nodiscard]] Result<ingest::Run> ReadRunWithProgress(const RunArguments& arguments);

/// Reads a run of other paths with the same options.
[[nodiscard]] Result<ingest::Run> ReadRunWithProgress(RunArguments arguments,
                                                      std::vector<std::string> paths);

/// Adds --set, --gpu and --cluster to a verb; the path of the job is left to the verb.
void AddJobOptions(Verb& verb, JobArguments& arguments);

/// Adds --models; LoadKernelModels reads them.
void AddKernelModelsOption(Verb& verb, JobArguments& arguments);

/// Says which measured rows were not used; returns the exit status.
template <typename Measurements>
[[nodiscard]] int NoticeRejected(const Measurements& data) {
  if (data.rejected.empty()) {
    return kExitOk;
  }
  PrintNotice(api::RejectedNotice(data.files, data.rejected));
  return kExitPartial;
}

/// Reads measured collectives: nccl-tests logs and tables (docs/formats/measured-collectives.md).
/// `cluster` names the machine of files that do not.
[[nodiscard]] Result<collective::Measurements> ReadMeasuredCollectives(
    const std::vector<std::string>& paths, const std::string& cluster);

/// Reads model files; without any, the models that are part of the program, which are read once.
[[nodiscard]] Result<std::shared_ptr<const kernel::ModelSet>> LoadKernelModels(
    const std::vector<std::string>& paths);

/// The folder that the running program lies in; empty when the system does not tell.
[[nodiscard]] std::filesystem::path ProgramFolder();

}  // namespace orrery::cli
