// Finds, writes and reads runs.
#include "capture/runs.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/files.hpp"

namespace hipscope {

std::vector<Run> different_runs(std::string_view before, std::string_view now, const std::vector<bool>& written,
                                const std::vector<Run>& replaced) {
    std::vector<Run> runs;
    std::size_t next = 0;  // of `replaced`
    for (std::size_t at = 0; at < now.size(); at += kRunBytes) {
        if (at / kRunBytes < written.size() && !written[at / kRunBytes]) continue;
        const std::size_t size = std::min(kRunBytes, now.size() - at);
        while (next < replaced.size() && replaced[next].offset + replaced[next].bytes.size() <= at) ++next;
        const bool other = next < replaced.size() && replaced[next].offset <= at;
        const char* const was = other ? replaced[next].bytes.data() + (at - replaced[next].offset) : before.data() + at;
        if (std::memcmp(was, now.data() + at, size) == 0) continue;
        if (!runs.empty() && runs.back().offset + runs.back().bytes.size() == at)
            runs.back().bytes = now.substr(runs.back().offset, runs.back().bytes.size() + size);
        else
            runs.push_back({at, now.substr(at, size)});
    }
    return runs;
}

void place_runs(const std::vector<Run>& runs, char* data, std::size_t bytes) {
    for (const Run& run : runs) {
        const std::size_t size = run.bytes.size();
        const bool inside = run.offset <= bytes && size <= bytes - run.offset;
        if (!inside || run.offset % kRunBytes != 0 || (size % kRunBytes != 0 && run.offset + size != bytes))
            throw std::runtime_error("runs do not fit the buffer");
        std::memcpy(data + run.offset, run.bytes.data(), size);
    }
}

void write_runs(const std::string& path, const std::vector<Run>& runs) {
    std::string text;
    for (const Run& run : runs) {
        const std::uint64_t head[2] = {run.offset, run.bytes.size()};
        text.append(reinterpret_cast<const char*>(head), sizeof head).append(run.bytes);
    }
    write_file(path, text);
}

std::vector<Run> read_runs(std::string_view content) {
    std::vector<Run> runs;
    while (!content.empty()) {
        std::uint64_t head[2];
        if (content.size() < sizeof head) throw std::runtime_error("runs are cut off");
        std::memcpy(head, content.data(), sizeof head);
        content.remove_prefix(sizeof head);
        if (head[1] > content.size()) throw std::runtime_error("runs are cut off");
        runs.push_back({head[0], content.substr(0, head[1])});
        content.remove_prefix(head[1]);
    }
    return runs;
}

}  // namespace hipscope
