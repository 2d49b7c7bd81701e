// Search for words in a text, one start for each thread; a count of lines; a table-driven automaton over chunks.
#include "check.hpp"
#include <cstring>
#include <string>

__constant__ char words[4][8] = {"ab", "abca", "cc", "bbbbbbb"};
__global__ void search(const char* text, int n, int* counts, int* first) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int w = 0; w < 4; ++w) {
        int k = 0;
        while (k < 8 && words[w][k] != 0 && i + k < n && text[i + k] == words[w][k]) ++k;
        if (k < 8 && words[w][k] == 0) {
            atomicAdd(&counts[w], 1);
            atomicMin(&first[w], i);
        }
    }
}
/// Each thread runs the automaton over its chunk from all three states; the host chains the results.
__global__ void automaton(const char* text, int n, int chunk, const unsigned char* table, unsigned char* ends, int* hits) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c * chunk >= n) return;
    for (int s = 0; s < 3; ++s) {
        unsigned char state = static_cast<unsigned char>(s);
        int hit = 0;
        for (int i = c * chunk; i < min(n, (c + 1) * chunk); ++i) {
            state = table[state * 4 + (text[i] - 'a')];
            hit += state == 2 ? 1 : 0;
        }
        ends[c * 3 + s] = state;
        hits[c * 3 + s] = hit;
    }
}
int main() {
    const int n = 5003;
    std::string text;
    for (unsigned i = 0; i < static_cast<unsigned>(n); ++i) text += "abcd"[mixed(i / 3) % 4 & mixed(i) % 4];
    Device<char> d(std::vector<char>(text.begin(), text.end()));
    Device<int> counts(std::vector<int>(4, 0)), first(std::vector<int>(4, n));
    search<<<(n + 255) / 256, 256>>>(d.data, n, counts.data, first.data);
    const auto c = counts.read(), f = first.read();
    const char* names[4] = {"ab", "abca", "cc", "bbbbbbb"};
    for (int w = 0; w < 4; ++w) {
        int count = 0, found = n;
        for (std::size_t at = text.find(names[w]); at != std::string::npos; at = text.find(names[w], at + 1)) {
            ++count;
            found = std::min(found, static_cast<int>(at));
        }
        expect("count", w, c[w], count);
        expect("first", w, f[w], found);
    }
    const std::vector<unsigned char> table{1, 0, 0, 0, 1, 2, 0, 0, 1, 0, 2, 0};
    const int chunk = 37, chunks = (n + chunk - 1) / chunk;
    Device<unsigned char> dt(table), ends(chunks * 3);
    Device<int> hits(chunks * 3);
    automaton<<<3, 64>>>(d.data, n, chunk, dt.data, ends.data, hits.data);
    const auto e = ends.read();
    const auto h = hits.read();
    int state = 0, got = 0, want = 0;
    for (int k = 0; k < chunks; ++k) {
        got += h[k * 3 + state];
        state = e[k * 3 + state];
    }
    int plain = 0;
    for (const char x : text) want += (plain = table[plain * 4 + (x - 'a')]) == 2;
    expect("automaton", 0, got, want);
    return verdict();
}
