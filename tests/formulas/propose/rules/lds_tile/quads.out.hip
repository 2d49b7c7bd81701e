// facts: {"launches": [[[64, 64, 1], [8, 8, 1], {"widthA": 256, "widthB": 128}]], "disjoint": ["a", "b", "c"]}
#include <hip/hip_runtime.h>

__global__ void quads(const float* a, const float* b, float* c, int widthA, int widthB)
{
    int2 pos = make_int2(threadIdx.x + blockDim.x * blockIdx.x, threadIdx.y + blockDim.y * blockIdx.y);
    widthB /= 2;
    float sum0 = 0, sum1 = 0;
    // Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.
    constexpr int tileI = 8;
    __shared__ float aTile[tileI][8 + 1];  // padded: a column lies in different banks
    __shared__ float aTile2[tileI][8 + 1];  // padded: a column lies in different banks
    __shared__ float bTile[tileI][8];
    __shared__ float bTile2[tileI][8];
    __shared__ float bTile3[tileI][8];
    __shared__ float bTile4[tileI][8];
    int firstI = 0;
    if (blockDim.x == 8 && blockDim.y == 8 && blockDim.z == 1) {
        for (; firstI + (tileI - 1) * 4 < widthA; firstI += tileI * 4) {
            const int aI = firstI + threadIdx.x * 4;
            aTile[threadIdx.x][threadIdx.y] = a[aI/4 + (pos.y << 1) * (widthA / 4)];
            aTile2[threadIdx.x][threadIdx.y] = a[aI/4 + ((pos.y << 1) + 1) * (widthA / 4)];
            const int bI = firstI + threadIdx.y * 4;
            bTile[threadIdx.y][threadIdx.x] = b[pos.x + bI * widthB];
            bTile2[threadIdx.y][threadIdx.x] = b[pos.x + (bI + 1) * widthB];
            bTile3[threadIdx.y][threadIdx.x] = b[pos.x + (bI + 2) * widthB];
            bTile4[threadIdx.y][threadIdx.x] = b[pos.x + (bI + 3) * widthB];
            __syncthreads();
            #pragma unroll
            for (int step = 0; step < tileI; ++step) {
                float left0 = aTile[step][threadIdx.y];
                float left1 = aTile2[step][threadIdx.y];
                float above0 = bTile[step][threadIdx.x], above1 = bTile2[step][threadIdx.x];
                float above2 = bTile3[step][threadIdx.x], above3 = bTile4[step][threadIdx.x];
                sum0 += left0 * above0 + left0 * above1 + left0 * above2 + left0 * above3;
                sum1 += left1 * above0 - left1 * above1 + left1 * above2 - left1 * above3;
            }
            __syncthreads();
        }
    }
    for (int i = firstI; i < widthA; i = i + 4) {
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
