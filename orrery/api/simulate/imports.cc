#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/fields/option_text.h"
#include "orrery/api/session.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/base/error.h"
#include "orrery/base/file/folder.h"
#include "orrery/compat/echo/program.h"
#include "orrery/compat/simai/program.h"
#include "orrery/compat/simai/workload.h"
#include "orrery/draw/format.h"
#include "orrery/network/topology.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/import/chakra_program.h"
#include "orrery/workload/import/chakra_trace.h"
#include "orrery/workload/input.h"
#include "orrery/workload/program.h"

namespace orrery::api {
namespace {

namespace fs = std::filesystem;

bool IsChakraName(const fs::path& path) {
  return path.extension() == ".et" || path.stem().extension() == ".et";
}

// "all_reduce.12.et" is that of rank 12; names without a number come first.
std::int64_t RankOfName(const fs::path& path) {
  const std::string stem = path.stem().string();
  const std::string_view number = std::string_view(stem).substr(stem.rfind('.') + 1);
  std::int64_t rank = -1;
  std::from_chars(number.data(), number.data() + number.size(), rank);
  return rank;
}

// No other program is a folder: one that cannot be listed is refused where these are read.
bool MayHoldChakra(const std::string& folder) {
  const auto paths = PathsIn(folder);
  return !paths || std::ranges::any_of(*paths, IsChakraName);
}

Result<std::vector<fs::path>> ChakraFiles(const std::vector<std::string>& inputs) {
  std::vector<fs::path> files;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      files.emplace_back(input);
      continue;
    }
    ORRERY_TRY(const std::vector<std::string> paths, PathsIn(input));
    std::ranges::copy_if(paths, std::back_inserter(files), IsChakraName);
  }
  std::sort(files.begin(), files.end(), [](const fs::path& lhs, const fs::path& rhs) {
    return std::pair(RankOfName(lhs), lhs) < std::pair(RankOfName(rhs), rhs);
  });
  return files;
}

// Of a folder, or of a file without the endings of its format and packing.
std::string NameOf(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const bool is_packed = path.extension() == ".gz" || path.extension() == ".zst";
    return (is_packed ? path.stem() : path).stem().string();
  }
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::vector<std::string> NotesOf(const trace::ProblemLog& problems) {
  std::vector<std::string> notes;
  for (const trace::Problem& problem : problems.all()) {
    notes.push_back(fmt::format("{} ({} times; first: {}).", problem.what,
                                draw::FormatCount(problem.count), problem.first));
  }
  return notes;
}

Result<ImportedProgram> ImportChakra(const SimulateRequest& request) {
  std::vector<workload::ChakraTrace> traces;
  trace::ProblemLog problems;
  ORRERY_TRY(const std::vector<fs::path> files, ChakraFiles(request.jobs));
  for (const fs::path& file : files) {
    ORRERY_TRY(workload::ChakraTrace trace, workload::ReadChakra(file.string()));
    problems.Merge(trace.problems);
    traces.push_back(std::move(trace));
  }
  ORRERY_TRY(workload::ChakraEnsemble chakra, workload::EnsembleOfChakra(traces));
  problems.Merge(chakra.problems);
  return ImportedProgram{.title = fmt::format("{}: Chakra traces of {} ranks",
                                              NameOf(request.jobs.front()), traces.size()),
                         .ensemble = std::move(chakra.ensemble),
                         .notes = NotesOf(problems)};
}

Result<ImportedProgram> ImportSimai(const SimulateRequest& request) {
  ORRERY_TRY(const compat::simai::Workload workload,
             compat::simai::ReadWorkload(request.jobs.front()));
  ORRERY_TRY(compat::simai::WorkloadEnsemble simai, compat::simai::MakeEnsemble(workload));
  ImportedProgram imported{
      .title = fmt::format("{}: SimAI workload, tp {}, ep {}, pp {}, {} ranks, {} micro-batches",
                           NameOf(request.jobs.front()), workload.tensor, workload.expert,
                           workload.pipeline, simai.ensemble.num_ranks(), simai.microbatches),
      .ensemble = {},
      .notes = NotesOf(simai.problems)};
  imported.ensemble = std::move(simai.ensemble);
  return imported;
}

// Every rank runs the graph, and all reduce their gradients.
workload::Ensemble DataParallel(workload::Program program, int gpus) {
  workload::Ensemble ensemble;
  ensemble.num_roles = static_cast<std::uint32_t>(program.roles.size());
  ensemble.programs.push_back(std::move(program));
  std::vector<workload::Rank> ranks;
  for (int rank = 0; rank < gpus; ++rank) {
    ranks.push_back(static_cast<workload::Rank>(rank));
    ensemble.program_of_rank.push_back(0);
    ensemble.gpu_of_rank.push_back(static_cast<network::GpuId>(rank));
    ensemble.slowness_of_rank.push_back(1);
  }
  const workload::GroupId all = ensemble.AddGroup(ranks);
  ensemble.group_of_role.assign(static_cast<std::size_t>(gpus) * ensemble.num_roles, all);
  return ensemble;
}

