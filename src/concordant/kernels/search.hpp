// What the search kernels share: problems side by side in flat arrays, and threads that do not change results.
#pragma once
#include "common.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#ifdef _MSC_VER
#include <intrin.h>
#endif

inline size_t lowest_bit(size_t set) {
#ifdef _MSC_VER
    unsigned long place;
    _BitScanForward64(&place, set);
    return place;
#else
    return static_cast<size_t>(__builtin_ctzll(set));
#endif
}

// Whether all are whole numbers up to a size: sums of small ones are exact, and fast, as integers.
inline bool are_whole(const double *cost, size_t n, double largest) {
    bool good = true;
    for (size_t k = 0; k < n; ++k) good = good & (cost[k] == std::floor(cost[k])) & (std::fabs(cost[k]) <= largest);
    return good;
}

// Run task(0) … task(n - 1) on up to `most` threads (0: as many as there are processors); each writes only its own.
// What a task throws (no memory, mostly) is thrown again here: it must not end a thread, and with it the process.
template <typename Run> void for_each_task(size_t n, Run run, size_t most = 0) {
    size_t workers = std::min<size_t>(n, most ? most : std::max(1u, std::thread::hardware_concurrency()));
    std::atomic<size_t> next{0};
    std::exception_ptr trouble;
    std::mutex lock;
    auto work = [&]() {
        try {
            Interrupts interrupts;
            for (size_t k; (k = next++) < n;) {
                run(k);
                interrupts.poll(1 << 16);
            }
        } catch (...) {
            std::lock_guard<std::mutex> hold(lock);
            trouble = std::current_exception();
            next = n;
        }
    };
    std::vector<std::thread> others;
    for (size_t w = 1; w < workers; ++w) others.emplace_back(work);
    work();
    for (std::thread &other : others) other.join();
    if (trouble) std::rethrow_exception(trouble);
}

constexpr double WORTH_THREADS = 2e6; // pairs of items: below, starting threads costs more than it saves

// Run task(problem, first item, items, start of the matrix) for every problem, `effort` passes over its pairs each.
template <typename Run> void for_each_problem(const int64_t *ptr, size_t problems, size_t effort, Run run) {
    std::vector<size_t> start(problems + 1, 0);
    for (size_t q = 0; q < problems; ++q) {
        size_t m = static_cast<size_t>(ptr[q + 1] - ptr[q]);
        start[q + 1] = start[q] + m * m;
    }
    auto one = [&](size_t q) {
        size_t base = static_cast<size_t>(ptr[q]), m = static_cast<size_t>(ptr[q + 1]) - base;
        if (m) run(q, base, m, start[q]);
    };
    if (static_cast<double>(start[problems]) * static_cast<double>(effort) < WORTH_THREADS) {
        Interrupts interrupts;
        for (size_t q = 0; q < problems; ++q) {
            one(q);
            interrupts.poll(effort * (start[q + 1] - start[q]));
        }
    } else {
        for_each_task(problems, one);
    }
}
