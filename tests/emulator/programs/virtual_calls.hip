// Objects with virtual functions, made on the device: different classes side by side in one wave, two bases, a template.
#include "check.hpp"

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual int area() const = 0;
    __device__ virtual int edges() const { return 0; }
};
struct Named {
    __device__ virtual int name() const = 0;
};
struct Square : Shape {
    int side;
    __device__ explicit Square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
    __device__ int edges() const override { return 4; }
};
struct Box : Square, Named {
    int height;
    __device__ Box(int s, int h) : Square(s), height(h) {}
    __device__ int area() const override { return 2 * Square::area() + 4 * side * height; }
    __device__ int name() const override { return 66 + height; }
};
template <int Factor>
struct Blob : Shape {
    int size;
    __device__ explicit Blob(int s) : size(s) {}
    __device__ int area() const override { return size * Factor; }
};
__device__ __attribute__((noinline)) int describe(const Shape* shape) { return shape->area() * 10 + shape->edges(); }
__device__ __attribute__((noinline)) int ask(const Named* named) { return named->name(); }

__global__ void run(int* out) {
    const int t = threadIdx.x;
    Square square(t);
    Box box(t, 3);
    Blob<7> blob(t);
    Blob<-2> other(t);
    const Shape* all[4] = {&square, &box, &blob, &other};
    int sum = 0;
    for (int i = 0; i < 4; ++i) sum = sum * 3 + describe(all[(t + i) % 4]);
    out[t] = sum + ask(&box);
}
int main() {
    Device<int> out(128);
    run<<<1, 128>>>(out.data);
    expect_all("shape", out.read(), [](std::size_t k) {
        const int t = static_cast<int>(k);
        const int described[4] = {t * t * 10 + 4, (2 * t * t + 12 * t) * 10 + 4, t * 70, t * -20};
        int sum = 0;
        for (int i = 0; i < 4; ++i) sum = sum * 3 + described[(t + i) % 4];
        return sum + 69;
    });
    return verdict();
}
