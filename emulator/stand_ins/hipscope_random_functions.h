// The functions that hipRAND and rocRAND have in kernels. Who includes this says how they are named: RANDOM(_uniform) for most,
// RANDOM_DOUBLES(uniform, 4) for several doubles at once; and RANDOM_PHILOX, the state that has four numbers at once.
// Names that both libraries share are defined once.

#ifndef HIPSCOPE_RANDOM_SKIPS
#define HIPSCOPE_RANDOM_SKIPS
template <class State>
__forceinline__ __device__ void skipahead(unsigned long long n, State* state) { state->skip(n); }
template <class State>
__forceinline__ __device__ void skipahead_sequence(unsigned long long n, State* state) { state->skip_sequences(n); }
template <class State>
__forceinline__ __device__ void skipahead_subsequence(unsigned long long n, State* state) { state->skip_sequences(n); }
#endif

template <class State>
RANDOM_QUALIFIERS void RANDOM(_init)(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, State* state) {
    state->seed(seed, subsequence, offset);
}

template <class State>
RANDOM_QUALIFIERS unsigned int RANDOM()(State* state) { return state->next(); }
template <class State>
RANDOM_QUALIFIERS float RANDOM(_uniform)(State* state) { return hipscope_random::uniform(*state); }
template <class State>
RANDOM_QUALIFIERS double RANDOM(_uniform_double)(State* state) { return hipscope_random::uniform_double(*state); }
template <class State>
RANDOM_QUALIFIERS float RANDOM(_normal)(State* state) { return hipscope_random::normal(*state); }
template <class State>
RANDOM_QUALIFIERS double RANDOM(_normal_double)(State* state) { return hipscope_random::normal_double(*state); }
template <class State>
RANDOM_QUALIFIERS float2 RANDOM(_normal2)(State* state) {
    float2 pair;
    hipscope_random::normal2(*state, pair.x, pair.y);
    return pair;
}
template <class State>
RANDOM_QUALIFIERS double2 RANDOM_DOUBLES(normal, 2)(State* state) {
    double2 pair;
    hipscope_random::normal2(*state, pair.x, pair.y);
    return pair;
}
template <class State>
RANDOM_QUALIFIERS float RANDOM(_log_normal)(State* state, float mean, float stddev) { return expf(mean + stddev * RANDOM(_normal)(state)); }
template <class State>
RANDOM_QUALIFIERS double RANDOM(_log_normal_double)(State* state, double mean, double stddev) { return exp(mean + stddev * RANDOM(_normal_double)(state)); }
template <class State>
RANDOM_QUALIFIERS float2 RANDOM(_log_normal2)(State* state, float mean, float stddev) {
    const float2 pair = RANDOM(_normal2)(state);
    return float2{expf(mean + stddev * pair.x), expf(mean + stddev * pair.y)};
}
template <class State>
RANDOM_QUALIFIERS double2 RANDOM_DOUBLES(log_normal, 2)(State* state, double mean, double stddev) {
    const double2 pair = RANDOM_DOUBLES(normal, 2)(state);
    return double2{exp(mean + stddev * pair.x), exp(mean + stddev * pair.y)};
}
template <class State>
RANDOM_QUALIFIERS unsigned int RANDOM(_poisson)(State* state, double lambda) { return hipscope_random::poisson(*state, lambda); }

// Four at once, of Philox alone.
RANDOM_QUALIFIERS uint4 RANDOM(4)(RANDOM_PHILOX* state) {
    uint4 four;
    four.x = state->next();
    four.y = state->next();
    four.z = state->next();
    four.w = state->next();
    return four;
}
RANDOM_QUALIFIERS float4 RANDOM(_uniform4)(RANDOM_PHILOX* state) {
    float4 four;
    four.x = RANDOM(_uniform)(state);
    four.y = RANDOM(_uniform)(state);
    four.z = RANDOM(_uniform)(state);
    four.w = RANDOM(_uniform)(state);
    return four;
}
RANDOM_QUALIFIERS double2 RANDOM_DOUBLES(uniform, 2)(RANDOM_PHILOX* state) {
    double2 pair;
    pair.x = RANDOM(_uniform_double)(state);
    pair.y = RANDOM(_uniform_double)(state);
    return pair;
}
RANDOM_QUALIFIERS double4 RANDOM_DOUBLES(uniform, 4)(RANDOM_PHILOX* state) {
    const double2 first = RANDOM_DOUBLES(uniform, 2)(state), second = RANDOM_DOUBLES(uniform, 2)(state);
    return double4{first.x, first.y, second.x, second.y};
}
RANDOM_QUALIFIERS float4 RANDOM(_normal4)(RANDOM_PHILOX* state) {
    const float2 first = RANDOM(_normal2)(state), second = RANDOM(_normal2)(state);
    return float4{first.x, first.y, second.x, second.y};
}
RANDOM_QUALIFIERS double4 RANDOM_DOUBLES(normal, 4)(RANDOM_PHILOX* state) {
    const double2 first = RANDOM_DOUBLES(normal, 2)(state), second = RANDOM_DOUBLES(normal, 2)(state);
    return double4{first.x, first.y, second.x, second.y};
}
RANDOM_QUALIFIERS float4 RANDOM(_log_normal4)(RANDOM_PHILOX* state, float mean, float stddev) {
    const float2 first = RANDOM(_log_normal2)(state, mean, stddev), second = RANDOM(_log_normal2)(state, mean, stddev);
    return float4{first.x, first.y, second.x, second.y};
}
RANDOM_QUALIFIERS uint4 RANDOM(_poisson4)(RANDOM_PHILOX* state, double lambda) {
    uint4 four;
    four.x = RANDOM(_poisson)(state, lambda);
    four.y = RANDOM(_poisson)(state, lambda);
    four.z = RANDOM(_poisson)(state, lambda);
    four.w = RANDOM(_poisson)(state, lambda);
    return four;
}

#undef RANDOM
#undef RANDOM_DOUBLES
#undef RANDOM_PHILOX
#undef RANDOM_QUALIFIERS
