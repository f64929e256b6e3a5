#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/byte_source.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/learn/model_file.h"

// What verbs read: runs, jobs, measurements and models. The types are declared only, because their
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

namespace orrery::trace {
enum class AlignClocks : std::uint8_t;
struct AlignedRun;
}  // namespace orrery::trace

namespace orrery::workload {
struct JobFile;
}  // namespace orrery::workload

namespace orrery::cli {

/// The options of every verb that reads runs.
struct RunArguments {
  std::vector<std::string> paths;
  int threads = 0;
  double max_unpack_ratio = UnpackLimits{}.max_ratio;
  std::string step_marker;
};

/// Adds them to a verb; the paths are left to the verb.
void AddRunOptions(Verb& verb, RunArguments& arguments);

/// Reads the run with a progress line.
[[nodiscard]] Result<ingest::Run> ReadRunWithProgress(const RunArguments& arguments);

/// The same for verbs that only look at it, so that a run that a caller of the program has read
/// already is not copied (cli/embedding.h).
[[nodiscard]] Result<std::shared_ptr<const ingest::Run>> ReadSharedRun(
    const RunArguments& arguments);

/// A run with aligned clocks, which nobody changes any more.
struct RunToAnalyze {
  std::shared_ptr<const ingest::Run> run;
  std::shared_ptr<const trace::AlignedRun> aligned;
};

/// Reads a run and aligns its clocks; one that a caller of the program has read is taken as it is.
[[nodiscard]] Result<RunToAnalyze> ReadRunToAnalyze(RunArguments arguments,
                                                    std::vector<std::string> paths,
                                                    trace::AlignClocks align);

/// Reads a run of other paths with the same options.
[[nodiscard]] Result<ingest::Run> ReadRunWithProgress(RunArguments arguments,
                                                      std::vector<std::string> paths);

/// The options of every verb that simulates a job.
struct JobArguments {
  std::vector<std::string> settings = {};  // "plan.tp=4"
  std::string gpu = {};
  std::string cluster = {};
  std::vector<std::string> kernel_models = {};
};

/// Adds --set, --gpu and --cluster to a verb; the path of the job is left to the verb.
void AddJobOptions(Verb& verb, JobArguments& arguments);

/// Adds --models; LoadKernelModels reads them.
void AddKernelModelsOption(Verb& verb, JobArguments& arguments);

/// What the options change in a job, in the order of workload::ReadJobFile.
[[nodiscard]] std::vector<std::string> OverridesOf(const JobArguments& arguments);

/// Reads a job file and changes it by the options: what Simulate needs beside the kernel models.
[[nodiscard]] Result<workload::JobFile> ReadJob(const std::string& path,
                                                const JobArguments& arguments);

/// Dollars of a GPU hour by the name of the GPU; "": of any.
using PriceList = std::vector<std::pair<std::string, double>>;

/// Reads --price: "2.5", or "H100=2.5,A100-80GB=1.1".
[[nodiscard]] Result<PriceList> ReadPrices(const std::string& price);

/// Fails where the list has none.
[[nodiscard]] Result<double> PriceOfGpu(const PriceList& prices, const std::string& gpu);

/// Returns numbers as "0–3, 8": for messages that say which ranks and steps there are.
[[nodiscard]] std::string RangesText(std::vector<std::int64_t> numbers);

/// The words of --align.
[[nodiscard]] const std::map<std::string, trace::AlignClocks>& AlignChoices();

/// Names rows that were not used: "FILE:LINE: reason", the first few of them.
[[nodiscard]] std::vector<std::string> RejectedLines(std::span<const std::string> files,
                                                     std::span<const RejectedRow> rows);
[[nodiscard]] std::string RejectedText(std::span<const std::string> files,
                                       std::span<const RejectedRow> rows);

/// Fails where none of the measured rows can be used.
template <typename Measurements>
[[nodiscard]] Result<Measurements> WithRows(Measurements data) {
  if (data.rows.empty()) {
    return InvalidInput("no row of the data can be used\n{}",
                        RejectedText(data.files, data.rejected));
  }
  return data;
}

/// Says which measured rows were not used; returns the exit status.
template <typename Measurements>
[[nodiscard]] int NoticeRejected(const Measurements& data) {
  if (data.rejected.empty()) {
    return kExitOk;
  }
  PrintNotice(fmt::format("{} rows were not used:\n{}", data.rejected.size(),
                          RejectedText(data.files, data.rejected)));
  return kExitPartial;
}

/// Reads measured collectives: nccl-tests logs and tables (docs/formats/measured-collectives.md).
/// `cluster` names the machine of files that do not.
[[nodiscard]] Result<collective::Measurements> ReadCollectives(
    const std::vector<std::string>& paths, const std::string& cluster);

/// Says whether a file holds measured collectives: a log, or a table with their columns.
[[nodiscard]] bool IsCollectiveData(const std::string& path);

/// The models of a file, or the shipped ones when none is named.
[[nodiscard]] Result<collective::MachineModels> LoadMachineModels(const std::string& path);

/// Reads tables of measured pairs; an error where none of the rows can be used.
[[nodiscard]] Result<overlap::PairTable> ReadOverlapPairs(std::span<const std::string> paths,
                                                          std::span<const std::string> counters);

/// Reads model files; without any, the models that are part of the program, which are read once.
[[nodiscard]] Result<std::shared_ptr<const kernel::ModelSet>> LoadKernelModels(
    const std::vector<std::string>& paths);

/// Finds the GPU that --gpu names; an error suggests one.
[[nodiscard]] Result<const hardware::Gpu*> GpuNamed(const std::string& name);

/// Finds the cluster that --cluster names; an error suggests one.
[[nodiscard]] Result<const hardware::Cluster*> ClusterNamed(const std::string& name);

/// How kernels that run together slow each other down where a verb has no --overlap, or it is not
/// given: so that all verbs have the same step for a job.
[[nodiscard]] simulate::OverlapKind DefaultOverlap();

/// Adds --overlap none|analytic|model to a verb that simulates.
void AddOverlapOption(Verb& verb, simulate::OverlapKind& overlap);

/// Loads the model for --overlap model: the one that `measure overlap --pipeline` installed for
/// this user, or the one that is part of the program; nothing for the other kinds.
/// `options.overlap_model` is then the model, which must outlive the simulation.
[[nodiscard]] Result<std::shared_ptr<const overlap::Model>> LoadOverlapModel(
    simulate::SimulationOptions& options);

/// The files that a model was fitted to, for its card.
[[nodiscard]] Result<std::vector<learn::DataCard::Source>> SourcesOf(
    std::span<const std::string> paths);

/// Reads the text of --with, "a=1,b=2.5", over the settings that a model knows. An error lists
/// them.
using NumberSettings = std::map<std::string, double, std::less<>>;
[[nodiscard]] Result<NumberSettings> ReadNumberSettings(std::string_view text,
                                                        NumberSettings settings);

/// Reads a rate above zero, "200GB/s", that an option gives.
[[nodiscard]] Result<Bandwidth> RateOf(std::string_view option, std::string_view text);

/// The folder that the running program lies in; empty when the system does not tell.
[[nodiscard]] std::filesystem::path ProgramFolder();

}  // namespace orrery::cli
