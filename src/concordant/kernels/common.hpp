// Shared by every kernel family: array types, fresh output arrays, SIMD multiversioning.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace nb = nanobind;
using namespace nb::literals;

template <typename T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
template <typename T> using Out2 = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig>;

// A buffer that can be handed to NumPy without a copy. Make it, fill it (GIL released or not), then give it away.
template <typename T> struct Buffer {
    std::unique_ptr<T[]> data;
    size_t size;
    explicit Buffer(size_t n) : data(new T[n ? n : 1]), size(n) {}
    Buffer(size_t n, T value) : Buffer(n) {
        for (size_t k = 0; k < n; ++k) data[k] = value;
    }
    T *get() { return data.get(); }
    T &operator[](size_t k) { return data[k]; }
    Out<T> give() { return give_first(size); }
    Out<T> give_first(size_t n) {
        T *raw = data.release();
        return Out<T>(raw, {n}, nb::capsule(raw, [](void *p) noexcept { delete[] static_cast<T *>(p); }));
    }
    Out2<T> give2(size_t rows, size_t columns) {
        T *raw = data.release();
        return Out2<T>(raw, {rows, columns},
                       nb::capsule(raw, [](void *p) noexcept { delete[] static_cast<T *>(p); }));
    }
};

// The compiler makes one copy of the function per instruction set and the loader picks the best one.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define SIMD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define SIMD_CLONES
#endif
