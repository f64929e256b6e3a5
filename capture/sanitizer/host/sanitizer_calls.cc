#include "capture/sanitizer/host/sanitizer_calls.h"

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <sanitizer.h>

#include "capture/sanitizer/device/patch_list.h"

// The calls, translated. Nothing is decided here. Only query functions of the driver are used; they
// are looked up by name, so that this imports neither driver nor runtime.

namespace orrery::capture::sanitizer {
namespace {

template <typename Pointer, typename Tag>
Pointer As(Handle<Tag> handle) {
  return reinterpret_cast<Pointer>(handle.value);  // NOLINT(performance-no-int-to-ptr)
}

void* AsPointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// A function of the driver, or null.
template <typename Function>
Function* DriverFunction(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

template <typename Function, typename... Arguments>
CallResult CallDriver(Function* function, Arguments... arguments) {
  return function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
}

struct InstructionName {
  const char* name;
  Sanitizer_InstructionId id;
};

#define ORRERY_INSTRUCTION(instruction, patch, empty) \
  {#instruction, SANITIZER_INSTRUCTION_##instruction},
constexpr InstructionName kInstructions[] = {ORRERY_PATCHES(ORRERY_INSTRUCTION)};
#undef ORRERY_INSTRUCTION

class Calls : public VendorCalls {
 public:
  CallResult AddPatches(ContextHandle context, const void* image) override {
    const OwnCall own;
    return sanitizerAddPatches(image, As<CUcontext>(context));
  }

  CallResult PatchInstructions(const char* instruction, ModuleHandle module,
                               const char* patch) override {
    for (const InstructionName& known : kInstructions) {
      if (std::strcmp(known.name, instruction) == 0) {
        const OwnCall own;
        return sanitizerPatchInstructions(known.id, As<CUmodule>(module), patch);
      }
    }
    return SANITIZER_ERROR_INVALID_PARAMETER;
  }

  CallResult PatchModule(ModuleHandle module) override {
    const OwnCall own;
    return sanitizerPatchModule(As<CUmodule>(module));
  }

  CallResult Allocate(ContextHandle context, std::uint64_t bytes, std::uint64_t* address) override {
    const OwnCall own;
    void* memory = nullptr;
    const CallResult result = sanitizerAlloc(As<CUcontext>(context), &memory, bytes);
    *address = reinterpret_cast<std::uint64_t>(memory);
    return result;
  }

  CallResult AllocateHost(ContextHandle context, std::uint64_t bytes, void** memory) override {
    const OwnCall own;
    return sanitizerAllocHost(As<CUcontext>(context), memory, bytes);
  }

  CallResult Free(ContextHandle context, std::uint64_t address) override {
    const OwnCall own;
    return sanitizerFree(As<CUcontext>(context), AsPointer(address));
  }

  CallResult FreeHost(ContextHandle context, void* memory) override {
    const OwnCall own;
    return sanitizerFreeHost(As<CUcontext>(context), memory);
  }

  CallResult Memset(std::uint64_t address, int value, std::uint64_t bytes,
                    StreamHandle stream) override {
    const OwnCall own;
    return sanitizerMemset(AsPointer(address), value, bytes, As<Sanitizer_StreamHandle>(stream));
  }

  CallResult CopyToDevice(std::uint64_t address, const void* source, std::uint64_t bytes,
                          StreamHandle stream) override {
    const OwnCall own;
    return sanitizerMemcpyHostToDeviceAsync(AsPointer(address), const_cast<void*>(source), bytes,
                                            As<Sanitizer_StreamHandle>(stream));
  }

  CallResult CopyToHost(void* destination, std::uint64_t address, std::uint64_t bytes,
                        StreamHandle stream) override {
    const OwnCall own;
    return sanitizerMemcpyDeviceToHost(destination, AsPointer(address), bytes,
                                       As<Sanitizer_StreamHandle>(stream));
  }

  CallResult Synchronize(StreamHandle stream) override {
    const OwnCall own;
    return sanitizerStreamSynchronize(As<Sanitizer_StreamHandle>(stream));
  }

  CallResult SetLaunchData(LaunchHandle launch, FunctionHandle function, StreamHandle stream,
                           std::uint64_t address) override {
    const OwnCall own;
    return sanitizerSetLaunchCallbackData(As<Sanitizer_LaunchHandle>(launch),
                                          As<CUfunction>(function),
                                          As<Sanitizer_StreamHandle>(stream), AsPointer(address));
  }

  // A launch names a function, or a kernel that no context has loaded as one. The query may load
  // its module, which is the program's and has to be patched: this is not an OwnCall.
  CallResult ParameterInfo(FunctionHandle function, std::uint32_t index,
                           ParameterPlace* place) override {
    static auto* const of_function =
        DriverFunction<CUresult(CUfunction, std::size_t, std::size_t*, std::size_t*)>(
            "cuFuncGetParamInfo");
    static auto* const of_kernel =
        DriverFunction<CUresult(CUkernel, std::size_t, std::size_t*, std::size_t*)>(
            "cuKernelGetParamInfo");
    std::size_t offset = 0;
    std::size_t bytes = 0;
    CallResult result =
        CallDriver(of_function, As<CUfunction>(function), std::size_t{index}, &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_NOT_FOUND) {
      result = CallDriver(of_kernel, As<CUkernel>(function), std::size_t{index}, &offset, &bytes);
    }
    *place = {offset, bytes};
    return result;
  }

  CallResult FunctionPlace(ModuleHandle module, const char* name, std::uint64_t* pc,
                           std::uint64_t* bytes) override {
    const OwnCall own;
    return sanitizerGetFunctionPcAndSize(As<CUmodule>(module), name, pc, bytes);
  }

  CallResult FactsOf(std::uint64_t device, DeviceFacts* facts) override;

  const char* TextOf(CallResult result) override {
    const char* text = nullptr;
    const auto code = static_cast<SanitizerResult>(result);
    return sanitizerGetResultString(code, &text) == SANITIZER_SUCCESS && text != nullptr
               ? text
               : "an error without a name";
  }
};

std::string UuidText(const CUuuid& uuid) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "GPU-";
  for (std::size_t index = 0; index < sizeof(uuid.bytes); ++index) {
    const auto byte = static_cast<unsigned char>(uuid.bytes[index]);
    text += index == 4 || index == 6 || index == 8 || index == 10 ? "-" : "";
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xfU];
  }
  return text;
}

std::int64_t AttributeOf(CUdevice device, CUdevice_attribute attribute) {
  static auto* const ask =
      DriverFunction<CUresult(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
  int value = -1;
  return CallDriver(ask, &value, attribute, device) == 0 ? value : -1;
}

CallResult Calls::FactsOf(std::uint64_t device, DeviceFacts* facts) {
  static auto* const name_of = DriverFunction<CUresult(char*, int, CUdevice)>("cuDeviceGetName");
  static auto* const memory_of =
      DriverFunction<CUresult(std::size_t*, CUdevice)>("cuDeviceTotalMem_v2");
  static auto* const uuid_of = DriverFunction<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid_v2");
  const OwnCall own;
  const auto number = static_cast<CUdevice>(device);
  std::array<char, 256> name{};
  std::size_t memory_bytes = 0;
  CUuuid uuid{};
  if (CallDriver(name_of, name.data(), static_cast<int>(name.size()), number) == 0) {
    facts->name = name.data();
  }
  if (CallDriver(memory_of, &memory_bytes, number) == 0) {
    facts->memory_bytes = static_cast<std::int64_t>(memory_bytes);
  }
  if (CallDriver(uuid_of, &uuid, number) == 0) {
    facts->uuid = UuidText(uuid);
  }
  facts->multiprocessors = AttributeOf(number, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts->compute_major = AttributeOf(number, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts->compute_minor = AttributeOf(number, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return 0;
}

}  // namespace

std::unique_ptr<VendorCalls> SanitizerCalls() {
  return std::make_unique<Calls>();
}

std::string DriverVersion() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  file >> version;
  return version;
}

std::string ToolkitVersion() {
  return "CUDA " + std::to_string(CUDA_VERSION / 1000) + "." +
         std::to_string(CUDA_VERSION % 1000 / 10);
}

}  // namespace orrery::capture::sanitizer
