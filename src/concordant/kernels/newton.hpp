// Newton's method for many small penalised likelihoods, one after the other.
//
// A likelihood of one instance is a class with
//   m, n_extra                scores, and further parameters after them (none, or of ties and of being shown first)
//   total()                   the weight of all observations
//   start(extra)              a first guess of the further parameters
//   evaluate(p)               the log-likelihood at a point; what the derivatives there need is kept
//   gradient(g)               adds the gradient at the point last evaluated
//   hessian(h, is_exact)      adds minus the second derivatives, lower triangle: exact, or a bound that is never
//                             indefinite, so that its steps ascend where the exact ones need not
//   is_concave()              whether the two are the same
// and no interest in "all scores up by the same". That direction gets a curvature of its own, which changes neither
// steps nor the covariance of centred scores.
#pragma once
#include "cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

constexpr int MAX_NEWTON = 500;
constexpr double MIN_PIVOT = 1e-13; // of the diagonal: smaller ones are rounding errors
constexpr double TIGHT = 1e-13; // gradient relative to all observations, where rounding allows no more

// Arrays as they come from Python: the bundles Belief and Begin.
using BeliefArrays = std::tuple<In<double>, In<double>, bool>;
using WarmStartArrays = std::tuple<In<double>, In<double>, In<double>>;

// What is believed before the data: normal scores, or Gamma worths, which adds for every item this many choices of it
// from all candidates. The further parameters are normal.
struct Belief {
    double strength, extra;
    bool is_gamma;

    double add_gradient(const double *p, size_t m, size_t n, double *gradient) const {
        double value = 0;
        if (is_gamma) {
            double top = *std::max_element(p, p + m), sum = 0;
            for (size_t i = 0; i < m; ++i) sum += std::exp(p[i] - top);
            double mean = top + std::log(sum / static_cast<double>(m));
            for (size_t i = 0; i < m; ++i) {
                value += strength * (p[i] - mean);
                gradient[i] += strength * (1 - std::exp(p[i] - mean));
            }
        } else {
            for (size_t i = 0; i < m; ++i) {
                value -= strength / 2 * p[i] * p[i];
                gradient[i] -= strength * p[i];
            }
        }
        for (size_t e = m; e < n; ++e) {
            value -= extra / 2 * p[e] * p[e];
            gradient[e] -= extra * p[e];
        }
        return value;
    }

    void add_hessian(const double *p, size_t m, size_t n, double *hessian) const {
        if (is_gamma) {
            double top = *std::max_element(p, p + m), sum = 0;
            std::vector<double> share(m);
            for (size_t i = 0; i < m; ++i) sum += share[i] = std::exp(p[i] - top);
            for (size_t i = 0; i < m; ++i) {
                share[i] /= sum;
                double pull = strength * static_cast<double>(m) * share[i];
                for (size_t j = 0; j <= i; ++j) hessian[i * n + j] -= pull * share[j];
                hessian[i * n + i] += pull;
            }
        } else {
            for (size_t i = 0; i < m; ++i) hessian[i * n + i] += strength;
        }
        for (size_t e = m; e < n; ++e) hessian[e * n + e] += extra;
    }
};

