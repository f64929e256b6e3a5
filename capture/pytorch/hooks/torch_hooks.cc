// Tells the recording library of this process what PyTorch does: memory of its caching allocator
// and operators. Built on the machine against the PyTorch that is installed there (`make -C capture
// pytorch-hooks`), since it binds to that build. The callbacks run with the allocator's lock held,
// on any thread: no GIL, no Python, nothing that waits.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/record_function.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>

#include "python_stack.h"

namespace {

using c10::cuda::CUDACachingAllocator::TraceEntry;

constexpr int kSegment = 1;
constexpr int kTensor = 2;
constexpr int kRequested = 1;
constexpr int kCompleted = 2;
constexpr std::size_t kMaxDevices = 64;

/// The functions of capture/recorder/recorder_api.h, found by name in the library that is injected.
struct Recorder {
  void (*allocated)(int, uint64_t, uint64_t, uint64_t, int, uint64_t, uint64_t, uint64_t) = nullptr;
  void (*freed)(int, uint64_t, int, int, uint64_t, uint64_t, uint64_t) = nullptr;
  void (*exists)(int, uint64_t, uint64_t, int, uint64_t) = nullptr;
  void (*out_of_memory)(uint64_t, int, uint64_t) = nullptr;
  uint64_t (*operator_begin)(const char*, int64_t, int, uint64_t) = nullptr;
  void (*operator_end)(uint64_t) = nullptr;
  void (*python_stack)(const char* const*, uint64_t) = nullptr;
};

Recorder recorder;

// Flags of orrery_torch_attach.
constexpr int kOperators = 1;
constexpr int kStacks = 2;

// Flags of orrery_torch_collect.
constexpr int kMemoryPart = 4;
constexpr int kOperatorsPart = 8;
constexpr int kEmptyCallbacksPart = 16;
constexpr int kInputsPart = 32;

std::atomic<bool> has_memory{true};
bool has_operators = false;
bool has_stacks = false;
PythonStack python;
constexpr std::size_t kMaxFrames = 64;

/// The allocator's counters, which its events do not carry.
struct Totals {
  std::atomic<int64_t> allocated{0};
  std::atomic<int64_t> reserved{0};
};

std::array<Totals, kMaxDevices> totals_of_device;

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// Streams are pointers in some versions and numbered in others.
template <typename Stream>
uint64_t NumberOf(const Stream& stream) {
  if constexpr (std::is_pointer_v<Stream>) {
    return reinterpret_cast<uint64_t>(stream);
  } else if constexpr (std::is_integral_v<Stream>) {
    return static_cast<uint64_t>(stream);
  } else {
    return static_cast<uint64_t>(stream.id());
  }
}

Totals& TotalsOf(int device) {
  return totals_of_device[device >= 0 && device < static_cast<int>(kMaxDevices) ? device : 0];
}

uint64_t AddTo(std::atomic<int64_t>& total, int64_t change) {
  const int64_t now = total.fetch_add(change, std::memory_order_relaxed) + change;
  return now > 0 ? static_cast<uint64_t>(now) : 0;
}

// Blocks are multiples of 512 bytes; events carry what was asked for.
uint64_t BlockBytes(uint64_t bytes) {
  constexpr uint64_t kBlock = 512;
  return bytes == 0 ? kBlock : (bytes + kBlock - 1) / kBlock * kBlock;
}

void Allocated(int level, const TraceEntry& entry) {
  const int device = entry.device_;
  Totals& totals = TotalsOf(device);
  const bool is_tensor = level == kTensor;
  const uint64_t bytes = is_tensor ? BlockBytes(entry.size_) : entry.size_;
  const int64_t change = static_cast<int64_t>(bytes);
  const uint64_t allocated = AddTo(totals.allocated, is_tensor ? change : 0);
  const uint64_t reserved = AddTo(totals.reserved, is_tensor ? 0 : change);
  recorder.allocated(level, static_cast<uint64_t>(entry.addr_), bytes, is_tensor ? entry.size_ : 0,
                     device, NumberOf(entry.stream_), allocated, reserved);
}

void Freed(int level, int phase, const TraceEntry& entry) {
  const int device = entry.device_;
  Totals& totals = TotalsOf(device);
  const bool is_tensor = level == kTensor;
  const int64_t change = -static_cast<int64_t>(is_tensor ? BlockBytes(entry.size_) : entry.size_);
  const uint64_t allocated = AddTo(totals.allocated, is_tensor && phase == kRequested ? change : 0);
  const uint64_t reserved = AddTo(totals.reserved, is_tensor ? 0 : change);
  recorder.freed(level, static_cast<uint64_t>(entry.addr_), phase, device, NumberOf(entry.stream_),
                 allocated, reserved);
}

void OnAllocatorEvent(const TraceEntry& entry) {
  if (!has_memory.load(std::memory_order_relaxed)) {
    return;
  }
  switch (entry.action_) {
    case TraceEntry::ALLOC:
      return Allocated(kTensor, entry);
    case TraceEntry::FREE_REQUESTED:
      return Freed(kTensor, kRequested, entry);
    case TraceEntry::FREE_COMPLETED:
      return Freed(kTensor, kCompleted, entry);
    case TraceEntry::SEGMENT_ALLOC:
    case TraceEntry::SEGMENT_MAP:
      return Allocated(kSegment, entry);
    case TraceEntry::SEGMENT_FREE:
    case TraceEntry::SEGMENT_UNMAP:
      return Freed(kSegment, 0, entry);
    case TraceEntry::OOM:
      return recorder.out_of_memory(entry.size_, entry.device_, static_cast<uint64_t>(entry.addr_));
    default:
      return;
  }
}

// Records the memory that the allocator holds already when the hooks are set.
void TellWhatIsThere() {
  for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot().segments) {
    const int device = static_cast<int>(segment.device);
    const uint64_t stream = NumberOf(segment.stream);
    recorder.exists(kSegment, segment.address, segment.total_size, device, stream);
    AddTo(TotalsOf(device).reserved, static_cast<int64_t>(segment.total_size));
    uint64_t address = segment.address;
    for (const auto& block : segment.blocks) {
      if (block.allocated) {
        recorder.exists(kTensor, address, block.size, device, stream);
        AddTo(TotalsOf(device).allocated, static_cast<int64_t>(block.size));
      }
      address += block.size;
    }
  }
}

