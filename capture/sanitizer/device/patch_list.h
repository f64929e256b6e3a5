#pragma once

// Every patch: the instruction it belongs to (SANITIZER_INSTRUCTION_…), its name in the image, and
// the name of one that does nothing, to measure what the call alone costs. Both sides are made of
// this list, so no name can be asked for that is not there.
//
// Not patched, as they do not touch global memory: shared, local and remote shared access, matrix
// access, asynchronous stores and reductions (their addresses are of shared memory), bulk copies
// from shared to shared memory. Loads and stores by tensor maps have no id before version 2026.2.
#define ORRERY_PATCHES(X)                                              \
  X(GLOBAL_MEMORY_ACCESS, OrreryGlobalAccess, OrreryEmptyGlobalAccess) \
  X(MEMCPY_ASYNC, OrreryMemcpyAsync, OrreryEmptyMemcpyAsync)           \
  X(BULK_COPY_GLOBAL_TO_SHARED, OrreryBulkRead, OrreryEmptyBulkRead)   \
  X(BULK_COPY_SHARED_TO_GLOBAL, OrreryBulkWrite, OrreryEmptyBulkWrite) \
  X(BULK_REDUCTION_SHARED_TO_GLOBAL, OrreryBulkReduction, OrreryEmptyBulkReduction)

namespace orrery::capture {

struct PatchName {
  const char* instruction;
  const char* patch;
  const char* empty_patch;
};

#define ORRERY_PATCH_NAME(instruction, patch, empty) {#instruction, #patch, #empty},
inline constexpr PatchName kPatchNames[] = {ORRERY_PATCHES(ORRERY_PATCH_NAME)};
#undef ORRERY_PATCH_NAME

}  // namespace orrery::capture
