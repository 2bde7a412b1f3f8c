// The defect types under their name in this folder.
#pragma once

#include "base/defect.h"

namespace coequal::program {
using coequal::Access;
using coequal::Defect;
using coequal::defect_from_name;
using coequal::defect_name;
using coequal::DefectKind;
using coequal::DefectKindRow;
using coequal::kDefectKinds;
}  // namespace coequal::program
