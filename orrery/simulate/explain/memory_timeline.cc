#include "orrery/simulate/explain/memory_timeline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::Program;

constexpr std::int64_t kSmallPiece = 512;
constexpr std::int64_t kLargePiece = 2 << 20;

std::int64_t Rounded(std::int64_t bytes) {
  const std::int64_t piece = bytes < kLargePiece ? kSmallPiece : kLargePiece;
  return (bytes + piece - 1) / piece * piece;
}

/// Memory in use, by category.
class Usage {
 public:
  explicit Usage(bool rounds) : rounds_(rounds) {}

  void Add(StringId category, std::int64_t bytes) {
    std::int64_t& held = bytes_of_category_[category];
    total_ -= Counted(held);
    held += bytes;
    total_ += Counted(held);
  }

  [[nodiscard]] std::int64_t total() const { return total_; }

  [[nodiscard]] std::vector<MemoryPart> Parts(const Program& program) const {
    std::vector<MemoryPart> parts;
    for (const auto& [category, bytes] : bytes_of_category_) {
      if (bytes != 0) {
        parts.push_back({std::string(program.strings.View(category)), Counted(bytes)});
      }
    }
    std::ranges::stable_sort(parts, std::greater{}, &MemoryPart::bytes);
    return parts;
  }

 private:
  [[nodiscard]] std::int64_t Counted(std::int64_t bytes) const {
    return rounds_ && bytes > 0 ? Rounded(bytes) : bytes;
  }

  bool rounds_;
  std::map<StringId, std::int64_t> bytes_of_category_;
  std::int64_t total_ = 0;
};

void AddPoint(std::vector<MemoryPoint>& curve, std::int64_t at_ps, std::int64_t bytes) {
  if (curve.empty() || curve.back().at_ps != at_ps) {
    curve.push_back({at_ps, bytes});
  }
  curve.back().bytes = bytes;
}

// Memory that is held from the begin to the end leaves no gaps.
std::int64_t HeldBytes(const workload::Program& program) {
  std::int64_t held = 0;
  for (RowId row = 0; row < program.held_memory.size(); ++row) {
    held += program.held_memory.bytes[row];
  }
  return held;
}

StageMemory MemoryOfRankClass(const RankClasses& rank_classes, const Timeline& timeline,
                              RankClassId rank_class) {
  MemoryTimeline memory = MemoryOf(rank_classes, timeline, rank_class, /*rounds=*/true);
  const std::int64_t passing =
      std::max<std::int64_t>(0, memory.peak_bytes - HeldBytes(rank_classes.ProgramOf(rank_class)));
  const double gaps =
      workload::DefaultMemoryConstants().fragmentation * static_cast<double>(passing);
  return {.program = rank_classes.classes[rank_class].program,
          .rank_class = rank_class,
          .peak_bytes = memory.peak_bytes,
          .needed_bytes = memory.peak_bytes + std::llround(gaps),
          .peak_ps = memory.peak_ps,
          .parts = std::move(memory.parts)};
}

/// Memory in use, category by category, and the fullest state of each column.
class ColumnWriter {
 public:
  explicit ColumnWriter(std::size_t num_columns) { columns_.bytes.resize(num_columns); }

  void Change(StringId category, std::string_view name, std::int64_t bytes) {
    const auto [place, is_new] = number_of_category_.try_emplace(category, in_use_.size());
    if (is_new) {
      columns_.categories.emplace_back(name);
      in_use_.push_back(0);
    }
    in_use_[place->second] += bytes;
    total_ += bytes;
  }

  /// The state holds from this column on.
  void Note(std::size_t column) {
    for (; next_ <= column; ++next_) {
      columns_.bytes[next_] = in_use_;
      fullest_total_ = total_;
    }
    if (total_ > fullest_total_) {
      columns_.bytes[column] = in_use_;
      fullest_total_ = total_;
    }
  }

  MemoryColumns Finish() && {
    Note(columns_.bytes.size() - 1);
    for (std::vector<std::int64_t>& column : columns_.bytes) {
      column.resize(columns_.categories.size());
    }
    return std::move(columns_);
  }

