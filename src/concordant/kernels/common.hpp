// Shared by every kernel family: array types, fresh output arrays, SIMD multiversioning.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) (void)(address)
#endif

namespace nb = nanobind;
using namespace nb::literals;

template <typename T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
template <typename T> using Out2 = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig>;

// Memory of large arrays in large pages where the system offers them: touching fresh memory page by page can cost as
// much as the work itself. Elements are left as they are, not set to zero.
template <typename T> struct LargePages {
    using value_type = T;
    static constexpr size_t PAGE = size_t{1} << 21;
    LargePages() = default;
    template <typename U> LargePages(const LargePages<U> &) {}
    T *allocate(size_t n) {
        size_t bytes = n * sizeof(T);
        void *memory = nullptr;
#if defined(__linux__)
        if (bytes >= 2 * PAGE) {
            bytes = (bytes + PAGE - 1) / PAGE * PAGE;
            memory = std::aligned_alloc(PAGE, bytes);
            if (memory) madvise(memory, bytes, MADV_HUGEPAGE);
        } else
#endif
            memory = std::malloc(bytes ? bytes : 1);
        if (!memory) throw std::bad_alloc();
        return static_cast<T *>(memory);
    }
    void deallocate(T *memory, size_t) noexcept { std::free(memory); }
    template <typename U> void construct(U *at) noexcept { ::new (static_cast<void *>(at)) U; }
    template <typename U, typename... Args> void construct(U *at, Args &&...args) {
        ::new (static_cast<void *>(at)) U(std::forward<Args>(args)...);
    }
    template <typename U> bool operator==(const LargePages<U> &) const { return true; }
    template <typename U> bool operator!=(const LargePages<U> &) const { return false; }
};
template <typename T> using LargeVector = std::vector<T, LargePages<T>>;

// A buffer that can be handed to NumPy without a copy. Make it, fill it (GIL released or not), then give it away.
template <typename T> struct Buffer {
    struct Free {
        void operator()(T *memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<T[], Free> data;
    size_t size;
    explicit Buffer(size_t n) : data(LargePages<T>().allocate(n)), size(n) {}
    Buffer(size_t n, T value) : Buffer(n) {
        for (size_t k = 0; k < n; ++k) data[k] = value;
    }
    // Zeros as the system hands them out: pages nobody writes to cost nothing.
    static Buffer zeros(size_t n) {
        T *memory = static_cast<T *>(std::calloc(n ? n : 1, sizeof(T)));
        if (!memory) throw std::bad_alloc();
#if defined(__linux__)
        constexpr size_t page = LargePages<T>::PAGE;
        size_t from = (reinterpret_cast<size_t>(memory) + page - 1) / page * page;
        size_t to = (reinterpret_cast<size_t>(memory) + n * sizeof(T)) / page * page;
        if (to > from) madvise(reinterpret_cast<void *>(from), to - from, MADV_HUGEPAGE);
#endif
        Buffer buffer(0);
        buffer.data.reset(memory);
        buffer.size = n;
        return buffer;
    }
    T *get() { return data.get(); }
    T &operator[](size_t k) { return data[k]; }
    Out<T> give() { return give_first(size); }
    Out<T> give_first(size_t n) {
        T *raw = data.release();
        return Out<T>(raw, {n}, nb::capsule(raw, [](void *p) noexcept { std::free(p); }));
    }
    Out2<T> give2(size_t rows, size_t columns) {
        T *raw = data.release();
        return Out2<T>(raw, {rows, columns},
                       nb::capsule(raw, [](void *p) noexcept { std::free(p); }));
    }
};

// A fresh copy of an array, to be changed and given away.
template <typename T> Buffer<T> copy_of(const In<T> &array) {
    Buffer<T> copy(array.size());
    for (size_t k = 0; k < array.size(); ++k) copy[k] = array.data()[k];
    return copy;
}

// Lets a long loop react to Ctrl-C: poll() is told about how many elementary operations a step took. After some millions
// it reads the clock, and every 50 ms it takes the GIL and lets Python handle signals. KeyboardInterrupt leaves the loop
// as a C++ exception, which frees all memory on the way. Python handles signals in its main thread only.
class Interrupts {
  public:
    void poll(size_t work = 1) {
        done_ += work;
        if (done_ >= OFTEN) look();
    }

  private:
    static constexpr size_t OFTEN = size_t{1} << 22;
    size_t done_ = 0;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();

    void look() {
        done_ = 0;
        auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals()) throw nb::python_error();
    }
};

// A result of several values by name: the NamedTuple of this name in kernels/bundles.py. Needs the GIL.
template <typename... Parts> nb::object named(const char *bundle, Parts &&...parts) {
    return nb::module_::import_("concordant.kernels.bundles").attr(bundle)(std::forward<Parts>(parts)...);
}

// The compiler makes one copy of the function per instruction set and the loader picks the best one.
// A sanitizer is not ready yet when the loader picks: it gets plain functions.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define SIMD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define SIMD_CLONES
#endif

// For what SIMD_CLONES share: inlined, it is compiled for the instruction set of each clone.
#if defined(_MSC_VER)
#define ALWAYS_INLINE __forceinline
#else
#define ALWAYS_INLINE inline __attribute__((always_inline))
#endif
