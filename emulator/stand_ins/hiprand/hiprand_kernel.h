// hipRAND in kernels, on the emulator: hipscope's own generators by the published algorithms.
#pragma once

#include <hip/hip_runtime.h>

#include "../hipscope_random.h"
#include "hiprand.h"

#ifndef QUALIFIERS
#define QUALIFIERS __forceinline__ __device__
#endif

typedef hipscope_random::Xorwow hiprandStateXORWOW;
typedef hipscope_random::Philox hiprandStatePhilox4_32_10;
typedef hipscope_random::Mrg hiprandStateMRG32k3a;
typedef hiprandStateXORWOW hiprandStateXORWOW_t;
typedef hiprandStatePhilox4_32_10 hiprandStatePhilox4_32_10_t;
typedef hiprandStateMRG32k3a hiprandStateMRG32k3a_t;
typedef hiprandStateXORWOW hiprandState_t;
typedef hiprandStateXORWOW hiprandState;

template <class State>
QUALIFIERS void hiprand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, State* state) {
    state->seed(seed, subsequence, offset);
}
template <class State>
QUALIFIERS void skipahead(unsigned long long n, State* state) { state->skip(n); }
template <class State>
QUALIFIERS void skipahead_sequence(unsigned long long n, State* state) { state->skip_sequences(n); }
template <class State>
QUALIFIERS void skipahead_subsequence(unsigned long long n, State* state) { state->skip_sequences(n); }

template <class State>
QUALIFIERS unsigned int hiprand(State* state) { return state->next(); }
template <class State>
QUALIFIERS float hiprand_uniform(State* state) { return hipscope_random::uniform(*state); }
template <class State>
QUALIFIERS double hiprand_uniform_double(State* state) { return hipscope_random::uniform_double(*state); }
template <class State>
QUALIFIERS float hiprand_normal(State* state) { return hipscope_random::normal(*state); }
template <class State>
QUALIFIERS double hiprand_normal_double(State* state) { return hipscope_random::normal_double(*state); }
template <class State>
QUALIFIERS float2 hiprand_normal2(State* state) {
    float2 pair;
    hipscope_random::normal2(*state, pair.x, pair.y);
    return pair;
}
template <class State>
QUALIFIERS double2 hiprand_normal2_double(State* state) {
    double2 pair;
    hipscope_random::normal2(*state, pair.x, pair.y);
    return pair;
}
template <class State>
QUALIFIERS float hiprand_log_normal(State* state, float mean, float stddev) { return expf(mean + stddev * hiprand_normal(state)); }
template <class State>
QUALIFIERS double hiprand_log_normal_double(State* state, double mean, double stddev) { return exp(mean + stddev * hiprand_normal_double(state)); }
template <class State>
QUALIFIERS float2 hiprand_log_normal2(State* state, float mean, float stddev) {
    const float2 pair = hiprand_normal2(state);
    return float2{expf(mean + stddev * pair.x), expf(mean + stddev * pair.y)};
}
template <class State>
QUALIFIERS double2 hiprand_log_normal2_double(State* state, double mean, double stddev) {
    const double2 pair = hiprand_normal2_double(state);
    return double2{exp(mean + stddev * pair.x), exp(mean + stddev * pair.y)};
}
template <class State>
QUALIFIERS unsigned int hiprand_poisson(State* state, double lambda) { return hipscope_random::poisson(*state, lambda); }

// Four at once, of Philox alone.
QUALIFIERS uint4 hiprand4(hiprandStatePhilox4_32_10_t* state) {
    uint4 four;
    four.x = state->next();
    four.y = state->next();
    four.z = state->next();
    four.w = state->next();
    return four;
}
QUALIFIERS float4 hiprand_uniform4(hiprandStatePhilox4_32_10_t* state) {
    float4 four;
    four.x = hiprand_uniform(state);
    four.y = hiprand_uniform(state);
    four.z = hiprand_uniform(state);
    four.w = hiprand_uniform(state);
    return four;
}
QUALIFIERS double2 hiprand_uniform2_double(hiprandStatePhilox4_32_10_t* state) {
    double2 pair;
    pair.x = hiprand_uniform_double(state);
    pair.y = hiprand_uniform_double(state);
    return pair;
}
QUALIFIERS double4 hiprand_uniform4_double(hiprandStatePhilox4_32_10_t* state) {
    const double2 first = hiprand_uniform2_double(state), second = hiprand_uniform2_double(state);
    return double4{first.x, first.y, second.x, second.y};
}
QUALIFIERS float4 hiprand_normal4(hiprandStatePhilox4_32_10_t* state) {
    const float2 first = hiprand_normal2(state), second = hiprand_normal2(state);
    return float4{first.x, first.y, second.x, second.y};
}
QUALIFIERS double4 hiprand_normal4_double(hiprandStatePhilox4_32_10_t* state) {
    const double2 first = hiprand_normal2_double(state), second = hiprand_normal2_double(state);
    return double4{first.x, first.y, second.x, second.y};
}
QUALIFIERS float4 hiprand_log_normal4(hiprandStatePhilox4_32_10_t* state, float mean, float stddev) {
    const float2 first = hiprand_log_normal2(state, mean, stddev), second = hiprand_log_normal2(state, mean, stddev);
    return float4{first.x, first.y, second.x, second.y};
}
QUALIFIERS uint4 hiprand_poisson4(hiprandStatePhilox4_32_10_t* state, double lambda) {
    uint4 four;
    four.x = hiprand_poisson(state, lambda);
    four.y = hiprand_poisson(state, lambda);
    four.z = hiprand_poisson(state, lambda);
    four.w = hiprand_poisson(state, lambda);
    return four;
}
