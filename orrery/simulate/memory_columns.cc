#include "orrery/simulate/memory_columns.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "orrery/simulate/memory_timeline.h"

namespace orrery::simulate {
namespace {

/// What is in use, category by category, and the fullest state of each column.
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
    // What was in use until now was so at the begin of this column.
    writer.Note(clipped);
    writer.Change(step.category, program.strings.View(step.category), step.bytes);
    writer.Note(clipped);
  }
  return std::move(writer).Finish();
}

}  // namespace orrery::simulate
