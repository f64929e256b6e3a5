#include "capture/sanitizer/host/patcher.h"

#include "capture/sanitizer/device/patch_list.h"

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;

}  // namespace

void Patcher::LoadInto(ContextHandle context) {
  const std::lock_guard lock(mutex_);
  Load(context);
}

bool Patcher::Load(ContextHandle context) {
  if (contexts_.contains(context) || failed_contexts_.contains(context)) {
    return contexts_.contains(context);
  }
  const bool is_well =
      failures_.IsWell("loading the patches", calls_.AddPatches(context, setup_.image));
  (is_well ? contexts_ : failed_contexts_).insert(context);
  if (!is_well) {
    recorder_.Count(codes::kContextsNotCovered, "patches could not be loaded");
  }
  return is_well;
}

void Patcher::Patch(const ModuleEvent& event) {
  const std::lock_guard lock(mutex_);
  const Module module(event.context, event.module);
  if (modules_.contains(module) || !Load(event.context)) {
    return;
  }
  if (PatchAll(event.module)) {
    modules_.insert(module);
  } else {
    recorder_.Count(codes::kOtherCoverage, "modules that could not be patched");
  }
}

bool Patcher::PatchAll(ModuleHandle module) {
  for (const PatchName& name : kPatchNames) {
    const char* const patch = setup_.with_empty_patches ? name.empty_patch : name.patch;
    if (!failures_.IsWell(name.instruction,
                          calls_.PatchInstructions(name.instruction, module, patch))) {
      return false;
    }
  }
  if (!failures_.IsWell("patching a module", calls_.PatchModule(module))) {
    return false;
  }
  for (const PatchName& name : kPatchNames) {
    recorder_.Count(codes::kInstructionPatched, name.instruction);
  }
  return true;
}

bool Patcher::IsPatched(ContextHandle context, ModuleHandle module) {
  const std::lock_guard lock(mutex_);
  return modules_.contains({context, module});
}

void Patcher::Forget(ContextHandle context, ModuleHandle module) {
  const std::lock_guard lock(mutex_);
  modules_.erase({context, module});
}

void Patcher::Forget(ContextHandle context) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(context);
  failed_contexts_.erase(context);
  std::erase_if(modules_, [&](const Module& module) { return module.first == context; });
}

}  // namespace orrery::capture::sanitizer
