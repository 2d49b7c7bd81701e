// Reads the parts of an AMDGPU ELF file that a loader needs; every read is checked against the file's end.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "engine/msgpack.hpp"

namespace hipscope {

/// A view of the bytes of an ELF file. The constructor throws std::runtime_error when they are not one for an AMD GPU.
class Elf {
public:
    explicit Elf(std::string_view bytes);
    template <class T>
    [[nodiscard]] T read(std::uint64_t offset) const {
        if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset)
            throw std::runtime_error("the code object is truncated");
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    [[nodiscard]] std::string_view bytes(std::uint64_t offset, std::uint64_t size) const;
    [[nodiscard]] std::vector<Elf64_Phdr> segments() const;
    [[nodiscard]] std::vector<Elf64_Shdr> sections() const;
    [[nodiscard]] std::string_view text_at(std::uint64_t offset) const;

private:
    std::string_view bytes_;
    Elf64_Ehdr header_{};
};

/// The AMDGPU metadata note (LLVM AMDGPUUsage, "Code Object V3 Metadata"). Throws std::runtime_error without one.
msgpack::Value metadata(const Elf& elf, const std::vector<Elf64_Shdr>& sections);

}  // namespace hipscope
