// Reader of the flat device file.
#include "engine/device_config.hpp"

#include <charconv>
#include <fstream>
#include <stdexcept>

namespace hipscope {

DeviceConfig DeviceConfig::read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read the device file '" + path + "'");
    DeviceConfig config;
    config.path_ = path;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        line.resize(std::min(line.find('#'), line.size()));
        while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.pop_back();
        if (line.empty()) continue;
        const std::size_t gap = line.find(' ');
        if (gap == std::string::npos || gap == 0)
            throw std::runtime_error(path + ":" + std::to_string(number) + ": expected 'key value'");
        config.values_[line.substr(0, gap)] = line.substr(line.find_first_not_of(' ', gap));
    }
    return config;
}

double DeviceConfig::number(const std::string& key) const {
    const auto entry = values_.find(key);
    if (entry == values_.end()) throw std::runtime_error("the device file '" + path_ + "' has no '" + key + "'");
    double value = 0;
    const std::string& text = entry->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        throw std::runtime_error("'" + key + "' in the device file '" + path_ + "' is not a number");
    return value;
}

double DeviceConfig::number_or(const std::string& key, double fallback) const {
    return values_.contains(key) ? number(key) : fallback;
}

std::string DeviceConfig::text(const std::string& key, const std::string& fallback) const {
    const auto entry = values_.find(key);
    return entry == values_.end() ? fallback : entry->second;
}

}  // namespace hipscope
