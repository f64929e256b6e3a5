// Operators that no mapping knows, from the bytes that they read and write.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/text/table.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/embedded_operators.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"

namespace orrery::kernel {
namespace {

using enum Key;

/// Kernels of an operator, as long as those of a plain element-wise one that moves so many bytes.
struct Kernels {
  std::int64_t count = 1;
  double latency_bytes = 0;
  double factor = 1;  // of the bytes that the operator reads and writes
};

using KernelsOfName = std::map<std::string, Kernels, std::less<>>;

KernelsOfName ReadKernels() {
  const auto table = ParseCsv(kEmbeddedOperators);
  ORRERY_CHECK(table, "data/models/operators.csv");
  KernelsOfName kernels;
  for (std::size_t row = 0; row < table->num_rows(); ++row) {
    const auto number = [&](std::string_view column) {
      return table->Number(row, column).value_or(0);
    };
    kernels[std::string(*table->Text(row, "operator"))] = {
        .count = std::llround(number("kernels")),
        .latency_bytes = number("latency_bytes"),
        .factor = number("factor")};
  }
  return kernels;
}

const KernelsOfName& MeasuredKernels() {
  static const KernelsOfName kKernels = ReadKernels();
  return kKernels;
}

// A form that works in place takes as long as one that does not.
const Kernels* FindMeasured(std::string_view name) {
  const bool is_in_place = name.ends_with('_');
  const std::string other = is_in_place ? std::string(name.substr(0, name.size() - 1))
                                        : std::string(name) + "_";
  for (const std::string_view form : {name, std::string_view(other)}) {
    const auto found = MeasuredKernels().find(form);
    if (found != MeasuredKernels().end()) {
      return &found->second;
    }
  }
  return nullptr;
}

struct ClassWords {
  std::string_view name;
  std::string_view words;
};

// The same order as in tools/fit_operators.py; the first with a word of the name counts.
constexpr auto kClasses = std::to_array<ClassWords>({
    {"*fft", "fft"},
    {"*algebra", "linalg cholesky lu_ _lu svd qr eig inverse triangular ldl ormqr lstsq"},
    {"*taps", "linear1d bilinear2d trilinear bicubic"},
    {"*sample", "upsample grid_sampl pool im2col col2im interpolate"},
    {"*product", "conv bmm _mm addmm addmv matmul bilinear cdist attention"},
    {"*sort", "sort topk kthvalue median mode unique randperm multinomial coalesce"},
    {"*scan", "cum scan"},
    {"*place",
     "index gather scatter take put embedding masked nonzero histc histogram bincount one_hot "
     "segment searchsorted bucketize isin sparse pad roll flip select"},
    {"*lists", "_foreach _fused"},
    {"*random", "standard_gamma dirichlet poisson binomial"},
    {"*special", "special_ gamma zeta erf lcm gcd"},
});
constexpr std::string_view kElementwise = "*elementwise";

struct MovedBytes {
  double read = 0;
  double written = 0;

