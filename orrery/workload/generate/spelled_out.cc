#include "orrery/workload/generate/spelled_out.h"

#include <array>
#include <span>
#include <string_view>

#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/operators.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kWideBytes = 4;

/// A kernel over elements: operands of the type that is trained in, and of fp32.
struct SpelledMap {
  std::string_view function;
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  std::int64_t wide_reads = 0;
  std::int64_t wide_writes = 0;
  std::int64_t share = 1;   // one element of so many
  bool is_strided = false;  // heads lie side by side, and are read one after another
};

std::vector<Step> StepsOf(std::span<const SpelledMap> maps, const Step& like, std::int64_t n,
                          const Scene& scene) {
  const std::int64_t e = scene.element_bytes;
  std::vector<Step> steps;
  for (const SpelledMap& map : maps) {
    const bool is_wide = map.wide_reads + map.wide_writes > 0;
    kernel::Operator op =
        Elementwise(map.function, n / map.share, map.reads * e + map.wide_reads * kWideBytes,
                    map.writes * e + map.wide_writes * kWideBytes,
                    is_wide ? kernel::DataType::kFp32 : scene.type);
    if (map.is_strided) {
      op.Set(kernel::Key::kMode, "strided");
    }
    steps.push_back(OperatorStep(like.name, like.category, op));
  }
  return steps;
}

// Cast, square, mean, product with the root's inverse, cast back, product with the weight.
constexpr std::array<SpelledMap, 6> kNormForward{{
    {.function = "other", .reads = 1, .wide_writes = 1},
    {.function = "pow", .wide_reads = 1, .wide_writes = 1},
    {.function = "other", .wide_reads = 1},
    {.function = "mul", .wide_reads = 1, .wide_writes = 1},
    {.function = "other", .writes = 1, .wide_reads = 1},
    {.function = "mul", .reads = 1, .writes = 1},
}};

constexpr std::array<SpelledMap, 13> kNormBackward{{
    {.function = "mul", .reads = 2, .writes = 1},  // the weight's gradient, and its sum
    {.function = "other", .reads = 1},
    {.function = "mul", .reads = 1, .writes = 1},  // through the weight and the cast
    {.function = "other", .reads = 1, .wide_writes = 1},
    {.function = "mul", .wide_reads = 1, .wide_writes = 1},  // to the input, and to the root
    {.function = "mul", .wide_reads = 2, .wide_writes = 1},
    {.function = "other", .wide_reads = 1},
    {.function = "div", .wide_writes = 1},  // of the mean, spread over the row
    {.function = "pow", .wide_reads = 1, .wide_writes = 1},
    {.function = "mul", .wide_reads = 1, .wide_writes = 1},
    {.function = "mul", .wide_reads = 2, .wide_writes = 1},
    {.function = "add", .wide_reads = 2, .wide_writes = 1},  // both gradients of the input
    {.function = "other", .writes = 1, .wide_reads = 1},
}};

// x · cos + turned x · sin, where turned is a negated half and the other half side by side.
constexpr std::array<SpelledMap, 5> kRopeForward{{
    {.function = "mul", .reads = 1, .writes = 1, .is_strided = true},
    {.function = "other", .reads = 1, .writes = 1, .share = 2, .is_strided = true},
    {.function = "other", .reads = 1, .writes = 1, .is_strided = true},
    {.function = "mul", .reads = 1, .writes = 1, .is_strided = true},
    {.function = "add", .reads = 2, .writes = 1, .is_strided = true},
}};

constexpr std::array<SpelledMap, 10> kRopeBackward{{
    {.function = "mul", .reads = 1, .writes = 1, .is_strided = true},
    {.function = "mul", .reads = 1, .writes = 1, .is_strided = true},
    {.function = "other", .reads = 1, .writes = 1, .share = 2, .is_strided = true},
    {.function = "other", .writes = 1},  // each half is put into zeros
    {.function = "other", .writes = 1},
    {.function = "other", .reads = 1, .writes = 1, .share = 2, .is_strided = true},
    {.function = "other", .reads = 1, .writes = 1, .share = 2, .is_strided = true},
    {.function = "add", .reads = 2, .writes = 1, .is_strided = true},
    {.function = "add", .reads = 2, .writes = 1, .is_strided = true},
    {.function = "other",
     .reads = 1,
     .writes = 1,
     .is_strided = true},  // heads back beside each other
}};

}  // namespace

std::vector<Step> SpelledOutRmsNorm(Pass pass, std::int64_t n, const Scene& scene) {
  const Step like{.name = "norm", .category = Category::kNorm};
  return pass == Pass::kForward ? StepsOf(kNormForward, like, n, scene)
                                : StepsOf(kNormBackward, like, n, scene);
}

std::vector<Step> SpelledOutRope(Pass pass, std::int64_t n, const Scene& scene) {
  const Step like{.name = "rope", .category = Category::kElementwise};
  return pass == Pass::kForward ? StepsOf(kRopeForward, like, n, scene)
                                : StepsOf(kRopeBackward, like, n, scene);
}

std::vector<Step> SumsOfBranches(int branches, std::int64_t n, const Scene& scene) {
  constexpr SpelledMap kSum{.function = "add", .reads = 2, .writes = 1};
  const Step like{.name = "sum gradients of input", .category = Category::kElementwise};
  return StepsOf(std::vector<SpelledMap>(static_cast<std::size_t>(branches - 1), kSum), like, n,
                 scene);
}

}  // namespace orrery::workload
