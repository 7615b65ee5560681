// Monte Carlo of the LIBOR market model: each thread follows one path of 80 forward rates, prices a
// portfolio of swaptions at its end, and goes back along the path to compute the price's
// sensitivity to the last rate. Local memory keeps all rates of all steps for the way back.
//
// Source      Giles, Glasserman: Smoking adjoints: fast Monte Carlo Greeks, Risk, January 2006
#pragma once

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"

namespace isthmus::workloads {

inline constexpr unsigned kLibRates = 80;
inline constexpr unsigned kLibSteps = 40;
inline constexpr unsigned kLibOptions = 15;
inline constexpr float kLibNotional = 100;
inline constexpr unsigned kLibKept = (kLibSteps + 1) * kLibRates;

struct LibArguments {
  const float* volatilities;   ///< [kLibRates], constant memory
  const unsigned* maturities;  ///< [kLibOptions], ascending, constant memory
  const float* swap_rates;     ///< like maturities
  float accrual;               ///< years between two rates
  float first_rate;            ///< of all rates at the start
  unsigned seed;
  Array<float> prices;         ///< for each path
  Array<float> sensitivities;  ///< like prices
};

// Instructions of a thread, calibrated: ISPASS'09 counts 907 M in total.
inline constexpr unsigned kLibNumber = 20;    ///< a random number
inline constexpr unsigned kLibForward = 40;   ///< a rate's step: division, exponential
inline constexpr unsigned kLibBack = 44;      ///< a rate's step back: two divisions
inline constexpr unsigned kLibDiscount = 16;  ///< for a rate: a division
inline constexpr unsigned kLibOption = 12;

/// A nearly normal number with mean 0 and variance 1: the sum of four uniform ones.
inline float lib_number(unsigned path, unsigned step, unsigned seed) {
  unsigned sum = 0;
  unsigned bits = (path * 0x9E3779B9U) ^ (step * 0x85EBCA6BU) ^ (seed * 0xC2B2AE35U);
  for (unsigned i = 0; i < 4; ++i) {
    bits += 0x6D2B79F5U;
    unsigned mixed = (bits ^ (bits >> 15U)) * 0x2C1B3C6DU;
    mixed = (mixed ^ (mixed >> 12U)) * 0x297A2D39U;
    sum += (mixed ^ (mixed >> 15U)) >> 8U;
  }
  return (static_cast<float>(sum) * 0x1.0p-24F - 2.0F) * 1.7320508F;
}

/// The local memory of a thread.
template <class Rates, class Kept>
struct LibMemory {
  Rates& rates;
  Kept& kept;  ///< [step][rate]
  Rates& numbers;
  Rates& adjoints;
};

/// Along the path. A rate stays constant after its maturity.
template <class Warp, class Memory>
void lib_forward(Warp& warp, const LibArguments& in, Memory& memory) {
  const float accrual = in.accrual;
  for (unsigned step = 0; step < kLibSteps; ++step) {
    const auto shock = warp.load(memory.numbers, step) * sqrtf(accrual);
    auto drift = warp.lanes(0.0F);
    for (unsigned i = step + 1; i < kLibRates; ++i) {
      const float volatility = in.volatilities[i - step - 1];
      const float scaled = accrual * volatility;
      const auto rate = warp.load(memory.rates, i);
      drift = warp.map([=](float d, float r) { return d + scaled * r / (1 + accrual * r); }, drift,
                       rate);
      const auto next =
          warp.map([=](float r, float d,
                       float s) { return r * expf(scaled * d + volatility * (s - 0.5F * scaled)); },
                   rate, drift, shock);
      warp.store(memory.rates, i, next);
      warp.store(memory.kept, (step + 1) * kLibRates + i, next);
      warp.compute(kLibForward);
    }
  }
}

/// The results at a path's end.
template <class Float, class Unsigned>
struct LibEnd {
  Float discount;      ///< from the swaptions' date to now
  Float price;         ///< of the portfolio, now
  Unsigned exercised;  ///< a bit for each swaption
};

/// The portfolio's price. For rates after the swaptions' date, stores the bonds' values in the
/// places of their adjoints.
template <class Warp, class Memory, class Float, class Unsigned>
void lib_price(Warp& warp, const LibArguments& in, Memory& memory, LibEnd<Float, Unsigned>& end) {
  const float accrual = in.accrual;
  const auto shorten = [=](float bond, float rate) { return bond / (1 + accrual * rate); };
  for (unsigned i = 0; i < kLibSteps; ++i) {
    end.discount = warp.map(shorten, end.discount, warp.load(memory.rates, i));
    warp.compute(kLibDiscount);
  }
  auto bond = warp.lanes(1.0F);
  auto annuity = warp.lanes(0.0F);
  unsigned option = 0;
  for (unsigned i = kLibSteps; i < kLibRates; ++i) {
    bond = warp.map(shorten, bond, warp.load(memory.rates, i));
    annuity = annuity + bond * accrual;
    warp.store(memory.adjoints, i, bond);
    warp.compute(kLibDiscount);
    for (; option < kLibOptions && in.maturities[option] == i - kLibSteps + 1; ++option) {
      const auto worth = bond + annuity * in.swap_rates[option] - 1.0F;
      const auto is_worth = [=](float w) { return w < 0 ? kLibNotional * -w : 0.0F; };
      end.price = end.price + warp.map(is_worth, worth);
      const auto bit = [=](float w) { return w < 0 ? 1U << option : 0U; };
      end.exercised = end.exercised | warp.map(bit, worth);
      warp.compute(kLibOption);
    }
  }
  end.price = end.price * end.discount;
}

/// Writes the price's derivatives by all rates at the path's end to the adjoints.
template <class Warp, class Memory, class Float, class Unsigned>
void lib_price_back(Warp& warp, const LibArguments& in, Memory& memory,
                    const LibEnd<Float, Unsigned>& end) {
  const float accrual = in.accrual;
  const auto by_rate = [=](float value, float rate) {
    return -accrual * value / (1 + accrual * rate);
  };
  auto annuities = warp.lanes(0.0F);  // the holdings of all swaptions that pay this long
  auto bonds = warp.lanes(0.0F);      // the value of this bond and the longer ones
  unsigned option = kLibOptions;
  for (unsigned i = kLibRates - 1; i >= kLibSteps; --i) {
    auto held = warp.lanes(0.0F);
    for (; option > 0 && in.maturities[option - 1] == i - kLibSteps + 1; --option) {
      const auto is_held = [=](unsigned bits) {
        return (bits >> (option - 1) & 1U) != 0 ? -kLibNotional : 0.0F;
      };
      const auto one = warp.map(is_held, end.exercised);
      held = held + one;
      annuities = annuities + one * in.swap_rates[option - 1];
      warp.compute(kLibOption);
    }
    bonds = bonds + (held + annuities * accrual) * warp.load(memory.adjoints, i) * end.discount;
    warp.store(memory.adjoints, i, warp.map(by_rate, bonds, warp.load(memory.rates, i)));
    warp.compute(kLibDiscount);
  }
  for (unsigned i = 0; i < kLibSteps; ++i) {
    warp.store(memory.adjoints, i, warp.map(by_rate, end.price, warp.load(memory.rates, i)));
    warp.compute(kLibDiscount);
  }
}

/// Back along the path: from derivatives by the rates at its end to those by the first ones.
template <class Warp, class Memory>
void lib_back(Warp& warp, const LibArguments& in, Memory& memory) {
  const float accrual = in.accrual;
  for (unsigned step = kLibSteps; step-- > 0;) {
    auto through_drift = warp.lanes(0.0F);
    for (unsigned i = kLibRates - 1; i > step; --i) {
      const float scaled = accrual * in.volatilities[i - step - 1];
      const auto next = warp.load(memory.kept, (step + 1) * kLibRates + i);
      const auto now = warp.load(memory.kept, step * kLibRates + i);
      const auto adjoint = warp.load(memory.adjoints, i);
      through_drift = through_drift + adjoint * next * scaled;
      const auto back = [=](float a, float to, float from, float through) {
        const float growth = 1 + accrual * from;
        return a * to / from + scaled * through / (growth * growth);
      };
      warp.store(memory.adjoints, i, warp.map(back, adjoint, next, now, through_drift));
      warp.compute(kLibBack);
    }
  }
}

template <class Cta>
void lib_paths(Cta& cta, const LibArguments& in) {
  cta.each_warp([&](auto& warp) {
    auto rates = warp.template local<float, kLibRates>();
    auto kept = warp.template local<float, kLibKept>();
    auto numbers = warp.template local<float, kLibRates>();
    auto adjoints = warp.template local<float, kLibRates>();
    LibMemory<decltype(rates), decltype(kept)> memory{rates, kept, numbers, adjoints};
    const auto path = warp.thread() + cta.index() * cta.num_threads();
    for (unsigned step = 0; step < kLibSteps; ++step) {
      const auto number = [=](unsigned p) { return lib_number(p, step, in.seed); };
      warp.store(memory.numbers, step, warp.map(number, path));
      warp.compute(kLibNumber);
    }
    for (unsigned i = 0; i < kLibRates; ++i) {
      warp.store(memory.rates, i, warp.lanes(in.first_rate));
      warp.store(memory.kept, i, warp.lanes(in.first_rate));
    }
    lib_forward(warp, in, memory);
    LibEnd<typename Cta::template Value<float>, typename Cta::template Value<unsigned>> end{
        warp.lanes(1.0F), warp.lanes(0.0F), warp.lanes(0U)};
    lib_price(warp, in, memory, end);
    lib_price_back(warp, in, memory, end);
    lib_back(warp, in, memory);
    warp.store(in.prices, path, end.price);
    warp.store(in.sensitivities, path, warp.load(memory.adjoints, kLibRates - 1));
  });
}

}  // namespace isthmus::workloads
