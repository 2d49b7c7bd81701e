// belief: {"finding": "F1", "edit": "one reciprocal", "mechanism": "the divisor is the same in each step", "metric": "transcendental instructions per wave", "direction": "down", "expected_percent": 95}
__global__ void oscillate(const float* in, float* out, float stiffness, float damping, float dt, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float pull = dt * stiffness;
  const float kept = 1.0f / (1.0f + dt * damping);
  float position = in[i];
  float velocity = 0.0f;
  for (int step = 0; step < kSteps; ++step) {
    velocity = (velocity - pull * position) * kept;
    position += dt * velocity;
  }
  out[i] = position;
}
