// The kernels that the program has loaded: what the code object's own metadata says of each kernel object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/kernel_argument.hpp"

namespace hipscope::gpu {

/// Arguments and sizes of one kernel, from the metadata note. No C++ type is guessed.
struct KernelMetadata {
    std::string symbol;  // mangled, without ".kd"
    std::vector<KernelArgument> arguments;
    std::uint32_t kernarg_bytes = 0;
    std::uint32_t lds_bytes = 0;  // static

    [[nodiscard]] std::uint32_t explicit_bytes() const;
};

/// Every kernel of a code object by the name of its descriptor symbol ("k.kd"). Throws std::runtime_error.
std::map<std::string, KernelMetadata> read_kernels(const std::string& elf);

struct Variable {
    std::string symbol;
    std::uint64_t address = 0, bytes = 0;
};

/// One executable: its code object and its variables. Shared by its kernels.
struct LoadedObject {
    std::string elf, hash;
    std::vector<Variable> variables;
};

struct LoadedKernel {
    KernelMetadata metadata;
    std::shared_ptr<const LoadedObject> object;
};

/// From the handle in a dispatch packet to the kernel. Safe to use from several threads.
class Kernels {
public:
    void add(std::uint64_t kernel_object, LoadedKernel kernel);
    [[nodiscard]] std::shared_ptr<const LoadedKernel> find(std::uint64_t kernel_object) const;

private:
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::shared_ptr<const LoadedKernel>> kernels_;
};

}  // namespace hipscope::gpu
