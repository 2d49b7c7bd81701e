// rocRAND on the emulator: types, numbers and functions of the public API. The library computes on the host.
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_runtime_api.h>
#include <stddef.h>

#define ROCRAND_VERSION 300200
#define ROCRANDAPI

typedef struct rocrand_generator_base_type* rocrand_generator;

typedef enum rocrand_status {
    ROCRAND_STATUS_SUCCESS = 0,
    ROCRAND_STATUS_VERSION_MISMATCH = 100,
    ROCRAND_STATUS_NOT_CREATED = 101,
    ROCRAND_STATUS_ALLOCATION_FAILED = 102,
    ROCRAND_STATUS_TYPE_ERROR = 103,
    ROCRAND_STATUS_OUT_OF_RANGE = 104,
    ROCRAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
    ROCRAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
    ROCRAND_STATUS_LAUNCH_FAILURE = 107,
    ROCRAND_STATUS_INTERNAL_ERROR = 108
} rocrand_status;

typedef enum rocrand_rng_type {
    ROCRAND_RNG_PSEUDO_DEFAULT = 400,
    ROCRAND_RNG_PSEUDO_XORWOW = 401,
    ROCRAND_RNG_PSEUDO_MRG32K3A = 402,
    ROCRAND_RNG_PSEUDO_MTGP32 = 403,
    ROCRAND_RNG_PSEUDO_PHILOX4_32_10 = 404,
    ROCRAND_RNG_PSEUDO_MT19937 = 407,
    ROCRAND_RNG_QUASI_DEFAULT = 500,
    ROCRAND_RNG_QUASI_SOBOL32 = 501,
    ROCRAND_RNG_QUASI_SOBOL64 = 504
} rocrand_rng_type;

#ifdef __cplusplus
extern "C" {
#endif

rocrand_status rocrand_create_generator(rocrand_generator* generator, rocrand_rng_type rng_type);
rocrand_status rocrand_create_generator_host(rocrand_generator* generator, rocrand_rng_type rng_type);
rocrand_status rocrand_destroy_generator(rocrand_generator generator);
rocrand_status rocrand_initialize_generator(rocrand_generator generator);
rocrand_status rocrand_generate(rocrand_generator generator, unsigned int* output, size_t n);
rocrand_status rocrand_generate_char(rocrand_generator generator, unsigned char* output, size_t n);
rocrand_status rocrand_generate_short(rocrand_generator generator, unsigned short* output, size_t n);
rocrand_status rocrand_generate_long_long(rocrand_generator generator, unsigned long long* output, size_t n);
rocrand_status rocrand_generate_uniform(rocrand_generator generator, float* output, size_t n);
rocrand_status rocrand_generate_uniform_double(rocrand_generator generator, double* output, size_t n);
rocrand_status rocrand_generate_uniform_half(rocrand_generator generator, __half* output, size_t n);
rocrand_status rocrand_generate_normal(rocrand_generator generator, float* output, size_t n, float mean, float stddev);
rocrand_status rocrand_generate_normal_double(rocrand_generator generator, double* output, size_t n, double mean, double stddev);
rocrand_status rocrand_generate_normal_half(rocrand_generator generator, __half* output, size_t n, __half mean, __half stddev);
rocrand_status rocrand_generate_log_normal(rocrand_generator generator, float* output, size_t n, float mean, float stddev);
rocrand_status rocrand_generate_log_normal_double(rocrand_generator generator, double* output, size_t n, double mean, double stddev);
rocrand_status rocrand_generate_poisson(rocrand_generator generator, unsigned int* output, size_t n, double lambda);
rocrand_status rocrand_set_stream(rocrand_generator generator, hipStream_t stream);
rocrand_status rocrand_set_seed(rocrand_generator generator, unsigned long long seed);
rocrand_status rocrand_set_offset(rocrand_generator generator, unsigned long long offset);
rocrand_status rocrand_get_version(int* version);

#ifdef __cplusplus
}
#endif
