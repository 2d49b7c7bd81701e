// rocPRIM's device functions: reductions, the look-back scan, the radix sort, selection, histograms.
#include <rocprim/rocprim.hpp>

#include <map>
#include <numeric>

#include "../programs/check.hpp"

constexpr size_t kCount = 20000;

/// Calls a rocPRIM function twice: once for the size of its temporary memory, then with that memory.
template <class Call>
void with_memory(const char* what, Call call) {
  size_t bytes = 0;
  must(call(nullptr, bytes), what);
  Device<char> memory(bytes == 0 ? 1 : bytes);
  must(call(memory.data, bytes), what);
}

int main() {
  const auto values = generate(kCount, [](size_t i) { return mixed(static_cast<unsigned>(i)) % 1000u; });
  const auto wide = generate(kCount, [](size_t i) { return mixed(static_cast<unsigned>(i) + 99u); });
  const auto places = generate(kCount, [](size_t i) { return static_cast<int>(i); });
  Device<unsigned> in(values), keys(wide), out(kCount), other(kCount), count(4), runs(kCount);
  Device<int> payload(places), moved(kCount);

  with_memory("reduce", [&](void* m, size_t& b) { return rocprim::reduce(m, b, in.data, out.data, 5u, kCount, rocprim::plus<unsigned>()); });
  expect("reduce", 0, out.read()[0], std::accumulate(values.begin(), values.end(), 5u));

  with_memory("inclusive_scan", [&](void* m, size_t& b) { return rocprim::inclusive_scan(m, b, in.data, out.data, kCount, rocprim::plus<unsigned>()); });
  std::vector<unsigned> sums(kCount);
  std::partial_sum(values.begin(), values.end(), sums.begin());
  expect_all("inclusive_scan", out.read(), [&](size_t i) { return sums[i]; });

  with_memory("exclusive_scan", [&](void* m, size_t& b) { return rocprim::exclusive_scan(m, b, in.data, out.data, 7u, kCount, rocprim::plus<unsigned>()); });
  expect_all("exclusive_scan", out.read(), [&](size_t i) { return i == 0 ? 7u : sums[i - 1] + 7u; });

  with_memory("radix_sort_pairs", [&](void* m, size_t& b) { return rocprim::radix_sort_pairs(m, b, keys.data, out.data, payload.data, moved.data, kCount); });
  auto order = places;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return wide[a] < wide[b]; });
  expect_all("sorted keys", out.read(), [&](size_t i) { return wide[order[i]]; });
  expect_all("sorted values", moved.read(), [&](size_t i) { return order[i]; });

  with_memory("merge_sort", [&](void* m, size_t& b) { return rocprim::merge_sort(m, b, in.data, out.data, kCount); });
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  expect_all("merge_sort", out.read(), [&](size_t i) { return sorted[i]; });

  const auto odd = [] __host__ __device__(unsigned v) { return v % 2 == 1; };
  with_memory("select", [&](void* m, size_t& b) { return rocprim::select(m, b, in.data, other.data, count.data, kCount, odd); });
  std::vector<unsigned> chosen;
  std::copy_if(values.begin(), values.end(), std::back_inserter(chosen), odd);
  expect("selected", 0, count.read()[0], static_cast<unsigned>(chosen.size()));
  const auto selected = other.read();
  for (size_t i = 0; i < chosen.size(); ++i) expect("select", i, selected[i], chosen[i]);

  with_memory("histogram_even", [&](void* m, size_t& b) {
    return rocprim::histogram_even(m, b, in.data, static_cast<unsigned>(kCount), runs.data, 11u, 0u, 1000u);
  });
  std::vector<unsigned> bins(10);
  for (unsigned v : values) ++bins[v / 100];
  const auto counted = runs.read();
  for (size_t i = 0; i < bins.size(); ++i) expect("histogram", i, counted[i], bins[i]);

  Device<unsigned> ordered(sorted);
  with_memory("run_length_encode", [&](void* m, size_t& b) {
    return rocprim::run_length_encode(m, b, ordered.data, static_cast<unsigned>(kCount), other.data, runs.data, count.data);
  });
  std::map<unsigned, unsigned> lengths;
  for (unsigned v : values) ++lengths[v];
  expect("number of runs", 0, count.read()[0], static_cast<unsigned>(lengths.size()));
  const auto heads = other.read(), length = runs.read();
  size_t run = 0;
  for (const auto& [value, n] : lengths) {
    expect("run", run, heads[run], value);
    expect("length", run, length[run], n);
    ++run;
  }
  return verdict();
}