Result<ImportedProgram> ImportEcho(const SimulateRequest& request) {
  ORRERY_TRY(const std::vector<compat::echo::GraphNode> graph,
             compat::echo::ReadGraphs(request.jobs));
  ORRERY_TRY(const compat::echo::OperatorTimes times, compat::echo::ReadTimes(request.echo_ops));
  ORRERY_TRY(compat::echo::TracedProgram echo, compat::echo::MakeProgram(graph, times));
  ImportedProgram imported;
  const int gpus = std::max({request.gpus, request.world, 1});
  imported.title = fmt::format("{}: graph of Echo, {} nodes, {} buckets of gradients, {} rank{}",
                               NameOf(request.jobs.front()), echo.num_nodes, echo.num_buckets, gpus,
                               gpus == 1 ? "" : "s");
  const auto note = [&](const std::vector<std::string>& names, std::string_view what) {
    if (!names.empty()) {
      imported.notes.push_back(
          fmt::format("{} {} (first: {}).", names.size(), what, names.front()));
    }
  };
  note(echo.nodes_without_time, "nodes have no time and take none");
  note(echo.times_without_node, "times belong to no node and are left out");
  note(echo.inputs_without_node, "inputs belong to no node and are not awaited");
  imported.ensemble = DataParallel(std::move(echo.program), gpus);
  return imported;
}

Document DocumentOf(const compat::simai::StepTimes& step) {
  const double ns = 1e-9;
  Document document{.kind = "Orrery simulated step: SimAI"};
  std::string text = compat::simai::StepText(step);
  text.pop_back();  // the last line end
  document.AddSection()
      .Say(std::move(text))
      .Set("step_time_s", step.total_ns() * ns)
      .Set("played", "simai")
      .Set("breakdown_s", Value::Object()
                              .Set("exposed.dp", step.data_ns * ns)
                              .Set("exposed.dp_ep", step.expert_data_ns * ns)
                              .Set("exposed.tp", step.tensor_ns * ns)
                              .Set("exposed.ep", step.expert_ns * ns)
                              .Set("exposed.pp", step.pipeline_ns * ns)
                              .Set("bubble", step.bubble_ns * ns)
                              .Set("compute", step.compute_ns * ns));
  return document;
}

}  // namespace

SimulateInput InputKind(const SimulateRequest& request) {
  if (!request.from.empty() && request.echo_ops.empty()) {
    return SimulateInput::kTraced;
  }
  if (!request.echo_ops.empty()) {
    return SimulateInput::kEcho;
  }
  const fs::path first = request.jobs.front();
  std::error_code error;
  if (fs::is_directory(first, error) ? MayHoldChakra(first.string()) : IsChakraName(first)) {
    return SimulateInput::kChakra;
  }
  if (fs::is_regular_file(first, error)) {
    const auto text = workload::ReadUnpackedFile(first.string());
    if (text && compat::simai::LooksLikeWorkload(*text)) {
      return SimulateInput::kSimai;
    }
  }
  return SimulateInput::kJob;
}

Result<ImportedProgram> ImportProgram(const Session& session, SimulateInput kind,
                                      const SimulateRequest& request) {
  switch (kind) {
    case SimulateInput::kChakra:
      return ImportChakra(request);
    case SimulateInput::kEcho:
      return ImportEcho(request);
    case SimulateInput::kTraced:
      return ImportTracedJob(session, request);
    case SimulateInput::kSimai:
    case SimulateInput::kJob:
      break;
  }
  return ImportSimai(request);
}

Result<Document> EmulateSimulator(const SimulateRequest& request) {
  if (request.steps > 0) {
    return InvalidInput("--steps needs a simulated step; --emulate predicts one only");
  }
  if (request.emulate != "simai") {
    return InvalidInput("--emulate: '{}' is not a model of workloads; choose simai",
                        request.emulate);
  }
  ORRERY_TRY(const NumberSettings settings,
             ReadNumberSettings(request.settings, {{"nvlink", 360},
                                                   {"nic", 48.5},
                                                   {"nics", 8},
                                                   {"server", 8},
                                                   {"tp_overlap", 0},
                                                   {"ep_overlap", 0},
                                                   {"dp_overlap", 0},
                                                   {"dp_ep_overlap", 0}}));
  ORRERY_TRY(const compat::simai::Workload workload,
             compat::simai::ReadWorkload(request.jobs.front()));
  const compat::simai::Settings setting{
      .machine = {.nvlink_gib_per_second = settings.at("nvlink"),
                  .nic_gib_per_second = settings.at("nic"),
                  .nics_per_server = static_cast<int>(settings.at("nics")),
                  .gpus_per_server = static_cast<int>(settings.at("server"))},
      .overlap = {.tensor = settings.at("tp_overlap"),
                  .expert = settings.at("ep_overlap"),
                  .data = settings.at("dp_overlap"),
                  .expert_data = settings.at("dp_ep_overlap")}};
  ORRERY_TRY(const compat::simai::StepTimes step, compat::simai::SimulateStep(workload, setting));
  return DocumentOf(step);
}

}  // namespace orrery::api
