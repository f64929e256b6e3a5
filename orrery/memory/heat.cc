#include "orrery/memory/heat.h"

#include <algorithm>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/memory/heat_launch.h"
#include "orrery/memory/recorded_work.h"

namespace orrery::memory {
namespace {


constexpr std::array<std::string_view, 3> kUnitNames{"accesses", "launches", "nanoseconds"};
constexpr std::array<std::string_view, kNumHeatSources> kSourceNames{
    "single accesses", "counts of pages, spread over the page",
    "counts of objects, spread over the object"};

}  // namespace

std::string_view WindowUnitName(WindowUnit unit) {
  return kUnitNames[static_cast<std::size_t>(unit)];
}

std::string_view HeatSourceName(HeatSource source) {
  return kSourceNames[static_cast<std::size_t>(source)];
}

const DescribedObject* AccessHeat::Find(ObjectNumber object) const {
  const auto found = std::ranges::lower_bound(described, object, {}, &DescribedObject::object);
  return found == described.end() || found->object != object ? nullptr : &*found;
}

class HeatCounter::Work {
 public:
  explicit Work(const HeatOptions& options) : options_(options), counts_(options) {}

  Status Add(const trace::Trace& piece) {
    const RecordedWork work(piece);
    LaunchHeat launches(work, counts_);
    counts_.objects.BeginPiece(piece);
    work.ForEach([&](const WorkItem& item) {
      if (item.activity == kNoRow || counts_.windows.AreTooMany()) {
        return;
      }
      const std::int64_t begin_ns = piece.activities.begin_ns[item.activity];
      first_ns_ = first_ns_.value_or(begin_ns);
      if (work.IsKernel(item)) {
        AddKernel(item, std::max<std::int64_t>(0, begin_ns - *first_ns_), launches);
      }
    });
    counts_.objects.EndPiece();
    if (counts_.windows.AreTooMany()) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("windows of {} {} are more than 1000000 in all; choose larger ones",
                              *options_.window, WindowUnitName(options_.unit)));
    }
    return {};
  }

  AccessHeat Finish() {
    AccessHeat heat{.total_accesses = counts_.windows.total(), .window = counts_.windows.window()};
    counts_.objects.Finish(heat);
    counts_.blocks.Finish(options_.block_bytes, heat);
    heat.source_accesses = by_source_;
    heat.num_without_counts = num_without_;
    return heat;
  }

 private:
  void AddKernel(const WorkItem& item, std::int64_t since_first_ns, LaunchHeat& launches) {
    const std::int64_t before = counts_.windows.total();
    counts_.windows.BeginLaunch(options_.unit == WindowUnit::kLaunches ? counts_.num_launches
                                                                       : since_first_ns);
    const std::optional<HeatSource> source = launches.Add(item);
    ++counts_.num_launches;
    if (source) {
      by_source_[static_cast<std::size_t>(*source)] += counts_.windows.total() - before;
    } else {
      ++num_without_;
    }
  }

  HeatOptions options_;
  HeatCounts counts_;
  std::optional<std::int64_t> first_ns_;
  std::array<std::int64_t, kNumHeatSources> by_source_{};
  std::int64_t num_without_ = 0;
};

HeatCounter::HeatCounter(const HeatOptions& options) {
  ORRERY_CHECK(options.block_bytes > 0 && options.window.value_or(1) > 0,
               "blocks and windows have a size");
  work_ = std::make_unique<Work>(options);
}

HeatCounter::~HeatCounter() = default;

Status HeatCounter::Add(const trace::Trace& piece) {
  return work_->Add(piece);
}

AccessHeat HeatCounter::Finish() {
  return work_->Finish();
}

Result<AccessHeat> HeatOf(const trace::Trace& trace, const HeatOptions& options) {
  HeatCounter counter(options);
  ORRERY_TRY_STATUS(counter.Add(trace));
  return counter.Finish();
}

}  // namespace orrery::memory
