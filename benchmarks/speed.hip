// Kernels of different kinds for the measurements of emulator_speed.py, each of them launched three times, `tiny` 300 times.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void vadd(const float* a, const float* b, float* c, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }
__global__ void daxpy(const double* a, double* c, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i < n) c[i] = 2.5 * a[i] + c[i]; }
__global__ void fma_loop(float* a, int k) { int i = blockIdx.x*blockDim.x+threadIdx.x; float x = a[i], y = x; for (int j = 0; j < k; ++j) { x = x * 1.0001f + 0.5f; y = y * 0.999f - x; } a[i] = x + y; }
__global__ void f64_loop(double* a, int k) { int i = blockIdx.x*blockDim.x+threadIdx.x; double x = a[i]; for (int j = 0; j < k; ++j) x = x * 1.0001 + 0.5; a[i] = x; }
__global__ void transc(float* a, int k) { int i = blockIdx.x*blockDim.x+threadIdx.x; float x = a[i]; for (int j = 0; j < k; ++j) x = __sinf(x) + __expf(x) ; a[i] = x; }
__global__ void sqrtdiv(float* a, int k) { int i = blockIdx.x*blockDim.x+threadIdx.x; float x = a[i]; for (int j = 0; j < k; ++j) x = 1.0f / sqrtf(x + 3.0f); a[i] = x; }
__global__ void branchy(int* a, int k) { int i = blockIdx.x*blockDim.x+threadIdx.x; unsigned x = a[i] + i; int steps = 0; while (x > 1 && steps < k) { if (x & 1) x = 3*x+1; else x >>= 1; ++steps; } a[i] = steps; }
__global__ void strided(const float* a, float* c, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; c[i] = a[(i * 33L) & (n-1)]; }
__global__ void gather(const float* a, const int* idx, float* c) { int i = blockIdx.x*blockDim.x+threadIdx.x; c[i] = a[idx[i]]; }
__global__ void ldsred(const float* a, float* c) { __shared__ float s[256]; int t = threadIdx.x; s[t] = a[blockIdx.x*256+t]; __syncthreads(); for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t+k]; __syncthreads(); } if (!t) c[blockIdx.x] = s[0]; }
__global__ void hist(const int* a, int* h) { int i = blockIdx.x*blockDim.x+threadIdx.x; atomicAdd(&h[a[i] & 255], 1); }
__global__ void divergent(const int* a, float* c) { int i = blockIdx.x*blockDim.x+threadIdx.x; float x = i; if (a[i] & 1) for (int k = 0; k < 20; ++k) x = x * 1.5f + 1; else for (int k = 0; k < 30; ++k) x = x * 0.5f - 1; c[i] = x; }
typedef float f4 __attribute__((ext_vector_type(4)));
__global__ void mfma(float* a, int k) { f4 acc = {0,0,0,0}; float x = threadIdx.x, y = 2.0f; for (int j = 0; j < k; ++j) acc = __builtin_amdgcn_mfma_f32_16x16x4f32(x, y, acc, 0, 0, 0); a[blockIdx.x*64+threadIdx.x] = acc.x + acc.y; }
__global__ void tiny(float* a) { a[threadIdx.x] += 1; }
int main() {
  const int n = 1 << 20; float *a,*b,*c; int *p,*q; double *d,*e;
  hipMalloc(&a,n*4);hipMalloc(&b,n*4);hipMalloc(&c,n*4);hipMalloc(&p,n*4);hipMalloc(&q,n*4);hipMalloc(&d,n*8);hipMalloc(&e,n*8);
  int* h = new int[n]; unsigned r = 1; for (int i = 0; i < n; ++i) { r = r*1664525u+1013904223u; h[i] = (r >> 8) & (n-1); } hipMemcpy(p,h,n*4,hipMemcpyHostToDevice);
  hipMemset(a,0,n*4);hipMemset(b,0,n*4);hipMemset(q,0,n*4);hipMemset(d,0,n*8);hipMemset(e,0,n*8);
  for (int k = 0; k < 3; ++k) {
  vadd<<<n/256,256>>>(a,b,c,n); daxpy<<<n/256,256>>>(d,e,n); fma_loop<<<1024,256>>>(a,200); f64_loop<<<1024,256>>>(d,200); transc<<<512,256>>>(a,50); sqrtdiv<<<512,256>>>(b,50);
  branchy<<<512,256>>>(q,60); strided<<<n/256,256>>>(a,c,n); gather<<<n/256,256>>>(a,p,c); ldsred<<<n/256,256>>>(a,c); hist<<<n/256,256>>>(p,q); divergent<<<n/256,256>>>(p,c); mfma<<<1024,64>>>(c,64); }
  for (int k = 0; k < 300; ++k) tiny<<<1,64>>>(a);
  if (hipDeviceSynchronize() != hipSuccess) { std::puts("FAIL"); return 1; }
}
