#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"

namespace orrery::overlap {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// How a kernel is launched and what one block of it takes; 0 where it is not known.
struct LaunchShape {
  std::int64_t blocks = 0;
  int threads = 0;       // of a block
  int registers = 0;     // of a thread
  int shared_bytes = 0;  // of a block, without what the driver reserves
  int cluster = 1;       // blocks that must find room within one cluster of multiprocessors

  [[nodiscard]] bool IsKnown() const { return blocks > 0 && threads > 0; }

  bool operator==(const LaunchShape&) const = default;
};

/// What hardware counters say of a kernel alone, in per cent; kUnknown where nobody counted.
struct Counters {
  double compute = kUnknown;  // throughput of the multiprocessors, of the peak
  double memory = kUnknown;   // … of the memory's busiest part
  double dram = kUnknown;     // … of device memory
  double l1_hit = kUnknown;
  double l2_hit = kUnknown;
  double achieved_occupancy = kUnknown;
  double theoretical_occupancy = kUnknown;
};

/// Who wrote a kernel, as its name tells: kernels of one family behave alike beside others.
enum class Family : std::uint8_t {
  kOther,
  kNvjet,       // cuBLAS for Hopper and later
  kHopperXmma,  // cuBLAS and cuDNN with warp groups
  kXmma,
  kCutlassTensor,
  kCutlassPlain,
  kOtherGemm,
  kAttention,
  kFramework,
};

[[nodiscard]] Family FamilyOf(std::string_view kernel_name);

/// Whose kernel a GPU usually runs for an operator kind ("gemm"): products that fill the GPU with
/// one persistent block a multiprocessor since Hopper, many waves of blocks before.
[[nodiscard]] Family UsualFamily(const hardware::Gpu& gpu, std::string_view kind);

/// The kernel that computes.
struct ComputeKernel {
  std::string_view kind = {};  // as operators are called: "gemm", "attention"; outlives the side
  double alone_us = 0;
  double flops = kUnknown;
  double bytes = kUnknown;       // the least that it moves through device memory
  double flops_peak = kUnknown;  // operations a second at best with its type, 0 for none
  LaunchShape shape = {};
  Counters counters = {};
  Family family = Family::kOther;
  double tiles = kUnknown;      // of the result of a product, that its blocks share out
  bool operands_rotate = true;  // nothing of them is in the cache when it begins
};

/// What a communication kernel does with memory for each byte that it sends on.
enum class Pattern : std::uint8_t {
  kCopy,           // reads it and writes it
  kReduceCopy,     // reads it and what it is added to, and writes the sum
  kSpin,           // nothing: it waits for others
  kLowLatency,     // lines of which half are flags
  kLowLatency128,  // lines of 128 bytes of which eight are a flag
};

enum class Place : std::uint8_t { kDeviceMemory, kCache, kHost };

/// Whose stream goes first when blocks wait for room.
enum class Priority : std::uint8_t { kSame, kCommunication, kCompute };

[[nodiscard]] std::string_view PatternName(Pattern pattern);
[[nodiscard]] std::string_view PlaceName(Place place);
[[nodiscard]] std::string_view PriorityName(Priority priority);
[[nodiscard]] Result<Pattern> PatternOf(std::string_view name);
[[nodiscard]] Result<Place> PlaceOf(std::string_view name);
[[nodiscard]] Result<Priority> PriorityOf(std::string_view name);

/// Bytes that go through memory for each byte of payload.
[[nodiscard]] double TrafficOfPayload(Pattern pattern);

/// The kernel that communicates. Its payload is what it sends on, alone.
struct CommunicationKernel {
  LaunchShape shape = {};
  Pattern pattern = Pattern::kCopy;
  Place place = Place::kDeviceMemory;
  Priority priority = Priority::kSame;
  double payload_gbps = 0;
  double chunk_bytes = 0;  // between two looks at flags; 0 where it is not known
};

/// What a GPU has that kernels share.
struct Machine {
  std::string_view generation = {};  // of the catalogue: "hopper"
  int sms = 0;
  int sm_clusters = 1;     // groups of multiprocessors (GPCs), as even as may be
  int registers = 65'536;  // of a multiprocessor, as what follows
  int shared_bytes = 0;
  std::vector<int> shared_steps = {};  // sizes that may be set aside for shared memory, ascending
  int threads = 2'048;
  int block_slots = 32;
  int reserved_shared_bytes = 1'024;  // of each block, for the driver
  double memory_gbps = 0;             // what kernels reach, not what is printed
  double cache_bytes = 0;
};

/// Takes the machine from the catalogue and data/hardware's measured share of the memory's
/// bandwidth.
[[nodiscard]] Machine MachineOf(const hardware::Gpu& gpu);

}  // namespace orrery::overlap
