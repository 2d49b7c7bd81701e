// HIP's complex numbers by CUDA's.
#pragma once

#include <cuComplex.h>
#include <hip/hip_runtime.h>

typedef cuFloatComplex hipFloatComplex;
typedef cuDoubleComplex hipDoubleComplex;
typedef cuFloatComplex hipComplex;
#define make_hipFloatComplex make_cuFloatComplex
#define make_hipDoubleComplex make_cuDoubleComplex
#define hipCabs cuCabs
#define hipCabsf cuCabsf
#define hipCadd cuCadd
#define hipCaddf cuCaddf
#define hipCsub cuCsub
#define hipCsubf cuCsubf
#define hipCmul cuCmul
#define hipCmulf cuCmulf
#define hipCdiv cuCdiv
#define hipCdivf cuCdivf
#define hipCfma cuCfma
#define hipCfmaf cuCfmaf
#define hipConj cuConj
#define hipConjf cuConjf
#define hipCreal cuCreal
#define hipCrealf cuCrealf
#define hipCimag cuCimag
#define hipCimagf cuCimagf