/// The number of an operator that may end on another thread.
struct Begin : at::ObserverContext {
  uint64_t number = 0;
};

/// The operators that a thread is in. Those of C++ scopes end on the thread that began them, the
/// last one first but for a few, and do without a Begin, which is allocated and freed for each.
struct OpenOperators {
  int depth = 0;  // with those that have a Begin
  std::size_t num_open = 0;
  std::array<std::pair<const at::RecordFunction*, uint64_t>, 64> open{};

  /// The operator's number; 0: it is not here.
  uint64_t Remove(const at::RecordFunction& function) {
    std::size_t place = num_open;
    while (place > 0 && open[place - 1].first != &function) {
      --place;
    }
    if (place == 0) {
      return 0;
    }
    const uint64_t number = open[place - 1].second;
    std::copy(&open[0] + place, &open[0] + num_open--, &open[0] + place - 1);
    return number;
  }
};

thread_local OpenOperators open_operators;

// Launches happen inside operators. Operators begin before the driver is called, so that Python's
// lock may be waited for.
void TellPythonStack() {
  const std::vector<std::string> frames = python.OfThisThread(kMaxFrames);
  std::vector<const char*> texts;
  for (const std::string& frame : frames) {
    texts.push_back(frame.c_str());
  }
  recorder.python_stack(texts.data(), texts.size());
}

int ScopeOf(at::RecordScope scope) {
  return scope == at::RecordScope::BACKWARD_FUNCTION ? 1
         : scope == at::RecordScope::USER_SCOPE      ? 2
                                                     : 0;
}

