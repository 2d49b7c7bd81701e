// The device's numbers and timing constants, read from the flat file that the Python side writes from devices.toml.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hipscope {

class DeviceConfig {
public:
    /// Read "key value" lines; '#' starts a comment. Throws std::runtime_error naming the file and line.
    static DeviceConfig read(const std::string& path);

    /// Throws std::runtime_error naming the key when it is missing or not a number.
    [[nodiscard]] double number(const std::string& key) const;
    [[nodiscard]] double number_or(const std::string& key, double fallback) const;
    [[nodiscard]] std::string text(const std::string& key, const std::string& fallback) const;
    [[nodiscard]] const std::map<std::string, std::string>& values() const { return values_; }

private:
    std::string path_;
    std::map<std::string, std::string> values_;
};

}  // namespace hipscope
