// A HIP program that never ends, under a name that the test of Cancel looks for.
#include <hip/hip_runtime.h>
#include <sys/prctl.h>
#include <unistd.h>

__global__ void idle() {}

int main() {
  prctl(PR_SET_NAME, "hipscope-hangs");
  for (;;) pause();
}
