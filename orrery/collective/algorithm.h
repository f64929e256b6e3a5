#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace orrery::collective {

/// Collective algorithms. The first seven are NCCL's, in its order.
enum class Algorithm {
  kTree,
  kRing,
  kCollnetDirect,
  kCollnetChain,
  kNvls,
  kNvlsTree,
  kPat,
  kHierarchical,  // inside nodes, then between them along rails; no library's tuner chooses it
  kDirect,        // pairs of send and receive
};

inline constexpr std::size_t kNumTunedAlgorithms = 7;

inline constexpr std::array<Algorithm, kNumTunedAlgorithms> kTunedAlgorithms = {
    Algorithm::kTree,         Algorithm::kRing, Algorithm::kCollnetDirect,
    Algorithm::kCollnetChain, Algorithm::kNvls, Algorithm::kNvlsTree,
    Algorithm::kPat};

/// The way in which a rank detects that data has arrived.
enum class Protocol {
  kLl,      // a flag in each word of 8 bytes
  kLl128,   // a flag in each line of 128 bytes
  kSimple,  // counters and fences
};

inline constexpr std::size_t kNumProtocols = 3;

inline constexpr std::array<Protocol, kNumProtocols> kProtocols = {Protocol::kLl, Protocol::kLl128,
                                                                   Protocol::kSimple};

/// As NCCL_ALGO spells them ("CollnetDirect", "NVLSTree"); "Hierarchical" and "Direct" are ours.
[[nodiscard]] std::string_view Name(Algorithm algorithm);

/// As NCCL_PROTO spells them.
[[nodiscard]] std::string_view Name(Protocol protocol);

}  // namespace orrery::collective
