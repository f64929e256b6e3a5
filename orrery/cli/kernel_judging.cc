#include "orrery/cli/kernel_judging.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "orrery/cli/kernel_models.h"
#include "orrery/cli/program_folder.h"
#include "orrery/cli/terminal.h"
#include "orrery/kernel/evaluation.h"
#include "orrery/kernel/fit.h"
#include "orrery/kernel/row_split.h"

namespace orrery::cli {
namespace {

Result<kernel::ModelSet> Fit(const std::vector<kernel::Measurement>& rows, ProgressLine& progress) {
  return kernel::FitModels(rows, {}, [&](std::size_t done, std::size_t total) {
    progress.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), "fitting");
  });
}

/// Learns from one part of the rows and judges the other.
Result<std::vector<kernel::JudgedRow>> JudgeSplit(const std::vector<kernel::Measurement>& rows,
                                                  const kernel::SplitRule& rule) {
  ORRERY_TRY(const std::vector<kernel::RowSplit> rounds, kernel::SplitRows(rows, rule));
  ProgressLine progress(TerminalProgress());
  std::vector<kernel::JudgedRow> judged;
  for (const kernel::RowSplit& round : rounds) {
    ORRERY_TRY(const kernel::ModelSet models, Fit(round.train, progress));
    std::vector<kernel::JudgedRow> part = kernel::Judge(models, round.test);
    judged.insert(judged.end(), part.begin(), part.end());
  }
  return judged;
}

Result<kernel::Measurements> ReadRows(const KernelJudging& judging) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(judging.paths));
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return row.spread * 100 > judging.largest_spread_percent;
  });
  if (data.rows.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "no row of the data can be used\n" + RejectedText(data));
  }
  return data;
}

}  // namespace

CLI::Option* AddJudgingOptions(CLI::App& verb, KernelJudging& judging) {
  CLI::Option* const data = verb.add_option(
      "DATA", judging.paths, "tables of `orrery measure kernels`, NeuSight or aiconfigurator");
  verb.add_option("--model", judging.models,
                  "model file to judge instead of the shipped ones; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb.add_option("--split", judging.split,
                  "fit on a part and judge the rest: random:20, gpu, gpu:NAME, value:m:20, "
                  "above:m:4096, each perhaps with :seed=7")
      ->type_name("RULE");
  verb.add_flag("--unseen-gpu", judging.is_gpu_unseen,
                "judge each row by the models of all GPUs but its own");
  verb.add_option("--max-spread", judging.largest_spread_percent,
                  "leave out rows whose repeats differ by more percent (100)")
      ->check(CLI::Range(0.0, 1e6));
  return data;
}

Result<std::vector<std::string>> OwnTables() {
  // Ceilings are rates of the machine and pairs are times beside others, not times of operators.
  constexpr std::string_view kCeilings = "ceilings";
  constexpr std::string_view kPairs = "overlap";
  const std::filesystem::path folder = (ProgramFolder() / "../data/measured").lexically_normal();
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".csv") != std::string::npos && !name.starts_with(kCeilings) &&
        !name.starts_with(kPairs)) {
      paths.push_back(entry.path().string());
    }
  }
  if (paths.empty()) {
    return Fail(
        Error::Kind::kNotFound,
        "no measured tables beside the program (data/measured of its source tree); name some");
  }
  std::ranges::sort(paths);
  return paths;
}

Result<KernelJudgement> JudgeKernels(const KernelJudging& judging) {
  std::optional<kernel::SplitRule> rule;
  if (!judging.split.empty()) {
    ORRERY_TRY(rule, kernel::SplitRule::Parse(judging.split));
  }
  KernelJudgement judgement;
  ORRERY_TRY(judgement.data, ReadRows(judging));
  if (rule) {
    judgement.split = rule->Text();
    ORRERY_TRY(judgement.rows, JudgeSplit(judgement.data.rows, *rule));
    return judgement;
  }
  ORRERY_TRY(const kernel::ModelSet models, LoadKernelModels(judging.models));
  judgement.split =
      judging.models.empty() ? "all rows, by the shipped models" : "all rows, by the given models";
  if (judging.is_gpu_unseen) {
    judgement.split += " of other GPUs";
    judgement.rows = kernel::JudgeUnseen(models, judgement.data.rows);
    return judgement;
  }
  judgement.rows = kernel::Judge(models, judgement.data.rows);
  return judgement;
}

}  // namespace orrery::cli
