// Matrix core instructions (manual chapter 7).
#include "isa/families.hpp"
#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {

Table mfma() { return {}; }

}  // namespace hipscope::HIPSCOPE_ISA
