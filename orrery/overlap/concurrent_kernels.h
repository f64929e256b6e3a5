#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"

namespace orrery::overlap {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The launch of a kernel and the resources of a block; 0 if unknown.
struct LaunchShape {
  std::int64_t blocks = 0;
  int threads = 0;       // of a block
  int registers = 0;     // of a thread
  int shared_bytes = 0;  // of a block, without the driver's reservation
  int cluster = 1;       // blocks that must fit within one cluster of multiprocessors

  [[nodiscard]] bool IsKnown() const { return blocks > 0 && threads > 0; }

  bool operator==(const LaunchShape&) const = default;
};

/// Hardware counters of a kernel alone, in percent; kUnknown if not measured.
struct Counters {
  double compute = kUnknown;  // SM throughput, of the peak
  double memory = kUnknown;   // … of the busiest memory unit
  double dram = kUnknown;     // … of device memory
  double l1_hit = kUnknown;
  double l2_hit = kUnknown;
  double achieved_occupancy = kUnknown;
  double theoretical_occupancy = kUnknown;
};

inline constexpr std::pair<std::string_view, double Counters::*> kCounterColumns[] = {
    {"compute_pct", &Counters::compute},
    {"memory_pct", &Counters::memory},
    {"dram_pct", &Counters::dram},
    {"l1_hit_pct", &Counters::l1_hit},
    {"l2_hit_pct", &Counters::l2_hit},
    {"achieved_occupancy_pct", &Counters::achieved_occupancy},
    {"theoretical_occupancy_pct", &Counters::theoretical_occupancy}};

/// The library of a kernel by its name: kernels of one family behave alike when overlapped.
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

/// The usual family of an operator kind ("gemm") on a GPU: GEMMs with one persistent block per
/// multiprocessor since Hopper, many waves of blocks before.
[[nodiscard]] Family DefaultFamily(const hardware::Gpu& gpu, std::string_view kind);

struct ComputeKernel {
  std::string_view kind = {};  // operator name: "gemm", "attention"; outlives this
  double alone_us = 0;
  double flops = kUnknown;
  double bytes = kUnknown;       // minimum device memory traffic
  double flops_peak = kUnknown;  // peak FLOP/s of its type, 0 for none
  LaunchShape shape = {};
  Counters counters = {};
  Family family = Family::kOther;
  double tiles = kUnknown;      // of a GEMM's result
  bool operands_rotate = true;  // operands are not in the cache at its start
};

/// Memory accesses of a communication kernel per byte sent.
enum class Pattern : std::uint8_t {
  kCopy,           // reads it and writes it
  kReduceCopy,     // reads it and the other operand, writes the sum
  kSpin,           // none: waits for peers
  kLowLatency,     // half of each line are flags
  kLowLatency128,  // eight of 128 bytes are a flag
};

enum class Place : std::uint8_t { kDeviceMemory, kCache, kHost };

enum class Priority : std::uint8_t { kSame, kCommunication, kCompute };

[[nodiscard]] std::string_view PatternName(Pattern pattern);
[[nodiscard]] std::string_view PlaceName(Place place);
[[nodiscard]] Result<Pattern> PatternOf(std::string_view name);
[[nodiscard]] Result<Place> PlaceOf(std::string_view name);
[[nodiscard]] Result<Priority> PriorityOf(std::string_view name);
[[nodiscard]] double TrafficOfPayload(Pattern pattern);

/// A communication kernel. Its payload rate is that of sending alone.
struct CommunicationKernel {
  LaunchShape shape = {};
  Pattern pattern = Pattern::kCopy;
  Place place = Place::kDeviceMemory;
  Priority priority = Priority::kSame;
  double payload_gbps = 0;
  double chunk_bytes = 0;  // between two checks of flags; 0 if unknown
};

struct Machine {
  std::string_view generation = {};  // of the catalogue: "hopper"
  int sms = 0;
  int sm_clusters = 1;     // GPCs, as equal as possible
  int registers = 65'536;  // of a multiprocessor, like the following
  int shared_bytes = 0;
  std::vector<int> shared_steps = {};  // configurable sizes of shared memory, ascending
  int threads = 2'048;
  int block_slots = 32;
  int reserved_shared_bytes = 1'024;  // of each block, for the driver
  double memory_gbps = 0;             // achievable, not nominal
  double cache_bytes = 0;
};

/// Returns the machine of a GPU of the catalogue, with the measured share of its memory bandwidth.
[[nodiscard]] Machine MachineOf(const hardware::Gpu& gpu);

struct Pair {
  ComputeKernel compute = {};
  CommunicationKernel communication = {};
};

/// The time of each kernel while both run, relative to its time alone; at least 1.
struct Slowdown {
  double compute = 1;
  double communication = 1;

  bool operator==(const Slowdown&) const = default;
};

struct Arrival {
  bool compute_is_first = true;
  double since_us = 0;  // time since the first launch
  double first_us = 0;  // duration of the first alone
};

/// One launch of each kernel, the second at a set time after the first.
struct KernelOverlap {
  bool compute_is_first = true;
  double offset_us = 0;         // of the second launch
  double communication_us = 0;  // communication alone
};

/// Slowdown of kernels that share a GPU: contention while both run, and queueing while one of them
/// has no room on the multiprocessors. Implemented by the analytic and the learned model.
class Model {
 public:
  virtual ~Model() = default;

  virtual void Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                         std::span<Slowdown> slowdowns) const = 0;

  /// The delay of the second kernel until its whole first wave of blocks has started.
  [[nodiscard]] virtual double DelayUs(const Machine& machine, const Pair& pair,
                                       const Arrival& arrival) const = 0;

  [[nodiscard]] Slowdown SlowdownOf(const Machine& machine, const Pair& pair) const {
    Slowdown slowdown;
    Slowdowns(machine, {&pair, 1}, {&slowdown, 1});
    return slowdown;
  }
};

}  // namespace orrery::overlap