 private:
  MemoryColumns columns_;
  std::map<StringId, std::size_t> number_of_category_;
  std::vector<std::int64_t> in_use_;
  std::int64_t total_ = 0;
  std::int64_t fullest_total_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<MemoryStep> MemorySteps(const Program& program, const Timeline& timeline,
                                    std::size_t first) {
  std::vector<MemoryStep> steps;
  steps.reserve(program.memory_changes.size());
  for (RowId row = 0; row < program.memory_changes.size(); ++row) {
    const workload::MemoryChanges::Row change = program.memory_changes.At(row);
    const std::size_t index = first + change.task;
    steps.push_back({.at_ps = change.bytes < 0 ? timeline.end_ps[index] : timeline.begin_ps[index],
                     .task = change.task,
                     .category = change.category,
                     .bytes = change.bytes});
  }
  std::ranges::stable_sort(steps, {}, [](const MemoryStep& step) {
    return std::tuple(step.at_ps, step.task, step.bytes < 0);
  });
  return steps;
}

MemoryTimeline MemoryOf(const RankClasses& rank_classes, const Timeline& timeline,
                        RankClassId rank_class, bool rounds) {
  const Program& program = rank_classes.ProgramOf(rank_class);
  Usage usage(rounds);
  for (RowId row = 0; row < program.held_memory.size(); ++row) {
    usage.Add(program.held_memory.category[row], program.held_memory.bytes[row]);
  }
  MemoryTimeline memory;
  memory.peak_bytes = usage.total();
  Usage at_peak = usage;
  AddPoint(memory.curve, 0, usage.total());
  for (const MemoryStep& step : MemorySteps(program, timeline, timeline.First(rank_class))) {
    usage.Add(step.category, step.bytes);
    AddPoint(memory.curve, step.at_ps, usage.total());
    if (usage.total() > memory.peak_bytes) {
      memory.peak_bytes = usage.total();
      memory.peak_ps = step.at_ps;
      at_peak = usage;
    }
  }
  memory.parts = at_peak.Parts(program);
  return memory;
}

MemoryColumns MemoryColumnsOf(const RankClasses& rank_classes, const Timeline& timeline,
                              RankClassId rank_class, std::size_t num_columns) {
  const workload::Program& program = rank_classes.ProgramOf(rank_class);
  const double step_ps = static_cast<double>(std::max<std::int64_t>(timeline.EndPs(), 1));
  ColumnWriter writer(num_columns);
  for (std::size_t row = 0; row < program.held_memory.size(); ++row) {
    const StringId category = program.held_memory.category[row];
    writer.Change(category, program.strings.View(category), program.held_memory.bytes[row]);
  }
  writer.Note(0);
  for (const MemoryStep& step : MemorySteps(program, timeline, timeline.First(rank_class))) {
    const double share = static_cast<double>(step.at_ps) / step_ps;
    const auto column = static_cast<std::size_t>(share * static_cast<double>(num_columns));
    const std::size_t clipped = std::min(column, num_columns - 1);
    // Memory in use until now was in use at the begin of this column, too.
    writer.Note(clipped);
    writer.Change(step.category, program.strings.View(step.category), step.bytes);
    writer.Note(clipped);
  }
  return std::move(writer).Finish();
}

std::int64_t UsableBytes(const hardware::Gpu& gpu) {
  return std::llround(static_cast<double>(gpu.memory_size.count) *
                      workload::DefaultMemoryConstants().usable);
}

std::int64_t AllocatedBytes(const StageMemory& stage, const hardware::Gpu& gpu) {
  const workload::MemoryConstants& constants = workload::DefaultMemoryConstants();
  std::int64_t bytes = stage.peak_bytes + constants.workspace_bytes;
  for (const MemoryPart& part : stage.parts) {
    const bool is_outside =
        part.category == "CUDA context" || part.category == "communication buffers";
    bytes -= is_outside ? part.bytes : 0;
  }
  const bool is_narrow =
      gpu.generation == "volta" || gpu.generation == "turing" || gpu.generation == "ampere";
  return bytes + (is_narrow ? 0 : constants.wide_workspace_bytes);
}

MemoryAnswer MemoryAnswerOf(const RankClasses& rank_classes, const Timeline& timeline,
                            const workload::Job& job) {
  MemoryAnswer answer;
  std::vector<bool> is_seen(rank_classes.programs.size(), false);
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    // Ranks of a program hold the same, on the same GPU; when is a matter of moments.
    const workload::ProgramId program = rank_classes.classes[rank_class].program;
    if (!is_seen[program]) {
      is_seen[program] = true;
      answer.stages.push_back(MemoryOfRankClass(rank_classes, timeline, rank_class));
      answer.stages.back().usable_bytes =
          UsableBytes(workload::GpuOfRank(job, rank_classes.classes[rank_class].rank));
    }
  }
  std::ranges::sort(answer.stages, {}, &StageMemory::program);
  const auto fullest = std::ranges::min_element(answer.stages, {}, &StageMemory::free_bytes);
  answer.fullest = static_cast<std::size_t>(fullest - answer.stages.begin());
  return answer;
}

}  // namespace orrery::simulate
