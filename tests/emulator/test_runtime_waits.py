"""Streams that wait for a value which is written later, and device memory that two processes share."""

from __future__ import annotations

from pathlib import Path

from tests.emulator.hip_run import run_hip

START = """
#include <chrono>
#include <thread>
__global__ void add(unsigned* to, unsigned value) { *to += value; }
__global__ void put(unsigned* to, unsigned value) { atomicExch_system(to, value); }
const unsigned all = 0xffffffffu;
unsigned *flag, *data, *back;
hipStream_t a, b;
void set_up(unsigned flags) {
  CHECK(hipHostMalloc(&flag, 64)); CHECK(hipHostMalloc(&back, 64)); CHECK(hipMalloc(&data, 64));
  CHECK(hipMemset(data, 0, 64));
  CHECK(hipStreamCreateWithFlags(&a, flags)); CHECK(hipStreamCreateWithFlags(&b, flags));
  *flag = *back = 0;
}
unsigned read() { unsigned v; CHECK(hipMemcpyWithStream(&v, data, 4, hipMemcpyDeviceToHost, b)); return v; }
const char* name(hipError_t e) { return hipGetErrorName(e); }
"""


def test_a_stream_goes_on_when_the_host_writes_the_value_and_so_do_those_that_wait_for_it(
    tmp_path: Path,
) -> None:
    ran = run_hip(
        START
        + """
int main() {
  set_up(hipStreamNonBlocking);
  hipEvent_t e;
  CHECK(hipEventCreate(&e));
  CHECK(hipStreamWaitValue32(a, flag, 3, hipStreamWaitValueGte, all));
  add<<<1, 1, 0, a>>>(data, 5);
  CHECK(hipMemcpyAsync(back, data, 4, hipMemcpyDeviceToHost, a));
  CHECK(hipStreamAddCallback(a, [](hipStream_t, hipError_t, void* p) { *static_cast<unsigned*>(p) += 100; }, back, 0));
  CHECK(hipEventRecord(e, a));
  std::printf("%s %s\\n", name(hipStreamQuery(a)), name(hipEventQuery(e)));
  CHECK(hipStreamWaitEvent(b, e, 0));
  add<<<1, 1, 0, b>>>(data, 20);
  *flag = 2;
  std::printf("%s %u\\n", name(hipStreamQuery(b)), *back);
  *flag = 4;
  CHECK(hipStreamSynchronize(b));
  std::printf("%u %u %s %s\\n", *back, read(), name(hipStreamQuery(a)), name(hipEventQuery(e)));
}
""",
        tmp_path,
    )
    assert ran.stdout.splitlines() == [
        "hipErrorNotReady hipErrorNotReady",
        "hipErrorNotReady 0",
        "105 25 hipSuccess hipSuccess",
    ]
    assert ran.stderr == ""


def test_a_stream_goes_on_when_another_one_writes_the_value(tmp_path: Path) -> None:
    ran = run_hip(
        START
        + """
int main() {
  set_up(hipStreamNonBlocking);
  CHECK(hipStreamWaitValue32(a, flag, 1, hipStreamWaitValueEq, all));
  add<<<1, 1, 0, a>>>(data, 1);
  CHECK(hipStreamWaitValue64(a, flag + 2, 1ull << 40, hipStreamWaitValueAnd, 1ull << 40));
  add<<<1, 1, 0, a>>>(data, 2);
  CHECK(hipStreamWriteValue32(a, flag + 4, 9, 0));
  CHECK(hipStreamWaitValue32(b, flag + 4, 9, hipStreamWaitValueEq, all));
  add<<<1, 1, 0, b>>>(data, 4);
  hipStream_t c;
  CHECK(hipStreamCreateWithFlags(&c, hipStreamNonBlocking));
  put<<<1, 1, 0, c>>>(flag, 1);
  unsigned now;
  CHECK(hipMemcpyWithStream(&now, data, 4, hipMemcpyDeviceToHost, c));
  CHECK(hipStreamWriteValue64(c, flag + 2, 3ull << 40, 0));
  std::printf("%u %u %u\\n", now, read(), flag[4]);
}
""",
        tmp_path,
    )
    assert ran.stdout == "1 7 9\n"


