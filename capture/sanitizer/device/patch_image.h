#pragma once

/// The image of all patches (patch_list.h), for compute capability 8.0 and 9.0 and what they run
/// on.
extern "C" const char orrery_patch_image[];
extern "C" const char orrery_patch_image_end[];
