// Says what the emulator does not execute, before anything runs.
//
//   hipscope-coverage TARGET DISASSEMBLY    reads llvm-objdump's text; one line per instruction that is not executed:
//                                           address (hex), tab, reason. Exit status 1 when there is one.
//   hipscope-coverage --refused-calls       the HIP calls that exist so that programs link, and are not emulated
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "core/decode.hpp"

namespace {

constexpr const char* refused_calls[] = {
#define HIPSCOPE_UNSUPPORTED(name) #name,
#include "hip/unsupported.inc"
#undef HIPSCOPE_UNSUPPORTED
};

int refused() {
    for (const char* name : refused_calls) std::cout << name << '\n';
    return 0;
}

int check(const char* target, const char* path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        std::cerr << "hipscope-coverage: cannot read " << path << '\n';
        return 2;
    }
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const hipscope::Disassembly code = hipscope::decode(text, target);
    std::cout << std::hex;
    for (const hipscope::Undecoded& u : code.unsupported) std::cout << u.address << '\t' << u.reason << '\n';
    return code.unsupported.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--refused-calls") == 0) return refused();
    if (argc == 3) return check(argv[1], argv[2]);
    std::cerr << "usage: hipscope-coverage TARGET DISASSEMBLY | --refused-calls\n";
    return 2;
}
