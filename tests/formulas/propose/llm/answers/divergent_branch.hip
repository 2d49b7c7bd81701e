// belief: {"finding": "F1", "edit": "choose the constants", "mechanism": "both metals go through one loop", "metric": "active lanes per VALU instruction", "direction": "up", "expected_percent": 90}
__global__ void cool(const int* metal, const float* start, float* end, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const bool copper = metal[i] == kCopper;
  const float loss = copper ? kCopperLoss : kSteelLoss;
  const float glow = copper ? kCopperGlow : kSteelGlow;
  float t = start[i];
  for (int step = 0; step < kSteps; ++step) {
    t -= loss * (t - kAmbient) + glow * (t * t) * (t * t);
  }
  end[i] = t;
}
