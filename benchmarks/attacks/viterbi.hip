// A step of the Viterbi decoder for many sequences: the best way into each state and where it comes from; the lowest of equals.
#include "attack.hpp"
// kernel begin
__global__ void viterbi(const float* score, const float* change, const int* seen, const float* emit, float* better, short* from, int states, int symbols) {
  const int sequence = blockIdx.x;
  const int symbol = seen[sequence];
  if (symbol < 0 || symbol >= symbols) return;
  for (int s = threadIdx.x; s < states; s += blockDim.x) {
    float best = -INFINITY;
    int by = -1;
    for (int p = 0; p < states; ++p) {
      const float way = score[sequence * states + p] + change[p * states + s];
      if (way > best) {
        best = way;
        by = p;
      }
    }
    better[sequence * states + s] = best + emit[s * symbols + symbol];
    from[sequence * states + s] = (short)by;
  }
}
// kernel end
int main() {
  const int sequences = 12, states = 40, symbols = 17;
  float* better = zeros<float>(sequences * states);
  auto* from = zeros<short>(sequences * states);
  viterbi<<<sequences, 64>>>(numbers(sequences * states), numbers(states * states), upto<int>(sequences, symbols), numbers(states * symbols), better, from, states, symbols);
  told(from, sequences * states);
  return told(better, sequences * states);
}
