// Ballots as the voting kernels see them. The pairwise matrices of all instances stand one after the other, row-major;
// instance q with candidates slot_ptr[q]:slot_ptr[q + 1] owns a square block.
#pragma once
#include "common.hpp"

#include <vector>

// The tolerance within which sums of fractional weights are equal, relative to the weight of the instance.
constexpr double WEIGHT_TOLERANCE = 1e-12;

enum class Missing { ignore, last, last_free };

struct Ballots {
    const int64_t *indptr, *slot;
    const int32_t *tier;
    const double *weight;
    const uint8_t *is_open;
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
};
