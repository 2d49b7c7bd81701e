// rocRAND in kernels, on the emulator: hipscope's own generators by the published algorithms.
#pragma once

#include <hip/hip_runtime.h>

#include "../hipscope_random.h"
#include "rocrand.h"

#ifndef FQUALIFIERS
#define FQUALIFIERS __forceinline__ __device__
#endif

typedef hipscope_random::Xorwow rocrand_state_xorwow;
typedef hipscope_random::Philox rocrand_state_philox4x32_10;
typedef hipscope_random::Mrg rocrand_state_mrg32k3a;

template <class State>
FQUALIFIERS void rocrand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, State* state) {
    state->seed(seed, subsequence, offset);
}
template <class State>
FQUALIFIERS void skipahead(unsigned long long n, State* state) { state->skip(n); }
template <class State>
FQUALIFIERS void skipahead_sequence(unsigned long long n, State* state) { state->skip_sequences(n); }
template <class State>
FQUALIFIERS void skipahead_subsequence(unsigned long long n, State* state) { state->skip_sequences(n); }

template <class State>
FQUALIFIERS unsigned int rocrand(State* state) { return state->next(); }
template <class State>
FQUALIFIERS float rocrand_uniform(State* state) { return hipscope_random::uniform(*state); }
template <class State>
FQUALIFIERS double rocrand_uniform_double(State* state) { return hipscope_random::uniform_double(*state); }
template <class State>
FQUALIFIERS float rocrand_normal(State* state) { return hipscope_random::normal(*state); }
template <class State>
FQUALIFIERS double rocrand_normal_double(State* state) { return hipscope_random::normal_double(*state); }
template <class State>
FQUALIFIERS float2 rocrand_normal2(State* state) {
    float2 pair;
    hipscope_random::normal2(*state, pair.x, pair.y);
    return pair;
}
template <class State>
FQUALIFIERS double2 rocrand_normal_double2(State* state) {
    double2 pair;
    hipscope_random::normal2(*state, pair.x, pair.y);
    return pair;
}
template <class State>
FQUALIFIERS float rocrand_log_normal(State* state, float mean, float stddev) { return expf(mean + stddev * rocrand_normal(state)); }
template <class State>
FQUALIFIERS double rocrand_log_normal_double(State* state, double mean, double stddev) { return exp(mean + stddev * rocrand_normal_double(state)); }
template <class State>
FQUALIFIERS float2 rocrand_log_normal2(State* state, float mean, float stddev) {
    const float2 pair = rocrand_normal2(state);
    return float2{expf(mean + stddev * pair.x), expf(mean + stddev * pair.y)};
}
template <class State>
FQUALIFIERS double2 rocrand_log_normal_double2(State* state, double mean, double stddev) {
    const double2 pair = rocrand_normal_double2(state);
    return double2{exp(mean + stddev * pair.x), exp(mean + stddev * pair.y)};
}
template <class State>
FQUALIFIERS unsigned int rocrand_poisson(State* state, double lambda) { return hipscope_random::poisson(*state, lambda); }

// Four at once, of Philox alone.
FQUALIFIERS uint4 rocrand4(rocrand_state_philox4x32_10* state) {
    uint4 four;
    four.x = state->next();
    four.y = state->next();
    four.z = state->next();
    four.w = state->next();
    return four;
}
FQUALIFIERS float4 rocrand_uniform4(rocrand_state_philox4x32_10* state) {
    float4 four;
    four.x = rocrand_uniform(state);
    four.y = rocrand_uniform(state);
    four.z = rocrand_uniform(state);
    four.w = rocrand_uniform(state);
    return four;
}
FQUALIFIERS double2 rocrand_uniform_double2(rocrand_state_philox4x32_10* state) {
    double2 pair;
    pair.x = rocrand_uniform_double(state);
    pair.y = rocrand_uniform_double(state);
    return pair;
}
FQUALIFIERS double4 rocrand_uniform_double4(rocrand_state_philox4x32_10* state) {
    const double2 first = rocrand_uniform_double2(state), second = rocrand_uniform_double2(state);
    return double4{first.x, first.y, second.x, second.y};
}
FQUALIFIERS float4 rocrand_normal4(rocrand_state_philox4x32_10* state) {
    const float2 first = rocrand_normal2(state), second = rocrand_normal2(state);
    return float4{first.x, first.y, second.x, second.y};
}
FQUALIFIERS double4 rocrand_normal_double4(rocrand_state_philox4x32_10* state) {
    const double2 first = rocrand_normal_double2(state), second = rocrand_normal_double2(state);
    return double4{first.x, first.y, second.x, second.y};
}
FQUALIFIERS float4 rocrand_log_normal4(rocrand_state_philox4x32_10* state, float mean, float stddev) {
    const float2 first = rocrand_log_normal2(state, mean, stddev), second = rocrand_log_normal2(state, mean, stddev);
    return float4{first.x, first.y, second.x, second.y};
}
FQUALIFIERS uint4 rocrand_poisson4(rocrand_state_philox4x32_10* state, double lambda) {
    uint4 four;
    four.x = rocrand_poisson(state, lambda);
    four.y = rocrand_poisson(state, lambda);
    four.z = rocrand_poisson(state, lambda);
    four.w = rocrand_poisson(state, lambda);
    return four;
}
