// The attributes of a pointer for headers of HIP 5: HIP 6 has renamed `memoryType` to `type`; both names are taken here.
#pragma once

typedef struct hipPointerAttribute_t {
  union {
    enum hipMemoryType memoryType;
    enum hipMemoryType type;
  };
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
} hipPointerAttribute_t;

#ifdef __cplusplus
extern "C" {
#endif
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* ptr);
#ifdef __cplusplus
}
#endif
