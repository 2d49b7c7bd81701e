// printf from the device: every conversion, from many lanes and workgroups; the text is read back from standard output.
#include <unistd.h>

#include <string>

#include "check.hpp"

__global__ void lines(const char* word) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 7 == 0) printf("line %d of workgroup %u: %5.2f|%-6s|%06d|%x|%c|%%|%lld|%llu\n", i, static_cast<unsigned>(blockIdx.x), i * 0.25, word, i, i * 3, 'a' + i % 26, -1ll * i, 1ull << 40);
}
__global__ void tree(int depth, int at) {
  if (depth == 0) return;
  printf("node %d at %p\n", at, reinterpret_cast<void*>(static_cast<unsigned long>(at) + 0x1000));
  if (at % 2 == 1) printf("%s %g %e\n", "odd", 1.0 / at, 1e10 * at);
}

/// What a function writes to standard output.
template <class Run>
std::string written(Run run) {
  std::fflush(stdout);
  std::FILE* file = std::tmpfile();
  const int before = dup(1);
  dup2(fileno(file), 1);
  run();
  must(hipDeviceSynchronize(), "kernel");
  std::fflush(stdout);
  dup2(before, 1);
  close(before);
  std::string text(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), ' ');
  lseek(fileno(file), 0, SEEK_SET);
  if (read(fileno(file), text.data(), text.size()) < 0) text.clear();
  std::fclose(file);
  return text;
}
std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t from = 0;
  for (size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1) lines.push_back(text.substr(from, end - from));
  if (from != text.size()) lines.push_back("unfinished: " + text.substr(from));
  std::sort(lines.begin(), lines.end());
  return lines;
}
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

int main() {
  Device<char> word(std::vector<char>{'h', 'i', 'p', 0});
  std::string expected;
  for (int i = 0; i < 4 * 96; i += 7)
    expected += formatted("line %d of workgroup %u: %5.2f|%-6s|%06d|%x|%c|%%|%lld|%llu\n", i, i / 96, i * 0.25, "hip", i, i * 3, 'a' + i % 26, -1ll * i, 1ull << 40);
  const auto got = sorted_lines(written([&] { lines<<<4, 96>>>(word.data); })), want = sorted_lines(expected);
  expect("lines", 0, got.size(), want.size());
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i)
    if (got[i] != want[i] && ++failures <= 5) std::printf("got  %s\nwant %s\n", got[i].c_str(), want[i].c_str());
  expected.clear();
  for (int at = 1; at < 6; ++at) {
    expected += formatted("node %d at %p\n", at, reinterpret_cast<void*>(at + 0x1000l));
    if (at % 2 == 1) expected += formatted("%s %g %e\n", "odd", 1.0 / at, 1e10 * at);
  }
  const std::string text = written([] {
    for (int at = 1; at < 6; ++at) tree<<<1, 1>>>(1, at);
  });
  expect("launches keep their order", 0, text == expected, true);
  return verdict();
}
