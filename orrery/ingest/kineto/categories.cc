#include "orrery/ingest/kineto/categories.h"

#include <array>
#include <string_view>
#include <utility>

#include "orrery/ingest/kineto/name_table.h"

namespace orrery::ingest::kineto {
namespace {

using enum Category;

using Entry = std::pair<std::string_view, Category>;

constexpr auto kNames = std::to_array<Entry>({
    {"cpu_op", kHostOp},
    {"Operator", kHostOp},
    {"user_annotation", kHostAnnotation},
    {"gpu_user_annotation", kDeviceAnnotation},
    {"kernel", kKernel},
    {"Kernel", kKernel},
    {"gpu_memcpy", kCopy},
    {"Memcpy", kCopy},
    {"gpu_memset", kSet},
    {"Memset", kSet},
    {"mtia_ccp_events", kOtherDeviceWork},
    {"hpu_op", kOtherDeviceWork},
    {"collective_comm", kOtherDeviceWork},
    {"cuda_runtime", kRuntime},
    {"Runtime", kRuntime},
    {"cuda_driver", kDriver},
    {"mtia_runtime", kOtherApi},
    {"xpu_runtime", kOtherApi},
    {"xpu_driver", kOtherApi},
    {"glow_runtime", kOtherApi},
    {"privateuse1_runtime", kOtherApi},
    {"privateuse1_driver", kOtherApi},
    {"cuda_sync", kSync},
    {"xpu_sync", kSync},
    {"cuda_event", kEventRecord},
    {"python_function", kPython},
    {"Python", kPython},
    {"cpu_instant_event", kMemory},
    {"ac2g", kLaunchFlow},
    {"async", kLaunchFlow},
    {"async_gpu", kLaunchFlow},
    {"async_cpu_to_gpu", kLaunchFlow},
    {"fwdbwd", kForwardBackwardFlow},
});

constexpr NameTable<Category, kNames.size()> kCategories(kNames);

}  // namespace

Category FindCategory(std::string_view name) {
  return kCategories.Find(name, kOther);
}

bool IsCategoryOf2021(std::string_view name) {
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z' &&
         kCategories.Find(name, kOther) != kOther;
}

}  // namespace orrery::ingest::kineto
