#include "capture/sanitizer/host/sanitizer_driver_calls.h"

#include <cstddef>
#include <cstdint>

// Comes after sanitizer.h, which has types of it.
#include <generated_cuda_meta.h>

// Calls of the driver that launch, or make tensor maps, translated.

namespace orrery::capture::sanitizer {
namespace {

std::uint64_t Number(const volatile void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Of the driver's own functions only these: each callback costs.
constexpr Sanitizer_CallbackId kDriverFunctions[] = {
    SANITIZER_CBID_DRIVER_API_cuLaunchKernel,
    SANITIZER_CBID_DRIVER_API_cuLaunchKernel_ptsz,
    SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx,
    SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx_ptsz,
    SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel,
    SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel_ptsz,
    SANITIZER_CBID_DRIVER_API_cuTensorMapEncodeTiled,
    SANITIZER_CBID_DRIVER_API_cuTensorMapEncodeIm2col,
    SANITIZER_CBID_DRIVER_API_cuTensorMapEncodeIm2colWide,
    SANITIZER_CBID_DRIVER_API_cuTensorMapReplaceAddress};

/// Parameters in one block: pairs of a name and a pointer, up to an end mark.
std::span<const std::byte> BlockIn(void* const* extra) {
  const std::byte* block = nullptr;
  std::size_t bytes = 0;
  for (; extra != nullptr && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      block = static_cast<const std::byte*>(extra[1]);
    } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = *static_cast<const std::size_t*>(extra[1]);
    }
  }
  return block == nullptr ? std::span<const std::byte>() : std::span(block, bytes);
}

LaunchCall CallOf(CUfunction function, void* const* parameters, void* const* extra) {
  return {.function = {Number(function)},
          .parameters = const_cast<const void* const*>(parameters),
          .block = BlockIn(extra)};
}

/// The first arguments of all functions that encode a tensor map, in order; functions differ only
/// in what follows.
struct EncodeParameters {
  const CUtensorMap* map;
  CUtensorMapDataType type;
  cuuint32_t rank;
  const void* address;
  const cuuint64_t* shape;
  const cuuint64_t* strides;  // of all dimensions but the first
};

struct EncodeTiledParameters {
  EncodeParameters common;
  const cuuint32_t* box;
};

std::uint64_t ElementBytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 4;
  }
}

void OnEncode(Session& session, const EncodeParameters& parameters, const cuuint32_t* box) {
  const auto rank = static_cast<std::ptrdiff_t>(parameters.rank);
  TensorMapEvent event{.map = {reinterpret_cast<const std::byte*>(parameters.map), kTensorMapBytes},
                       .address = Number(parameters.address),
                       .element_bytes = ElementBytes(parameters.type),
                       .shape = {parameters.shape, parameters.shape + rank},
                       .strides_bytes = {},
                       .box = {}};
  if (parameters.strides != nullptr && rank > 1) {
    event.strides_bytes.assign(parameters.strides, parameters.strides + rank - 1);
  }
  if (box != nullptr) {
    event.box.assign(box, box + rank);
  }
  session.OnTensorMap(event);
}

void OnReplaceAddress(Session& session, const void* parameters) {
  struct Parameters {
    const CUtensorMap* map;
    const void* address;
  };

  const auto& replaced = *static_cast<const Parameters*>(parameters);
  TensorMapEvent event;
  event.map = {reinterpret_cast<const std::byte*>(replaced.map), kTensorMapBytes};
  event.address = Number(replaced.address);
  session.OnTensorMap(event);
}

void OnLaunchEnter(Session& session, Sanitizer_CallbackId id, const void* parameters) {
  switch (id) {
    case SANITIZER_CBID_DRIVER_API_cuLaunchKernel:
    case SANITIZER_CBID_DRIVER_API_cuLaunchKernel_ptsz: {
      const auto& call = *static_cast<const cuLaunchKernel_params*>(parameters);
      return session.OnLaunchCall(CallOf(call.f, call.kernelParams, call.extra));
    }
    case SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx:
    case SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx_ptsz: {
      const auto& call = *static_cast<const cuLaunchKernelEx_params*>(parameters);
      return session.OnLaunchCall(CallOf(call.f, call.kernelParams, call.extra));
    }
    case SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel:
    case SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel_ptsz: {
      const auto& call = *static_cast<const cuLaunchCooperativeKernel_params*>(parameters);
      return session.OnLaunchCall(CallOf(call.f, call.kernelParams, nullptr));
    }
    default:
      return;
  }
}

// Returns whether it was one of these.
bool OnEncodeExit(Session& session, Sanitizer_CallbackId id, const void* parameters) {
  switch (id) {
    case SANITIZER_CBID_DRIVER_API_cuTensorMapEncodeTiled: {
      const auto& call = *static_cast<const EncodeTiledParameters*>(parameters);
      OnEncode(session, call.common, call.box);
      return true;
    }
    case SANITIZER_CBID_DRIVER_API_cuTensorMapEncodeIm2col:
    case SANITIZER_CBID_DRIVER_API_cuTensorMapEncodeIm2colWide:
      OnEncode(session, *static_cast<const EncodeParameters*>(parameters), nullptr);
      return true;
    case SANITIZER_CBID_DRIVER_API_cuTensorMapReplaceAddress:
      OnReplaceAddress(session, parameters);
      return true;
    default:
      return false;
  }
}

}  // namespace

void OnDriverCallback(Session& session, Sanitizer_CallbackId id,
                      const Sanitizer_CallbackData& data) {
  if (data.callbackSite == SANITIZER_API_ENTER) {
    return OnLaunchEnter(session, id, data.functionParams);
  }
  const auto* const result = static_cast<const CUresult*>(data.functionReturnValue);
  const bool is_well = result == nullptr || *result == CUDA_SUCCESS;
  if (!is_well || !OnEncodeExit(session, id, data.functionParams)) {
    session.OnLaunchCallDone();
  }
}

std::span<const Sanitizer_CallbackId> DriverFunctions() {
  return kDriverFunctions;
}

}  // namespace orrery::capture::sanitizer
