#pragma once

/// Makes a function or class visible outside the shared library liborrery.so. All else is hidden
/// there (-fvisibility=hidden), so that what is not promised cannot be linked.
#define ORRERY_API __attribute__((visibility("default")))
