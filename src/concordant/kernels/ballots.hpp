// Ballots as the voting kernels see them. The pairwise matrices of all instances stand one after the other, row-major;
// instance q with candidates slot_ptr[q]:slot_ptr[q + 1] owns a square block.
#pragma once
#include "common.hpp"

#include <vector>

// The tolerance within which sums of fractional weights are equal, relative to the weight of the instance.
constexpr double WEIGHT_TOLERANCE = 1e-12;

enum class Missing { ignore, last, last_free };

// The bundle Ballots as it comes from Python, and as the kernels use it.
using BallotArrays = std::tuple<In<int64_t>, In<int32_t>, In<int64_t>, In<int64_t>, In<int32_t>, In<double>, In<uint8_t>>;

struct Ballots {
    const int64_t *slot_ptr;
    const int32_t *instance;
    const int64_t *indptr, *slot;
    const int32_t *tier;
    const double *weight;
    const uint8_t *is_open;
    size_t n, instances, slots;

    explicit Ballots(const BallotArrays &arrays)
        : slot_ptr(std::get<0>(arrays).data()), instance(std::get<1>(arrays).data()), indptr(std::get<2>(arrays).data()),
          slot(std::get<3>(arrays).data()), tier(std::get<4>(arrays).data()), weight(std::get<5>(arrays).data()),
          is_open(std::get<6>(arrays).data()), n(std::get<2>(arrays).size() - 1),
          instances(std::get<0>(arrays).size() - 1), slots(static_cast<size_t>(slot_ptr[instances])) {}

    size_t candidates(size_t q) const { return static_cast<size_t>(slot_ptr[q + 1] - slot_ptr[q]); }
};

// The ballots of every instance.
struct Instances {
    std::vector<int64_t> from, ballot; // ballots of instance q: ballot[from[q]:from[q + 1]]

    Instances(const int32_t *instance, size_t ballots, size_t instances) : from(instances + 1, 0), ballot(ballots) {
        for (size_t b = 0; b < ballots; ++b) ++from[instance[b] + 1];
        for (size_t q = 0; q < instances; ++q) from[q + 1] += from[q];
        std::vector<int64_t> next(from.begin(), from.end());
        for (size_t b = 0; b < ballots; ++b) ballot[next[instance[b]]++] = static_cast<int64_t>(b);
    }
    explicit Instances(const Ballots &all) : Instances(all.instance, all.n, all.instances) {}
};

// Where the square matrix of every instance starts; one more for the end.
inline std::vector<size_t> matrix_starts(const Ballots &all) {
    std::vector<size_t> start(all.instances + 1, 0);
    for (size_t q = 0; q < all.instances; ++q) start[q + 1] = start[q] + all.candidates(q) * all.candidates(q);
    return start;
}
