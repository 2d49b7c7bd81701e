// Reads the LDS's rows of the device table.
#include "engine/lds_rows.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace hipscope {
namespace {

using Lanes = std::vector<int>;

/// "0-3 20-23"
Lanes lanes_of(const std::string& text) {
    Lanes lanes;
    std::istringstream words(text);
    for (int first = 0; words >> first;) {
        int last = first;
        if (words.peek() == '-') words.ignore() >> last;
        for (; first <= last; ++first) lanes.push_back(first);
    }
    if (!words.eof()) lanes.clear();
    return lanes;
}

/// Whether the sets are of one size and hold each of the first lanes once, and whole rounds of them make a wave.
bool covers_a_wave(const LdsRow& row, const std::vector<Lanes>& sets) {
    Lanes all;
    for (const Lanes& set : sets) {
        if (set.size() != sets.front().size()) return false;
        all.insert(all.end(), set.begin(), set.end());
    }
    Lanes in_order(all.size());
    std::iota(in_order.begin(), in_order.end(), 0);
    std::ranges::sort(all);
    return !all.empty() && all == in_order && kLanes % all.size() == 0 && sets.front().size() <= row.lane[0].size() &&
           kLanes / sets.front().size() <= row.lane.size() && (row.banks == 32 || row.banks == LdsRows::kMostBanks);
}

int conflicts_of_run(const LdsRow& row, int per_lane) {
    std::uint32_t dwords[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) dwords[lane] = static_cast<std::uint32_t>(lane) * static_cast<std::uint32_t>(per_lane);
    int conflicts = 0;
    for (int set = 0; set < row.sets; ++set) conflicts += set_conflicts(row, static_cast<std::size_t>(set), dwords, ~0ULL, per_lane);
    return conflicts;
}

LdsRow read_row(const DeviceConfig& config, const std::string& key, int per_lane) {
    LdsRow row;
    std::istringstream text(config.text(key, ""));
    std::string word;
    text >> row.banks >> word;
    std::vector<Lanes> sets;
    for (std::string set; std::getline(text, set, ',');) sets.push_back(lanes_of(set));
    if (word != "banks:" || !covers_a_wave(row, sets))
        throw std::runtime_error("'" + key + "' in the device file says not which lanes of a wave the LDS serves together");
    row.lanes_per_set = static_cast<int>(sets.front().size());
    row.sets = kLanes / row.lanes_per_set;
    const std::size_t round = sets.size() * sets.front().size();
    for (std::size_t set = 0; set < static_cast<std::size_t>(row.sets); ++set)
        for (std::size_t i = 0; i < sets.front().size(); ++i)
            row.lane[set][i] = static_cast<std::uint8_t>(static_cast<std::size_t>(sets[set % sets.size()][i]) + set / sets.size() * round);
    row.run_conflicts = conflicts_of_run(row, per_lane);
    return row;
}

}  // namespace

LdsRows LdsRows::from(const DeviceConfig& config) {
    LdsRows rows;
    const char* const widths[] = {"b32", "b64", "b96", "b128"};
    for (std::size_t width = 0; width < 4; ++width) {
        const int per_lane = static_cast<int>(width) + 1;
        rows.rows_[0][width] = read_row(config, std::string("lds_read_") + widths[width], per_lane);
        rows.rows_[1][width] = read_row(config, std::string("lds_write_") + widths[width], per_lane);
    }
    return rows;
}

int set_conflicts(const LdsRow& row, std::size_t set, const std::uint32_t* dwords, std::uint64_t active, int per_lane) {
    std::uint32_t seen[LdsRows::kMostBanks][32];
    std::uint8_t depth[LdsRows::kMostBanks] = {};
    const auto& lanes = row.lane[set];
    int worst = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(row.lanes_per_set); ++i) {
        if (((active >> lanes[i]) & 1U) == 0) continue;
        for (int part = 0; part < per_lane; ++part) {
            const std::uint32_t dword = dwords[lanes[i]] + static_cast<std::uint32_t>(part);
            const std::uint32_t bank = dword & static_cast<std::uint32_t>(row.banks - 1);
            int k = 0;
            while (k < depth[bank] && seen[bank][k] != dword) ++k;
            if (k < depth[bank]) continue;
            if (k < 32) seen[bank][depth[bank]++] = dword;
            worst = std::max(worst, static_cast<int>(depth[bank]));
        }
    }
    return worst > 0 ? worst - 1 : 0;
}

}  // namespace hipscope
