// The procedures that decide a question, in order. To be read aloud.
#include "decide/context.h"

namespace coequal::decide {

const std::vector<ProcedureRow>& pipeline() {
  static const std::vector<ProcedureRow> rows = {
      {"identical", decide_identical, 1.0, true, "both sides are one term"},
      {"canonical", decide_canonical, 4.0, true,
       "canonical forms, equal sums merged, rational functions compared"},
      {"probable", decide_probable, 5.0, true,
       "rational functions at random points of prime fields"},
      {"refute", decide_refute_quickly, 1.0, true, "a few structured inputs"},
      {"cases", decide_cases, 5.0, true,
       "the regions of the conditions, thresholds among them, each proved"},
      {"refute", decide_refute, 4.0, true,
       "structured inputs: thresholds, one-hot, permuted, large, random"},
      {"z3", decide_z3, 4.0, true, "real arithmetic, bit-vectors and conditions"},
  };
  return rows;
}

}  // namespace coequal::decide