template <typename Likelihood> class Newton {
  public:
    Newton(Likelihood &likelihood, Belief belief)
        : point(likelihood.m + likelihood.n_extra, 0.0), likelihood_(likelihood), belief_(belief), m_(likelihood.m),
          n_(point.size()), gradient_(n_), step_(n_), trial_(n_), factor_(n_ * n_) {}

    // Maximise from `point` until a full step is shorter than `small_step`, or the gradient is rounding.
    void run(double small_step) {
        double here = evaluate(point), scale = likelihood_.total() + belief_.strength;
        for (iterations = 0; iterations < MAX_NEWTON; ++iterations) {
            double before = slack();
            if (before <= TIGHT * scale) break;
            is_definite = curve();
            step_ = gradient_;
            solve(factor_.data(), n_, step_.data());
            double rise = dot(gradient_.data(), step_.data(), n_), length = 1, there = here;
            bool is_rounding = rise <= 1e-12 * (std::abs(here) + 1e-3 * scale);
            for (int halvings = 0; halvings < 60; ++halvings, length /= 2) {
                for (size_t k = 0; k < n_; ++k) trial_[k] = point[k] + length * step_[k];
                centre(trial_);
                there = evaluate(trial_);
                if (is_rounding || there >= here + 1e-4 * length * rise - 1e-12 * (1 + std::abs(here))) break;
            }
            point.swap(trial_);
            here = there;
            double longest = largest(step_);
            // Exact steps roughly square the error. Where the value cannot tell any more, the gradient falls at every
            // step until it is rounding itself.
            bool is_there = is_definite && length == 1 && longest < small_step;
            if (is_there || longest <= 1e-14 * (1 + largest(point)) || (is_rounding && slack() > before / 2)) {
                ++iterations;
                break;
            }
        }
        is_definite = curve();
        log_det = log_determinant(factor_.data(), n_) - std::log(along_);
    }

    // The inverse of the last second derivatives, less "all scores up by the same": the covariance of centred scores.
    void covariance(std::vector<double> &inverse) const {
        inverse.resize(n_ * n_);
        invert(factor_.data(), n_, 0.0, inverse.data());
        double common = 1 / (static_cast<double>(m_) * along_);
        for (size_t i = 0; i < m_; ++i)
            for (size_t j = 0; j < m_; ++j) inverse[i * n_ + j] -= common;
    }

    double slack() const { return largest(gradient_); }

    std::vector<double> point;
    double value = 0, log_prior = 0, log_det = 0;
    int iterations = 0;
    bool is_definite = true;

  private:
    static double largest(const std::vector<double> &x) {
        double most = 0;
        for (double one : x) most = std::max(most, std::abs(one));
        return most;
    }

    void centre(std::vector<double> &p) const {
        double mean = 0;
        for (size_t i = 0; i < m_; ++i) mean += p[i];
        mean /= static_cast<double>(m_);
        for (size_t i = 0; i < m_; ++i) p[i] -= mean;
    }

    double evaluate(const std::vector<double> &p) {
        std::fill(gradient_.begin(), gradient_.end(), 0.0);
        value = likelihood_.evaluate(p.data());
        likelihood_.gradient(gradient_.data());
        log_prior = belief_.add_gradient(p.data(), m_, n_, gradient_.data());
        return value + log_prior;
    }

    // Factorise the second derivatives at the point last evaluated; false if they had to be made definite.
    bool curve() {
        for (bool is_exact : {true, false}) {
            if (!is_exact && likelihood_.is_concave()) break;
            fill(is_exact, 0);
            if (factorise(factor_.data(), n_, MIN_PIVOT)) return is_exact;
        }
        double lift = 1e-10 * along_;
        for (int tries = 0; tries < 60; ++tries, lift *= 10) {
            fill(false, lift);
            if (factorise(factor_.data(), n_, MIN_PIVOT)) break;
        }
        return false;
    }

    void fill(bool is_exact, double lift) {
        std::fill(factor_.begin(), factor_.end(), 0.0);
        likelihood_.hessian(factor_.data(), is_exact);
        belief_.add_hessian(point.data(), m_, n_, factor_.data());
        double trace = 0;
        for (size_t i = 0; i < m_; ++i) trace += factor_[i * n_ + i];
        double level = trace > 0 ? trace / static_cast<double>(m_ * m_) : 1.0;
        for (size_t i = 0; i < m_; ++i)
            for (size_t j = 0; j <= i; ++j) factor_[i * n_ + j] += level;
        for (size_t i = 0; i < n_; ++i) factor_[i * n_ + i] += lift;
        along_ = level * static_cast<double>(m_) + (belief_.is_gamma ? 0.0 : belief_.strength);
    }

    Likelihood &likelihood_;
    Belief belief_;
    size_t m_, n_;
    std::vector<double> gradient_, step_, trial_, factor_;
    double along_ = 1;
};

