#pragma once
#include "orrery/trace/trace.h"
namespace orrery::trace { inline void LinkGraph(Trace&, Trace&&) {} }
