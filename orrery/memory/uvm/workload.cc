#include "orrery/memory/uvm/workload.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/check.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/round_up.h"

namespace orrery::memory::uvm {
WorkloadBuilder::WorkloadBuilder(std::int64_t page_bytes, std::int64_t block_bytes)
    : block_bytes_(block_bytes) {
  ORRERY_CHECK(page_bytes > 0 && block_bytes % page_bytes == 0, "pages divide blocks");
  ORRERY_CHECK(block_bytes / page_bytes <= PageMask::kMaxPages, "a block is one mask");
  workload_.page_bytes = page_bytes;
  workload_.pages_per_block = static_cast<int>(block_bytes / page_bytes);
}

std::size_t WorkloadBuilder::AddRoot(const AddressRange& memory, RowId row) {
  const auto block_bytes = static_cast<std::uint64_t>(block_bytes_);
  const auto in_block = static_cast<std::int64_t>(memory.address % block_bytes);
  const auto next_block = static_cast<std::int64_t>(workload_.NumBlocks());
  const std::int64_t page_bytes = workload_.page_bytes;
  const std::int64_t first = in_block / page_bytes;
  const std::int64_t end = DivideUp(in_block + memory.bytes, page_bytes);
  workload_.roots.push_back(
      {.pages = {.first = next_block * workload_.pages_per_block + first, .count = end - first},
       .row = row});
  memory_of_root_.push_back(memory);
  return workload_.roots.size() - 1;
}

PageRange WorkloadBuilder::PagesOf(std::size_t root, const AddressRange& memory) const {
  const AddressRange& around = memory_of_root_[root];
  const auto page_bytes = static_cast<std::uint64_t>(workload_.page_bytes);
  const std::uint64_t begin = std::max(memory.address, around.address);
  const std::uint64_t end =
      std::min(memory.address + static_cast<std::uint64_t>(std::max<std::int64_t>(memory.bytes, 0)),
               around.address + static_cast<std::uint64_t>(around.bytes));
  if (begin >= end) {
    return {};
  }
  const std::uint64_t base = around.address / page_bytes;
  const auto first = static_cast<std::int64_t>(begin / page_bytes - base);
  const auto last = static_cast<std::int64_t>((end - 1) / page_bytes - base);
  return {.first = workload_.roots[root].pages.first + first, .count = last - first + 1};
}

std::optional<std::size_t> WorkloadBuilder::AddObject(std::size_t root, const AddressRange& memory,
                                                      RowId row) {
  const PageRange pages = PagesOf(root, memory);
  if (pages.count == 0) {
    return std::nullopt;
  }
  const std::size_t object = workload_.objects.size();
  workload_.objects.push_back({.pages = pages, .root = root, .container = object, .row = row});
  return object;
}

std::size_t WorkloadBuilder::AddOperator(std::string_view name) {
  const std::int64_t occurrence = occurrences_[std::string(name)]++;
  workload_.operators.push_back(
      {.name = std::string(name), .occurrence = occurrence, .first_work = workload_.works.size()});
  return workload_.operators.size() - 1;
}

void WorkloadBuilder::AddWork(std::size_t op, std::int64_t duration_ns) {
  workload_.works.push_back(
      {.op = op, .duration_ns = duration_ns, .first_touch = workload_.touches.size()});
}

void WorkloadBuilder::AddTouch(std::size_t object, const AddressRange& memory) {
  AddTouch(object, PagesOf(workload_.objects[object].root, memory));
}

void WorkloadBuilder::AddTouch(std::size_t object) {
  AddTouch(object, workload_.objects[object].pages);
}

void WorkloadBuilder::AddTouch(std::size_t object, const PageRange& pages) {
  if (pages.count > 0) {
    Work& work = workload_.works.back();
    ++work.num_touches;
    workload_.touches.push_back({.pages = pages, .object = object});
    workload_.operators[work.op].objects.push_back(object);
  }
}

Workload WorkloadBuilder::Finish() {
  for (Operator& op : workload_.operators) {
    std::ranges::sort(op.objects);
    op.objects.erase(std::unique(op.objects.begin(), op.objects.end()), op.objects.end());
  }
  return std::exchange(workload_, {});
}

}  // namespace orrery::memory::uvm
