#include "bench/step_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/random_bits.h"
#include "bench/training_step.h"

namespace orrery::bench {

namespace {

constexpr int kComputeStream = 7;
constexpr int kCommunicationStream = 20;
constexpr int kMultiprocessors = 132;

std::string List(const std::vector<std::int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string ContiguousStrides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i > 1; --i) {
    strides[i - 2] = strides[i - 1] * dims[i - 1];
  }
  return List(strides);
}

template <typename Part>
std::string Joined(const std::vector<OpInput>& inputs, Part part) {
  std::vector<std::string> texts;
  for (const OpInput& input : inputs) {
    texts.push_back(part(input));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string KernelArguments(const KernelShape& kernel) {
  const double blocks = static_cast<double>(kernel.grid) / kMultiprocessors;
  const double warps = blocks * kernel.block / 32;
  return fmt::format(
      "\"registers per thread\": {},      \"shared memory\": {},      \"blocks per SM\": {:.6f},   "
      "   \"warps per SM\": {:.6f},      \"grid\": [{}, 1, 1],      \"block\": [{}, 1, 1],      "
      "\"est. achieved occupancy %\": {}",
      kernel.registers, kernel.shared_memory, blocks, warps, kernel.grid, kernel.block,
      std::min(100, static_cast<int>(warps * 100 / 64)));
}

std::string TransferArguments(std::int64_t bytes, std::int64_t duration_ns) {
  return fmt::format("\"bytes\": {}, \"memory bandwidth (GB/s)\": {}", bytes,
                     static_cast<double>(bytes) / static_cast<double>(duration_ns));
}

}  // namespace

std::string OpArguments(const std::vector<OpInput>& inputs) {
  return fmt::format(
      "\"Concrete Inputs\": {}, \"Input type\": {}, \"Input Strides\": {}, \"Input Dims\": {}, ",
      Joined(inputs, [](const OpInput& i) { return fmt::format("\"{}\"", i.concrete); }),
      Joined(inputs, [](const OpInput& i) { return fmt::format("\"{}\"", i.type); }),
      Joined(inputs, [](const OpInput& i) { return ContiguousStrides(i.dims); }),
      Joined(inputs, [](const OpInput& i) { return List(i.dims); }));
}

std::int64_t StepBuilder::Random(std::int64_t low, std::int64_t high) {
  random_state_ += kRandomIncrement;
  return low + static_cast<std::int64_t>(MixBits(random_state_) %
                                         static_cast<std::uint64_t>(high - low + 1));
}

int StepBuilder::BeginOp(std::string name, const std::vector<OpInput>& inputs) {
  Pass(300, 1500);
  HostOp op{.name = std::move(name), .arguments = OpArguments(inputs), .thread = thread_};
  op.begin_ns = now_ns_;
  step_.ops.push_back(std::move(op));
  open_ops_.push_back(static_cast<int>(step_.ops.size()) - 1);
  Pass(300, 2500);
  return open_ops_.back();
}

int StepBuilder::BeginAnnotation(std::string name) {
  const int annotation = BeginOp(std::move(name), {});
  op(annotation).is_annotation = true;
  op(annotation).arguments.clear();
  return annotation;
}

void StepBuilder::EndOp(int ended) {
  Pass(200, 900);
  op(ended).end_ns = now_ns_;
  open_ops_.pop_back();
}

int StepBuilder::BeginPython(std::string name, int module_id) {
  Pass(150, 700);
  PythonCall call{.name = std::move(name), .begin_ns = now_ns_, .module_id = module_id};
  call.parent = open_python_.empty() ? -1 : open_python_.back();
  step_.python.push_back(std::move(call));
  open_python_.push_back(static_cast<int>(step_.python.size()) - 1);
  return open_python_.back();
}

void StepBuilder::EndPython(int call) {
  Pass(100, 500);
  step_.python[static_cast<std::size_t>(call)].end_ns = now_ns_;
  open_python_.pop_back();
}

void StepBuilder::Call(std::string_view name, int callback_id) {
  RuntimeCall call{.name = std::string(name), .callback_id = callback_id, .thread = thread_};
  call.op = open_ops_.back();
  call.begin_ns = now_ns_;
  Pass(400, 2000);
  call.end_ns = now_ns_;
  step_.calls.push_back(std::move(call));
  Pass(100, 300);
}

void StepBuilder::Launch(std::string_view call, int callback_id, DeviceWork work,
                         std::int64_t duration_ns) {
  Call(call, callback_id);
  RuntimeCall& launch = step_.calls.back();
  launch.is_driver = call.starts_with("cu") && !call.starts_with("cuda");
  std::int64_t& free_ns = stream_free_ns_[work.stream];
  work.begin_ns = std::max(free_ns + 800, launch.end_ns + 1500);
  work.end_ns = work.begin_ns + duration_ns + Random(0, duration_ns / 20);
  free_ns = work.end_ns;
  launch.work = std::move(work);
}

void StepBuilder::LaunchKernel(const KernelShape& kernel) {
  DeviceWork work{.name = std::string(kernel.name), .arguments = KernelArguments(kernel)};
  work.stream = kComputeStream;
  const bool is_gemm = kernel.name.starts_with("nvjet");
  Launch(is_gemm ? "cuLaunchKernelEx" : "cudaLaunchKernel", is_gemm ? 652 : 211, std::move(work),
         kernel.duration_ns);
}

void StepBuilder::LaunchCollective(std::string_view kernel_name, std::string_view collective,
                                   std::int64_t elements, std::int64_t duration_ns) {
  const KernelShape shape{
      .name = kernel_name, .registers = 96, .shared_memory = 82240, .grid = 24, .block = 544};
  DeviceWork work{.name = std::string(kernel_name), .stream = kCommunicationStream};
  work.arguments = fmt::format(
      "{}, \"Collective name\": \"{}\", \"In msg nelems\": {}, \"Out msg nelems\": {}, \"Group "
      "size\": 8, \"dtype\": \"BFloat16\", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
      "\"Process Group Name\": \"1\", \"Process Group Description\": \"tensor_parallel\", "
      "\"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, 7]\"",
      KernelArguments(shape), collective, elements, elements);
  work.is_collective = true;
  stream_free_ns_[kCommunicationStream] =
      std::max(stream_free_ns_[kCommunicationStream], stream_free_ns_[kComputeStream]);
  Launch("cudaLaunchKernelExC", 430, std::move(work), duration_ns);
  // The next kernel on the compute stream waits for the result.
  stream_free_ns_[kComputeStream] = stream_free_ns_[kCommunicationStream];
}

void StepBuilder::LaunchCopy(std::string_view name, std::int64_t bytes) {
  const std::int64_t duration_ns = 1200 + bytes / 50;
  DeviceWork work{.kind = WorkKind::kCopy, .name = std::string(name), .stream = kComputeStream};
  work.arguments = TransferArguments(bytes, duration_ns);
  Launch("cudaMemcpyAsync", 41, std::move(work), duration_ns);
}

void StepBuilder::LaunchSet(std::int64_t bytes) {
  const std::int64_t duration_ns = 700 + bytes / 2000;
  DeviceWork work{.kind = WorkKind::kSet, .name = "Memset (Device)", .stream = kComputeStream};
  work.arguments = TransferArguments(bytes, duration_ns);
  Launch("cudaMemsetAsync", 51, std::move(work), duration_ns);
}

void StepBuilder::WaitForDevice() {
  std::int64_t last_ns = now_ns_;
  for (const auto& [stream, free_ns] : stream_free_ns_) {
    last_ns = std::max(last_ns, free_ns);
  }
  Call("cudaStreamSynchronize", 131);
  now_ns_ = std::max(now_ns_, last_ns + 2000);
  step_.calls.back().end_ns = now_ns_;
  Pass(100, 300);
}

void StepBuilder::RecordMemory(std::int64_t bytes, std::int64_t address) {
  allocated_ += bytes;
  step_.memory.push_back({.thread = thread_,
                          .at_ns = now_ns_,
                          .bytes = bytes,
                          .address = address,
                          .allocated_after = allocated_});
  Pass(100, 400);
}

void StepBuilder::Allocate(std::int64_t bytes) {
  blocks_.push_back({bytes, next_address_});
  next_address_ += bytes;
  RecordMemory(bytes, blocks_.back().address);
}

void StepBuilder::FreeOldest() {
  if (oldest_block_ < blocks_.size()) {
    const Block block = blocks_[oldest_block_++];
    RecordMemory(-block.bytes, block.address);
  }
}

void StepBuilder::FreeAll() {
  while (oldest_block_ < blocks_.size()) {
    FreeOldest();
  }
}

void StepBuilder::MirrorOnDevice(int annotation) {
  std::int64_t begin_ns = -1;
  std::int64_t end_ns = 0;
  for (const RuntimeCall& call : step_.calls) {
    if (call.work && call.begin_ns >= op(annotation).begin_ns) {
      begin_ns = begin_ns < 0 ? call.work->begin_ns : std::min(begin_ns, call.work->begin_ns);
      end_ns = std::max(end_ns, call.work->end_ns);
    }
  }
  if (begin_ns >= 0) {
    step_.device_ranges.push_back({annotation, begin_ns - 1, end_ns + 1});
  }
}

TrainingStep StepBuilder::Finish() {
  step_.duration_ns = now_ns_ + 20'000;
  return std::move(step_);
}

}  // namespace orrery::bench
