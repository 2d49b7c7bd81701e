// Channels of sound mixed with gains into 16 bits: scaled, rounded to nearest, cut at the ends; a muted channel counts nothing.
#include "attack.hpp"
// kernel begin
__global__ void mixdown(const short* in, const float* gains, const int* muted, short* out, int channels, int samples, float volume) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= samples) return;
  float sum = 0.0f;
  for (int c = 0; c < channels; ++c)
    if (!muted[c]) sum += gains[c] * in[(size_t)c * samples + i];
  sum *= volume;
  out[i] = (short)rintf(fminf(fmaxf(sum, -32768.0f), 32767.0f));
}
// kernel end
int main() {
  const int channels = 6, samples = 700;
  auto* in = filled<short>(channels * samples, [](int i) { return (short)(bits(i) % 4000 - 2000); });
  auto* gains = filled<float>(channels, [](int i) { return 0.25f + (bits(i) % 8) / 8.0f; });
  short* out = zeros<short>(samples);
  mixdown<<<6, 128>>>(in, gains, filled<int>(channels, [](int i) { return (int)(i == 4); }), out, channels, samples, 0.5f);
  return told(out, samples);
}
