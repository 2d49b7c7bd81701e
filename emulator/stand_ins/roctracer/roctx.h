// rocTX on the emulator: the public functions, which do nothing there.
#pragma once

#include <stdint.h>

#define ROCTX_VERSION_MAJOR 4
#define ROCTX_VERSION_MINOR 1

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t roctx_range_id_t;
typedef uint64_t roctx_thread_id_t;

uint32_t roctx_version_major(void);
uint32_t roctx_version_minor(void);
void roctxMarkA(const char* message);
int roctxRangePushA(const char* message);
int roctxRangePop(void);
roctx_range_id_t roctxRangeStartA(const char* message);
void roctxRangeStop(roctx_range_id_t id);
int roctxProfilerPause(roctx_thread_id_t thread);
int roctxProfilerResume(roctx_thread_id_t thread);
int roctxNameOsThread(const char* name);
int roctxNameHsaAgent(const char* name, const void* agent);
int roctxNameHipDevice(const char* name, int device);
int roctxNameHipStream(const char* name, const void* stream);
int roctxGetThreadId(roctx_thread_id_t* thread);

#define roctxMark(message) roctxMarkA(message)
#define roctxRangePush(message) roctxRangePushA(message)
#define roctxRangeStart(message) roctxRangeStartA(message)

#ifdef __cplusplus
}
#endif