def test_the_null_stream_and_blocking_streams_wait_for_each_other(tmp_path: Path) -> None:
    ran = run_hip(
        START
        + """
int main() {
  set_up(hipStreamDefault);
  CHECK(hipStreamWaitValue32(a, flag, 1, hipStreamWaitValueEq, all));
  add<<<1, 1, 0, a>>>(data, 1);
  add<<<1, 1>>>(data, 2);
  add<<<1, 1, 0, b>>>(data, 4);
  hipStream_t c;
  CHECK(hipStreamCreateWithFlags(&c, hipStreamNonBlocking));
  CHECK(hipMemcpyAsync(back, data, 4, hipMemcpyDeviceToHost, c));
  std::printf("%u\\n", *back);
  std::thread other([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); *flag = 1; });
  CHECK(hipDeviceSynchronize());
  other.join();
  std::printf("%u\\n", read());
  CHECK(hipFree(data));
}
""",
        tmp_path,
    )
    assert ran.stdout == "0\n7\n"


IPC = """
#include <unistd.h>
#include <sys/wait.h>
__global__ void add(unsigned* to, unsigned value) { to[blockIdx.x * 64 + threadIdx.x] += value; }
int other() {
  hipIpcMemHandle_t handle;
  unsigned *block, *again;
  if (read(0, &handle, sizeof handle) != sizeof handle) return 1;
  CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&block), handle, hipIpcMemLazyEnablePeerAccess));
  CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&again), handle, hipIpcMemLazyEnablePeerAccess));
  add<<<40, 64>>>(block, 1000);
  CHECK(hipDeviceSynchronize());
  std::printf("%d %s\\n", block == again, hipGetErrorName(hipFree(block)));
  CHECK(hipIpcCloseMemHandle(block));
  CHECK(hipIpcCloseMemHandle(block));
  std::printf("%s\\n", hipGetErrorName(hipIpcCloseMemHandle(block)));
  return 0;
}
int main(int argc, char**) {
  if (argc > 1) return other();
  int to[2];
  if (pipe(to) != 0) return 1;
  unsigned* block;
  hipIpcMemHandle_t handle;
  std::vector<unsigned> values(40 * 64);
  for (unsigned i = 0; i < values.size(); ++i) values[i] = i;
  CHECK(hipMalloc(&block, values.size() * 4));
  CHECK(hipMemcpy(block, values.data(), values.size() * 4, hipMemcpyHostToDevice));
  CHECK(hipIpcGetMemHandle(&handle, block));
  void* own = nullptr;
  std::printf("%s\\n", hipGetErrorName(hipIpcOpenMemHandle(&own, handle, hipIpcMemLazyEnablePeerAccess)));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(to[0], 0);
    execl("/proc/self/exe", "program", "other", nullptr);
    _exit(1);
  }
  if (write(to[1], &handle, sizeof handle) != sizeof handle) return 1;
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(hipMemcpy(values.data(), block, values.size() * 4, hipMemcpyDeviceToHost));
  unsigned wrong = 0;
  for (unsigned i = 0; i < values.size(); ++i) wrong += values[i] != i + 1000;
  CHECK(hipFree(block));
  unsigned* fresh;
  CHECK(hipMalloc(&fresh, values.size() * 4));
  std::printf("%d %u wrong, %d %u\\n", status, wrong, fresh == block, fresh[7]);
}
"""


def test_another_process_works_on_a_block_that_it_was_given(tmp_path: Path) -> None:
    ran = run_hip(IPC, tmp_path)
    assert ran.stdout.splitlines() == [
        "hipErrorInvalidContext",
        "1 hipErrorInvalidValue",
        "hipErrorInvalidValue",
        "0 0 wrong, 1 0",
    ]


def test_what_is_no_handle_or_whose_owner_is_gone_is_refused(tmp_path: Path) -> None:
    ran = run_hip(
        """
int main() {
  hipIpcMemHandle_t handle{};
  void* p = nullptr;
  std::printf("%s\\n", hipGetErrorName(hipIpcOpenMemHandle(&p, handle, hipIpcMemLazyEnablePeerAccess)));
  CHECK(hipMalloc(&p, 100));
  CHECK(hipIpcGetMemHandle(&handle, p));
  int nobody = 0x3fffffff;  // process numbers end below
  std::memcpy(handle.reserved + 8, &nobody, sizeof nobody);
  std::printf("%s\\n", hipGetErrorName(hipIpcOpenMemHandle(&p, handle, hipIpcMemLazyEnablePeerAccess)));
  std::printf("%s\\n", hipGetErrorName(hipIpcGetMemHandle(&handle, nullptr)));
}
""",
        tmp_path,
    )
    assert ran.stdout.splitlines() == [
        "hipErrorInvalidValue",
        "hipErrorInvalidHandle",
        "hipErrorInvalidValue",
    ]