std::unique_ptr<at::ObserverContext> OnOperatorBegin(const at::RecordFunction& function) {
  OpenOperators& mine = open_operators;
  if (mine.depth++ == 0 && has_stacks) {
    TellPythonStack();
  }
  if (!has_operators) {
    return nullptr;
  }
  const uint64_t number = recorder.operator_begin(
      function.name(), function.seqNr(), ScopeOf(function.scope()), function.forwardThreadId());
  if (function.scope() != at::RecordScope::USER_SCOPE && mine.num_open < mine.open.size()) {
    mine.open[mine.num_open++] = {&function, number};
    return nullptr;
  }
  auto begin = std::make_unique<Begin>();
  begin->number = number;
  return begin;
}

void OnOperatorEnd(const at::RecordFunction& function, at::ObserverContext* context) {
  OpenOperators& mine = open_operators;
  if (has_operators) {
    const uint64_t number =
        context == nullptr ? mine.Remove(function) : static_cast<Begin*>(context)->number;
    if (number != 0) {
      recorder.operator_end(number);
    }
  }
  if (--mine.depth == 0 && has_stacks) {
    recorder.python_stack(nullptr, 0);
  }
}

// Empty callbacks, to measure PyTorch's own cost of callbacks, with or without shapes.
std::unique_ptr<at::ObserverContext> NothingAtBegin(const at::RecordFunction&) {
  return nullptr;
}

void NothingAtEnd(const at::RecordFunction&, at::ObserverContext*) {}

/// Sets the callbacks of operators, or takes them off.
void ListenToOperators(bool is_on, bool is_empty = false, bool needs_inputs = false) {
  static at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
  if (handle != at::INVALID_CALLBACK_HANDLE) {
    at::removeCallback(std::exchange(handle, at::INVALID_CALLBACK_HANDLE));
  }
  if (is_on) {
    handle = at::addGlobalCallback(
        at::RecordFunctionCallback(is_empty ? NothingAtBegin : OnOperatorBegin,
                                   is_empty ? NothingAtEnd : OnOperatorEnd)
            .needsInputs(needs_inputs)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                     at::RecordScope::USER_SCOPE}));
  }
}

bool FindAll(void* library) {
  return Find(library, "orrery_memory_allocated", recorder.allocated) &&
         Find(library, "orrery_memory_freed", recorder.freed) &&
         Find(library, "orrery_memory_exists", recorder.exists) &&
         Find(library, "orrery_out_of_memory", recorder.out_of_memory) &&
         Find(library, "orrery_operator_begin", recorder.operator_begin) &&
         Find(library, "orrery_operator_end", recorder.operator_end);
}

}  // namespace

/// Sets the hooks, once CUDA is initialised; `library` is the path of what is injected, `wanted`
/// says what beside the allocator: 1 operators, 2 where in Python they are called. Returns null, or
/// why it cannot.
extern "C" __attribute__((visibility("default"))) const char* orrery_torch_attach(
    const char* library, int wanted) {
  void* const loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (loaded == nullptr) {
    return "the recording library is not in this process";
  }
  if (!FindAll(loaded)) {
    return "the recording library is of another version";
  }
  try {
    TellWhatIsThere();
    c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(OnAllocatorEvent);
    has_operators = (wanted & kOperators) != 0;
    has_stacks = (wanted & kStacks) != 0 &&
                 Find(loaded, "orrery_python_stack", recorder.python_stack) && python.Find();
    ListenToOperators(has_operators || has_stacks);
  } catch (const std::exception&) {
    return "this allocator of PyTorch cannot be hooked";
  }
  return nullptr;
}

/// Tells only of these parts from now on (orrery_collect in recorder_api.h): 4 memory, 8 operators;
/// instead of operators 16, callbacks that do nothing, and with them 32, that get the operators'
/// inputs. To measure what they cost; between steps, on the thread that attached. What was
/// allocated meanwhile is not known.
extern "C" __attribute__((visibility("default"))) void orrery_torch_collect(int parts) {
  has_memory = (parts & kMemoryPart) != 0;
  ListenToOperators(has_operators && (parts & (kOperatorsPart | kEmptyCallbacksPart)) != 0,
                    (parts & kEmptyCallbacksPart) != 0, (parts & kInputsPart) != 0);
}
