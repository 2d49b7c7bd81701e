// Contexts of the driver-style API, and what is asked about the device's place among others: there is one of each.
#include <algorithm>
#include <cstring>

#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Error;

constexpr Error kOk = abi::error::success, kBad = abi::error::invalid_value;
constexpr const char* kBusId = "0000:01:00.0";

Error of_device(int device) { return device == 0 ? kOk : fail(abi::error::invalid_device); }
template <class T>
Error put(T* to, T value) {
    if (to == nullptr) return fail(kBad);
    *to = value;
    return kOk;
}
void* context() { return &Call().runtime; }

}  // namespace

HIPSCOPE_API Error hipDeviceSynchronize();

HIPSCOPE_API Error hipCtxCreate(void** out, unsigned, int device) {
    const Error e = put(out, context());
    return e == kOk ? of_device(device) : e;
}
HIPSCOPE_API Error hipCtxDestroy(void*) { return kOk; }
HIPSCOPE_API Error hipCtxSetCurrent(void*) { return kOk; }
HIPSCOPE_API Error hipCtxGetCurrent(void** out) { return put(out, context()); }
HIPSCOPE_API Error hipCtxPushCurrent(void*) { return kOk; }
HIPSCOPE_API Error hipCtxPopCurrent(void** out) { return out == nullptr ? kOk : put(out, context()); }
HIPSCOPE_API Error hipCtxGetDevice(int* device) { return put(device, 0); }
HIPSCOPE_API Error hipCtxGetApiVersion(void*, int* version) { return put(version, 4); }
HIPSCOPE_API Error hipCtxGetFlags(unsigned* flags) { return put(flags, 0U); }
HIPSCOPE_API Error hipCtxGetCacheConfig(int* config) { return put(config, 0); }
HIPSCOPE_API Error hipCtxSetCacheConfig(int) { return kOk; }
HIPSCOPE_API Error hipCtxGetSharedMemConfig(int* config) { return put(config, 0); }
HIPSCOPE_API Error hipCtxSetSharedMemConfig(int) { return kOk; }
HIPSCOPE_API Error hipCtxSynchronize() { return hipDeviceSynchronize(); }
HIPSCOPE_API Error hipCtxEnablePeerAccess(void*, unsigned) { return fail(abi::error::invalid_device); }
HIPSCOPE_API Error hipCtxDisablePeerAccess(void*) { return fail(abi::error::peer_not_enabled); }
HIPSCOPE_API Error hipDevicePrimaryCtxRetain(void** out, int device) { return hipCtxCreate(out, 0, device); }
HIPSCOPE_API Error hipDevicePrimaryCtxRelease(int device) { return of_device(device); }
HIPSCOPE_API Error hipDevicePrimaryCtxReset(int device) { return of_device(device); }
HIPSCOPE_API Error hipDevicePrimaryCtxSetFlags(int device, unsigned) { return of_device(device); }
HIPSCOPE_API Error hipDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
    if (flags != nullptr) *flags = 0;
    if (active != nullptr) *active = 1;
    return of_device(device);
}

HIPSCOPE_API Error hipDeviceGetPCIBusId(char* text, int length, int device) {
    if (text == nullptr || length < static_cast<int>(std::strlen(kBusId)) + 1) return fail(kBad);
    std::strcpy(text, kBusId);
    return of_device(device);
}
HIPSCOPE_API Error hipDeviceGetByPCIBusId(int* device, const char* text) {
    if (text == nullptr || std::strcmp(text, kBusId) != 0) return fail(kBad);
    return put(device, 0);
}
/// The 16 bytes that stand in the device's properties too.
HIPSCOPE_API Error hipDeviceGetUuid(char* bytes, int device) {
    if (bytes == nullptr) return fail(kBad);
    std::memcpy(bytes, abi::kUuid, 16);
    return of_device(device);
}
HIPSCOPE_API Error hipSetValidDevices(const int* devices, int count) {
    if (count < 0 || (count > 0 && devices == nullptr)) return fail(kBad);
    for (int i = 0; i < count; ++i)
        if (devices[i] != 0) return fail(abi::error::invalid_device);
    return kOk;
}
/// No device is its own peer, and there is one.
HIPSCOPE_API Error hipDeviceCanAccessPeer(int* can, int device, int peer) {
    if (can == nullptr) return fail(kBad);
    return device == peer ? put(can, 0) : fail(abi::error::invalid_device);
}
HIPSCOPE_API Error hipDeviceEnablePeerAccess(int, unsigned flags) { return fail(flags != 0 ? kBad : abi::error::invalid_device); }
HIPSCOPE_API Error hipDeviceDisablePeerAccess(int) { return fail(abi::error::invalid_device); }
HIPSCOPE_API Error hipDeviceGetP2PAttribute(int*, int, int, int) { return fail(abi::error::invalid_device); }
HIPSCOPE_API Error hipExtGetLinkTypeAndHopCount(int, int, unsigned*, unsigned*) { return fail(abi::error::invalid_device); }
