#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "orrery/memory/recording_test.h"

namespace orrery::memory {

/// Makes up a recording of everything that memory tools read: nested objects that come and go,
/// kernels, copies and launches that left nothing, seen well, badly or not at all.
class RandomRecording : public TestRecording {
 public:
  explicit RandomRecording(int num_events) {
    trace.info.format = "test";
    for (int i = 0; i < num_events; ++i) {
      AddEvent();
    }
    trace.coverage_counts.Append({.kind = trace::CoverageKind::kLaunchesSkipped,
                                  .name = trace.strings.Intern("coarse mode"),
                                  .count = 3});
  }

 private:
  void AddEvent() {
    const int what = *rc::gen::inRange(0, 8);
    if (objects_.empty() || what <= 1) {
      AddObject();
    } else if (what == 2) {
      const RowId object = *rc::gen::elementOf(objects_);
      if (trace.memory_objects.death_order[object] < 0) {
        Died(object);
      }
    } else {
      AddWork();
    }
  }

  void AddObject() {
    using trace::MemoryClass;
    const RowId parent =
        objects_.empty() || *rc::gen::inRange(0, 3) == 0 ? kNoRow : *rc::gen::elementOf(objects_);
    const RowId object =
        Born(64 * *rc::gen::inRange<std::uint64_t>(0, 300), *rc::gen::inRange(0, 9000),
             *rc::gen::element(MemoryClass::kTensor, MemoryClass::kSegment, MemoryClass::kDevice),
             parent);
    trace::MemoryObjects& objects = trace.memory_objects;
    if (AreAllFromBefore() && *rc::gen::arbitrary<bool>()) {
      objects.birth_order[object] = -1;
    }
    objects.id[object] = *rc::gen::inRange(0, 3) == 0 ? -1 : object + 100;
    objects.host_op[object] = Operator();
    objects_.push_back(object);
  }

  [[nodiscard]] bool AreAllFromBefore() const {
    for (const RowId object : objects_) {
      if (trace.memory_objects.birth_order[object] >= 0) {
        return false;
      }
    }
    return true;
  }

  RowId Operator() {
    const std::string name = *rc::gen::element<std::string>("", "aten::add", "aten::mm");
    return name.empty() ? kNoRow : trace.host_ops.Append({.name = trace.strings.Intern(name)});
  }

  void AddWork() {
    using trace::Coverage;
    if (*rc::gen::inRange(0, 10) == 0) {
      AddCopy();
      return;
    }
    const RowId launch =
        Launched(*rc::gen::element<std::string>("k<1>", "k<2>", "void gemm(int)", "copy"),
                 *rc::gen::element(Coverage::kExact, Coverage::kExact, Coverage::kPartial,
                                   Coverage::kByArgument, Coverage::kUnseen),
                 *rc::gen::inRange(0, 30));
    trace.activities.host_op[launch] = Operator();
    trace.activities.begin_ns[launch] += *rc::gen::inRange(-300, 300);
    const int best = *rc::gen::inRange(0, 4);
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      AddTouch(launch);
    }
    for (int i = best >= 2 ? *rc::gen::inRange(0, 4) : 0; i > 0; --i) {
      AddPages(launch);
    }
    for (int i = best == 3 ? *rc::gen::inRange(0, 3) : 0; i > 0; --i) {
      AddAccess(launch);
    }
  }

  void AddCopy() {
    const RowId object = *rc::gen::elementOf(objects_);
    const RowId copy = Copied("copy");
    trace.touches.Append({.activity = copy,
                          .object = object,
                          .read_bytes = *rc::gen::inRange(0, 5000),
                          .write_bytes = 0,
                          .address = trace.memory_objects.address[object],
                          .extent_bytes = 5000});
  }

  void AddTouch(RowId launch) {
    const RowId object = *rc::gen::elementOf(objects_);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        Reached(launch, object);
        break;
      case 1:
        Touched(launch, kNoRow, *rc::gen::inRange(0, 5000), 0);
        break;
      default:
        Touched(launch, object, *rc::gen::inRange(0, 5000), *rc::gen::inRange(0, 5000));
    }
  }

  void AddPages(RowId launch) {
    const std::int64_t page_bytes = *rc::gen::element(32, 512, 4096);
    const auto page = static_cast<std::uint64_t>(page_bytes);
    trace.page_runs.Append({.activity = launch,
                            .object = *rc::gen::elementOf(objects_),
                            .address = *rc::gen::inRange<std::uint64_t>(0, 25'000) / page * page,
                            .num_pages = *rc::gen::inRange(0, 6),
                            .page_bytes = page_bytes,
                            .accesses = *rc::gen::inRange(-1, 300)});
  }

  void AddAccess(RowId launch) {
    trace.accesses.Append({.activity = launch,
                           .lane_mask = *rc::gen::arbitrary<std::uint32_t>(),
                           .access_bytes = *rc::gen::element(1, 4, 16),
                           .address = *rc::gen::inRange<std::uint64_t>(1000, 25'000),
                           .stride = *rc::gen::inRange(-8, 200)});
  }

  std::vector<RowId> objects_;
};

}  // namespace orrery::memory
