#pragma once

#include "orrery/hardware/yaml_fields.h"
#include "orrery/workload/job/framework.h"

namespace orrery::workload {

/// Reads declared properties over those of `framework`; what is not there stays as it is. For
/// catalogues and for jobs that override some.
void ReadDeclared(hardware::YamlFields& fields, Framework& framework);

}  // namespace orrery::workload
