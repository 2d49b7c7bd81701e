"""Known answers for atomics over several addresses, nontemporal accesses and conversions in the time model."""

from __future__ import annotations

import pytest

from hipscope.emulator.devices import device_table
from tests.emulator.recorded_run import HEADER, Run

ATOMICS = (
    HEADER
    + """
__global__ void one_word(float* a, int mask) { atomicAdd(&a[threadIdx.x & mask], 1.0f); }
__global__ void one_line(float* a) { atomicAdd(&a[threadIdx.x % 32], 1.0f); }
__global__ void own_words(float* a) { atomicAdd(&a[blockIdx.x * 64 + threadIdx.x], 1.0f); }
int main() {
  float* a;
  CHECK(hipMalloc(&a, 1 << 20));
  CHECK(hipMemset(a, 0, 1 << 20));
  one_word<<<600, 64>>>(a, 0);
  one_line<<<600, 64>>>(a);
  own_words<<<600, 64>>>(a);
  CHECK(hipDeviceSynchronize());
}
"""
)

STREAMS = (
    HEADER
    + """
template <bool nontemporal, bool loads> __global__ void reuse(const float* kept, float* streamed, float* out) {
  float sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = threadIdx.x; i < 512 << 10; i += 1024) sum += kept[i];
    for (int i = threadIdx.x; i < 1 << 20; i += 1024) {
      if (loads) sum += nontemporal ? __builtin_nontemporal_load(streamed + i) : streamed[i];
      else if (nontemporal) __builtin_nontemporal_store(sum, streamed + i);
      else streamed[i] = sum;
    }
  }
  out[threadIdx.x] = sum;
}
int main() {
  float *kept, *streamed, *out;
  CHECK(hipMalloc(&kept, 2 << 20)); CHECK(hipMalloc(&streamed, 4 << 20)); CHECK(hipMalloc(&out, 4096));
  const auto none_in_l2 = [&] { CHECK(hipMemset(kept, 0, 2 << 20)); CHECK(hipMemset(streamed, 0, 4 << 20)); };
  none_in_l2(); reuse<false, false><<<1, 1024>>>(kept, streamed, out);
  none_in_l2(); reuse<true, false><<<1, 1024>>>(kept, streamed, out);
  none_in_l2(); reuse<false, true><<<1, 1024>>>(kept, streamed, out);
  none_in_l2(); reuse<true, true><<<1, 1024>>>(kept, streamed, out);
  CHECK(hipDeviceSynchronize());
}
"""
)

RATES = (
    HEADER
    + """
#define CHAINS(name, instruction) __global__ void name(float* out) { float a = 1, b = 2, c = 3, d = 4; \\
  asm volatile(".rept 256\\n" instruction " %0, %0\\n" instruction " %1, %1\\n" \\
               instruction " %2, %2\\n" instruction " %3, %3\\n.endr" \\
               : "+v"(a), "+v"(b), "+v"(c), "+v"(d)); out[threadIdx.x] = a + b + c + d; }
CHAINS(floor_of, "v_floor_f32")
CHAINS(to_integer, "v_cvt_u32_f32")
CHAINS(of_byte, "v_cvt_f32_ubyte0")
int main() {
  float* out;
  CHECK(hipMalloc(&out, 4096));
  for (int k = 0; k < 2; ++k) { floor_of<<<1, 1024>>>(out); to_integer<<<1, 1024>>>(out); of_byte<<<1, 1024>>>(out); }
  CHECK(hipDeviceSynchronize());
}
"""
)

LDS = (
    HEADER
    + """
typedef float pair __attribute__((ext_vector_type(2)));
#define MANY(name, instruction, width, type) __global__ void name(float* out, int rounds) { \\
  __shared__ float words[4096]; \\
  const int at = threadIdx.x % 256 * width; \\
  const float a = words[at / 4]; \\
  type b{}; \\
  for (int i = 0; i < rounds; ++i) \\
    asm volatile(".rept 64\\n" instruction "\\n.endr\\ns_waitcnt lgkmcnt(0)" : "+v"(b) : "v"(at), "v"(a) : "memory"); \\
  words[threadIdx.x] = a; \\
  asm volatile("" : : "v"(b)); \\
  out[threadIdx.x] = words[1]; }
MANY(read, "ds_read_b32 %0, %1", 4, float)
MANY(write, "ds_write_b32 %1, %2", 4, float)
MANY(read_wide, "ds_read_b64 %0, %1", 8, pair)
int main() {
  float* out;
  CHECK(hipMalloc(&out, 4096));
  for (int rounds : {4, 20}) read<<<1, 1024>>>(out, rounds);
  for (int rounds : {4, 20}) write<<<1, 1024>>>(out, rounds);
  for (int rounds : {4, 20}) read_wide<<<1, 1024>>>(out, rounds);
  CHECK(hipDeviceSynchronize());
}
"""
)


def test_atomics_wait_for_their_own_word_only(run: Run) -> None:
    one_word, one_line, own_words = run(ATOMICS).times()
    assert one_word > 4 * one_line
    assert one_line > 1.2 * own_words


def test_a_word_takes_its_turns_at_the_stated_pace(run: Run) -> None:
    ran = run(ATOMICS)
    assert ran.dispatches()[0].bound_by == "atomic"
    # 600 waves of 64 lanes on one word: 16 cycles and 4 for each further lane at 2.1 GHz, whichever XCD they run on.
    assert 0.9 < ran.times()[0] / (600 * (16 + 63 * 4) / 2.1) < 1.2


def test_nontemporal_accesses_leave_the_l2_to_the_others(run: Run) -> None:
    fetched = [d.counters["TCC_EA0_RDREQ_sum"] for d in run(STREAMS).dispatches()]
    kept, streamed = (2 << 20) / 128, (4 << 20) / 128
    reads = kept, kept, kept + streamed, kept + streamed
    stores, past_stores, loads, past_loads = (f / d for f, d in zip(fetched, reads, strict=True))
    assert stores > 1.8  # the second pass of the reads finds nothing left of the first
    assert past_stores < 1.2
    assert loads > 1.8
    assert past_loads < 1.8  # what is streamed comes twice, what is kept once


def test_conversions_of_single_precision_go_at_a_quarter_of_the_rate(run: Run) -> None:
    floor_of, to_integer, of_byte = run(RATES).times()[3:]
    assert to_integer > 1.8 * floor_of
    assert of_byte < 1.1 * floor_of


def test_two_pairs_of_simds_have_a_way_to_the_lds_each(run: Run) -> None:
    """AMD's documentation: a word of each lane takes 4 cycles to be read and 8 to be written, two take 8 to be read."""
    clock = device_table()["mi300a"]["clock_mhz"] / 1e3
    times = run(LDS).times()
    accesses = 64 * 16 * 16
    pairs = zip(times[::2], times[1::2], strict=True)
    read, written, wide = ((long - short) * clock / accesses for short, long in pairs)
    assert read == pytest.approx(4 / 2, rel=0.1)
    assert written == pytest.approx(8 / 2, rel=0.1)
    assert wide == pytest.approx(8 / 2, rel=0.1)