IPC_EVENTS = """
#include <unistd.h>
#include <sys/wait.h>
struct Handles { hipIpcEventHandle_t ready, back; };
int other() {
  Handles handles;
  hipEvent_t ready, back;
  hipStream_t stream;
  unsigned* flag;
  char byte = 0;
  if (read(0, &handles, sizeof handles) != sizeof handles) return 1;
  CHECK(hipIpcOpenEventHandle(&ready, handles.ready)); CHECK(hipIpcOpenEventHandle(&back, handles.back));
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&flag), 4, 0)); *flag = 0;
  std::printf("query %s\\n", hipGetErrorName(hipEventQuery(ready)));
  CHECK(hipStreamWaitEvent(stream, ready, 0));
  CHECK(hipStreamWriteValue32(stream, flag, 5, 0));
  CHECK(hipEventRecord(back, stream));
  std::printf("stream %s, flag %u\\n", hipGetErrorName(hipStreamQuery(stream)), *flag);
  float ms;
  std::printf("elapsed %s\\n", hipGetErrorName(hipEventElapsedTime(&ms, ready, back)));
  std::fflush(stdout);
  if (write(3, &byte, 1) != 1) return 1;
  CHECK(hipEventSynchronize(ready));
  CHECK(hipStreamSynchronize(stream));
  std::printf("flag %u\\n", *flag);
  CHECK(hipEventDestroy(ready)); CHECK(hipEventDestroy(back));
  return 0;
}
int main(int argc, char**) {
  if (argc > 1) return other();
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) return 1;
  hipEvent_t plain, event;
  Handles handles;
  CHECK(hipEventCreate(&plain));
  std::printf("%s ", hipGetErrorName(hipIpcGetEventHandle(&handles.ready, plain)));
  std::printf("%s ", hipGetErrorName(hipEventCreateWithFlags(&event, hipEventInterprocess)));
  hipEvent_t ready, back;
  for (hipEvent_t* e : {&ready, &back}) CHECK(hipEventCreateWithFlags(e, hipEventInterprocess | hipEventDisableTiming));
  CHECK(hipIpcGetEventHandle(&handles.ready, ready)); CHECK(hipIpcGetEventHandle(&handles.back, back));
  std::printf("%s\\n", hipGetErrorName(hipIpcOpenEventHandle(&event, handles.ready)));
  std::fflush(stdout);
  hipStream_t stream;
  unsigned* gate;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&gate), 4, 0)); *gate = 0;
  CHECK(hipStreamWaitValue32(stream, gate, 1, hipStreamWaitValueGte, 0xffffffff));
  CHECK(hipEventRecord(ready, stream));
  const pid_t child = fork();
  if (child == 0) {
    dup2(to[0], 0); dup2(from[1], 3);
    execl("/proc/self/exe", "program", "other", nullptr);
    _exit(1);
  }
  if (write(to[1], &handles, sizeof handles) != sizeof handles) return 1;
  char byte;
  if (read(from[0], &byte, 1) != 1) return 1;
  std::printf("back %s\\n", hipGetErrorName(hipEventQuery(back)));
  std::fflush(stdout);
  *gate = 1;
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipEventSynchronize(back));
  int status = 1;
  waitpid(child, &status, 0);
  std::printf("%d %s\\n", status, hipGetErrorName(hipEventQuery(back)));
}
"""


def test_an_event_is_recorded_in_one_process_and_waited_for_in_another(tmp_path: Path) -> None:
    ran = run_hip(IPC_EVENTS, tmp_path)
    assert ran.stdout.splitlines() == [
        "hipErrorInvalidConfiguration hipErrorInvalidValue hipErrorInvalidContext",
        "query hipErrorNotReady",
        "stream hipErrorNotReady, flag 0",
        "elapsed hipErrorInvalidHandle",
        "back hipErrorNotReady",
        "flag 5",
        "0 hipSuccess",
    ], ran.stderr
