// An interpreter for a small stack machine: a large switch (jump table) that lanes take in different directions.
#include "check.hpp"

enum Code : unsigned char { push, add, subtract, multiply, duplicate, swap, over, jump_if, load, store, less, negate, modulo, drop, halt };

__host__ __device__ inline long long interpret(const unsigned char* code, int input) {
    long long stack[16], memory[4] = {input, 0, 0, 0};
    int top = 0, at = 0;
    for (int steps = 0; steps < 2500; ++steps) {
        switch (code[at++]) {
            case push: stack[top++] = static_cast<signed char>(code[at++]); break;
            case add: --top; stack[top - 1] += stack[top]; break;
            case subtract: --top; stack[top - 1] -= stack[top]; break;
            case multiply: --top; stack[top - 1] *= stack[top]; break;
            case duplicate: stack[top] = stack[top - 1]; ++top; break;
            case swap: { const long long t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; break; }
            case over: stack[top] = stack[top - 2]; ++top; break;
            case jump_if: if (stack[--top] != 0) at = code[at]; else ++at; break;
            case load: stack[top++] = memory[code[at++]]; break;
            case store: memory[code[at++]] = stack[--top]; break;
            case less: --top; stack[top - 1] = stack[top - 1] < stack[top]; break;
            case negate: stack[top - 1] = -stack[top - 1]; break;
            case modulo: --top; stack[top - 1] %= stack[top]; break;
            case drop: --top; break;
            default: return stack[top - 1];
        }
    }
    return -1;
}
__global__ void run(const unsigned char* programs, long long* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = interpret(programs + i % 3 * 64, i);
}
int main() {
    std::vector<unsigned char> programs(192, halt);
    const std::vector<unsigned char> texts[3] = {
        // sum of squares up to the input
        {push, 0, store, 1, load, 0, duplicate, multiply, load, 1, add, store, 1, load, 0, push, 255, add, duplicate, store, 0, push, 255, swap, less, jump_if, 4, load, 1, halt},
        // steps down to 1 or 0 from the input + 1: three from an odd number, one from an even one
        {push, 1, load, 0, add, store, 0, load, 0, push, 2, less, jump_if, 50, load, 1, push, 1, add, store, 1, load, 0, push, 2, modulo, jump_if, 39,
         load, 0, push, 255, add, store, 0, push, 1, jump_if, 7, load, 0, push, 253, add, store, 0, push, 1, jump_if, 7, load, 1, halt},
        // a polynomial with a negative turn
        {load, 0, duplicate, multiply, load, 0, push, 7, multiply, subtract, negate, push, 100, modulo, push, 3, over, multiply, swap, drop, halt}};
    for (int p = 0; p < 3; ++p) std::copy(texts[p].begin(), texts[p].end(), &programs[p * 64]);
    const int n = 3 * 40;
    Device<unsigned char> d(programs);
    Device<long long> out(n);
    run<<<3, 40>>>(d.data, out.data);
    const auto got = out.read();
    for (int i = 0; i < n; ++i) {
        expect("same text", i, got[i], interpret(&programs[i % 3 * 64], i));
        if (i % 3 == 0) expect("squares", i, got[i], static_cast<long long>(i) * (i + 1) * (2 * i + 1) / 6);
        int steps = 0;
        for (int left = i + 1; left >= 2; ++steps) left -= left % 2 != 0 ? 3 : 1;
        if (i % 3 == 1) expect("steps", i, got[i], static_cast<long long>(steps));
        if (i % 3 == 2) expect("polynomial", i, got[i], static_cast<long long>(-(i * i - 7 * i)) % 100 * 3);
    }
    return verdict();
}
