// facts: {"launches": [[[64, 64, 1], [8, 8, 1], {"widthA": 256, "widthB": 128}]], "disjoint": ["a", "b", "c"]}
#include <hip/hip_runtime.h>

__global__ void quads(const float* a, const float* b, float* c, int widthA, int widthB)
{
    int2 pos = make_int2(threadIdx.x + blockDim.x * blockIdx.x, threadIdx.y + blockDim.y * blockIdx.y);
    widthB /= 2;
    float sum0 = 0, sum1 = 0;
    for (int i = 0; i < widthA; i = i + 4) {
        float left0 = a[i/4 + (pos.y << 1) * (widthA / 4)];
        float left1 = a[i/4 + ((pos.y << 1) + 1) * (widthA / 4)];
        float above0 = b[pos.x + i * widthB], above1 = b[pos.x + (i + 1) * widthB];
        float above2 = b[pos.x + (i + 2) * widthB], above3 = b[pos.x + (i + 3) * widthB];
        sum0 += left0 * above0 + left0 * above1 + left0 * above2 + left0 * above3;
        sum1 += left1 * above0 - left1 * above1 + left1 * above2 - left1 * above3;
    }
    c[pos.x + (pos.y << 1) * widthB] = sum0;
    c[pos.x + ((pos.y << 1) + 1) * widthB] = sum1;
}