// The fits of all instances, ready for Python: the bundle Fitted.
class Fits {
  public:
    Fits(const In<int64_t> &slot_ptr, const BeliefArrays &belief, const WarmStartArrays &warm_start, bool with_errors)
        : slot_ptr_(slot_ptr.data()), n_(slot_ptr.size() - 1), belief_(belief), warm_start_(warm_start),
          with_errors_(with_errors), score_(static_cast<size_t>(slot_ptr_[n_]), 0.0), advantage_(n_, 0.0),
          tie_(n_, 0.0), value_(n_, 0.0), log_prior_(n_, 0.0), log_det_(n_, 0.0), slack_(n_, 0.0), iterations_(n_, 0),
          is_definite_(n_, 1), covariance_(with_errors ? cells() : 0, 0.0), extra_variance_(2 * n_, 0.0),
          block_(covariance_.get()) {}

    size_t instances() const { return n_; }
    size_t size(size_t q) const { return static_cast<size_t>(slot_ptr_[q + 1] - slot_ptr_[q]); }
    int64_t first(size_t q) const { return slot_ptr_[q]; }

    // Fit one instance; the further parameters are an advantage (`has_order`), then one of ties.
    template <typename Likelihood> void fit(size_t q, Likelihood &likelihood, bool has_order, double small_step) {
        size_t m = size(q), n = m + likelihood.n_extra;
        bool has_tie = likelihood.n_extra > static_cast<size_t>(has_order);
        Newton<Likelihood> newton(likelihood, {std::get<0>(belief_).data()[q], std::get<1>(belief_).data()[q],
                                               std::get<2>(belief_)});
        if (std::get<0>(warm_start_).size()) {
            std::copy_n(std::get<0>(warm_start_).data() + first(q), m, newton.point.begin());
            if (has_order) newton.point[m] = std::get<1>(warm_start_).data()[q];
            if (has_tie) newton.point[n - 1] = std::get<2>(warm_start_).data()[q];
        } else {
            likelihood.start(newton.point.data() + m);
        }
        newton.run(small_step);
        std::copy_n(newton.point.begin(), m, score_.get() + first(q));
        if (has_order) advantage_[q] = newton.point[m];
        if (has_tie) tie_[q] = newton.point[n - 1];
        value_[q] = newton.value;
        log_prior_[q] = newton.log_prior;
        log_det_[q] = newton.log_det;
        slack_[q] = newton.slack();
        iterations_[q] = newton.iterations;
        is_definite_[q] = newton.is_definite;
        if (!with_errors_) return;
        newton.covariance(inverse_);
        for (size_t i = 0; i < m; ++i)
            for (size_t j = 0; j < m; ++j) block_[i * m + j] = inverse_[i * n + j];
        if (has_order) extra_variance_[2 * q] = inverse_[m * n + m];
        if (has_tie) extra_variance_[2 * q + 1] = inverse_[n * n - 1];
    }

    void next(size_t q) { block_ += with_errors_ ? size(q) * size(q) : 0; }

    nb::object give() {
        return named("Fitted", score_.give(), advantage_.give(), tie_.give(), value_.give(), log_prior_.give(),
                     log_det_.give(), slack_.give(), iterations_.give(), is_definite_.give(), covariance_.give(),
                     extra_variance_.give2(n_, 2));
    }

  private:
    size_t cells() const {
        size_t total = 0;
        for (size_t q = 0; q < n_; ++q) total += size(q) * size(q);
        return total;
    }

    const int64_t *slot_ptr_;
    size_t n_;
    const BeliefArrays &belief_;
    const WarmStartArrays &warm_start_;
    bool with_errors_;
    Buffer<double> score_, advantage_, tie_, value_, log_prior_, log_det_, slack_;
    Buffer<int32_t> iterations_;
    Buffer<uint8_t> is_definite_;
    Buffer<double> covariance_, extra_variance_;
    double *block_;
    std::vector<double> inverse_;
};