  [[nodiscard]] double Sum() const { return read + written; }
};

// A tensor that is passed twice is read once, and of one at most `most_read` bytes.
MovedBytes BytesOf(const AtenCall& call, std::optional<double> most_read) {
  MovedBytes bytes;
  std::vector<const AtenTensor*> seen;
  for (const AtenTensor* input : call.InputTensors()) {
    const bool is_again = std::ranges::any_of(seen, [&](const AtenTensor* before) {
      return before->storage && before->storage == input->storage &&
             before->offset == input->offset && before->dims == input->dims;
    });
    seen.push_back(input);
    const double read = std::min(input->Bytes(), most_read.value_or(input->Bytes()));
    bytes.read += input->on_gpu && !is_again ? read : 0;
  }
  for (const AtenTensor& output : call.outputs) {
    bytes.written += output.on_gpu ? output.Bytes() : 0;
  }
  return bytes;
}

std::string_view ClassOf(std::string_view name) {
  const std::string_view plain = PlainName(name);
  for (const ClassWords& one : kClasses) {
    bool has_word = false;
    ForEachWord(one.words, [&](std::string_view word) {
      has_word = has_word || plain.find(word) != std::string_view::npos;
    });
    if (has_word) {
      return one.name;
    }
  }
  return kElementwise;
}

const Kernels& KernelsOfClass(std::string_view name) {
  static const Kernels kPlain;
  const auto of_class = MeasuredKernels().find(name);
  return of_class == MeasuredKernels().end() ? kPlain : of_class->second;
}

// A name without a measurement. Places are looked up in a table, which is not read as a whole. What
// is read beyond four times the result is reduced, which takes longer by as little as keeps a
// larger result from taking less.
double CountedBytes(const AtenCall& call, std::string_view class_name) {
  constexpr double kReduces = 4;
  const MovedBytes bytes = BytesOf(call, std::nullopt);
  if (class_name == "*place" && bytes.written > 0) {
    return BytesOf(call, bytes.written).Sum();
  }
  const double reduced = class_name == kElementwise
                             ? std::max(bytes.read - kReduces * bytes.written, 0.0) / kReduces
                             : 0;
  return bytes.Sum() + reduced;
}

std::int64_t LargestPrime(std::int64_t number) {
  std::int64_t prime = 2;
  while (prime * prime <= number) {
    if (number % prime == 0) {
      number /= prime;
    } else {
      ++prime;
    }
  }
  return number;
}

constexpr std::int64_t kLongestPass = 1 << 14;

std::int64_t PassesOver(std::int64_t length) {
  constexpr std::int64_t kLargestPrime = 127;
  constexpr std::int64_t kConvolutionPasses = 4;
  return LargestPrime(length) > kLargestPrime ? kConvolutionPasses : length > kLongestPass ? 2 : 1;
}

/// The passes of a Fourier transform over its tensors, as capture/operator_calls/table.py counts
/// them: one for each dimension, two for a long one, three for a long one of real numbers, and
/// those of a convolution for a length with a large prime; 1 for other operators.
std::int64_t PassesOf(const AtenCall& call) {
  const AtenTensor* input = call.TensorAt(0);
  const AtenTensor* output = call.Output();
  if (!call.name.starts_with("aten::_fft_") || input == nullptr || output == nullptr ||
      input->dims.size() != output->dims.size() || input->dims.empty()) {
    return 1;
  }
  std::int64_t passes = 0;
  std::int64_t longest = 0;
  for (const std::int64_t dim : call.IntegersAt(1)) {
    const std::size_t index = DimensionIndex(dim, input->dims.size());
    const std::int64_t length = std::max(input->dims[index], output->dims[index]);
    longest = std::max(longest, length);
    passes += PassesOver(length);
  }
  const bool is_real = !call.name.ends_with("c2c");
  return std::max<std::int64_t>(passes + (is_real && longest > kLongestPass ? 1 : 0), 1);
}

/// Element-wise kernels that read and write so many bytes together.
std::vector<Operator> Moving(double bytes, std::int64_t kernels) {
  constexpr std::int64_t kElementBytes = 4;  // as many are read as written
  const double elements = bytes / static_cast<double>(2 * kElementBytes * kernels);
  const Operator kernel = Operator(OperatorKind::kElementwise, DataType::kFp32)
                              .Set(kFunction, "other")
                              .Set(kN, std::max<std::int64_t>(std::llround(elements), 1))
                              .Set(kReadBytes, kElementBytes)
                              .Set(kWriteBytes, kElementBytes)
                              .Set(kMode, "contiguous");
  return std::vector<Operator>(static_cast<std::size_t>(kernels), kernel);
}

}  // namespace

bool IsMeasured(std::string_view name) {
  return FindMeasured(name) != nullptr;
}

std::vector<Operator> WideWindows(const Operator& convolution) {
  const Kernels kernels = MeasuredKernels().find("wide windows")->second;
  const double bytes = kernels.factor * WorkOf(convolution).flops;
  return Moving(bytes, kernels.count * convolution.Get(kGroups));
}

AtenOperators UnlistedOperators(const AtenCall& call) {
  const Kernels* const measured = FindMeasured(call.name);
  const std::string_view class_name = ClassOf(call.name);
  const Kernels& kernels = measured != nullptr ? *measured : KernelsOfClass(class_name);
  const double bytes =
      measured != nullptr ? BytesOf(call, std::nullopt).Sum() : CountedBytes(call, class_name);
  const std::int64_t passes = PassesOf(call);
  return {.meaning = AtenMeaning::kUnknown,
          .operators =
              Moving(kernels.latency_bytes + kernels.factor * static_cast<double>(passes) * bytes,
                     kernels.count * passes)};
}

}  // namespace orrery::kernel
