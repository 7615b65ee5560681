#include "workloads/evaluation/lib.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Lib>& lib() {
  static Recorded<Lib> run(std::make_unique<Lib>(LibSizes(), 1));
  return run;
}

/// The price along one path, in doubles; the last rate begins higher by `bump`.
double price_of_path(const LibArguments& in, unsigned path, double bump) {
  const auto accrual = static_cast<double>(in.accrual);
  std::vector<double> rates(kLibRates, static_cast<double>(in.first_rate));
  rates.back() += bump;
  for (unsigned step = 0; step < kLibSteps; ++step) {
    const double shock = static_cast<double>(lib_number(path, step, in.seed)) * std::sqrt(accrual);
    double drift = 0;
    for (unsigned i = step + 1; i < kLibRates; ++i) {
      const auto volatility = static_cast<double>(in.volatilities[i - step - 1]);
      drift += accrual * volatility * rates[i] / (1 + accrual * rates[i]);
      rates[i] *= std::exp(accrual * volatility * drift +
                           volatility * (shock - 0.5 * accrual * volatility));
    }
  }
  double price = 0;
  for (unsigned option = 0; option < kLibOptions; ++option) {
    double bond = 1;
    double annuity = 0;
    for (unsigned i = 0; i < in.maturities[option]; ++i) {
      bond /= 1 + accrual * rates[kLibSteps + i];
      annuity += accrual * bond;
    }
    price += 100 * std::max(0.0, 1 - bond - static_cast<double>(in.swap_rates[option]) * annuity);
  }
  for (unsigned i = 0; i < kLibSteps; ++i) price /= 1 + accrual * rates[i];
  return price;
}

TEST(Lib, PricesEveryPathAsOneLoopInDoublesDoes) {
  const LibArguments& in = lib().program.arguments();
  double sum = 0;
  for (unsigned path = 0; path < LibSizes().paths; ++path) {
    const double expected = price_of_path(in, path, 0);
    ASSERT_NEAR(static_cast<double>(in.prices.values[path]), expected, 2e-3 + 1e-4 * expected)
        << path;
    sum += expected;
  }
  EXPECT_GT(sum, 0);
}

TEST(Lib, SensitivitiesAreThoseOfSmallChanges) {
  const LibArguments& in = lib().program.arguments();
  unsigned num_sensitive = 0;
  for (unsigned path = 0; path < 500; ++path) {
    const double h = 1e-6;
    const double expected = (price_of_path(in, path, h) - price_of_path(in, path, -h)) / (2 * h);
    ASSERT_NEAR(static_cast<double>(in.sensitivities.values[path]), expected,
                2e-3 * std::abs(expected) + 2e-2)
        << path;
    if (expected > 1) ++num_sensitive;
  }
  EXPECT_GT(num_sensitive, 50U);
}

TEST(Lib, ItsNumbersHaveMean0AndVariance1) {
  double sum = 0;
  double squares = 0;
  constexpr unsigned kNumbers = 100'000;
  for (unsigned i = 0; i < kNumbers; ++i) {
    const auto number = static_cast<double>(lib_number(i / 40, i % 40, 1));
    sum += number;
    squares += number * number;
  }
  EXPECT_NEAR(sum / kNumbers, 0, 0.02);
  EXPECT_NEAR(squares / kNumbers, 1, 0.02);
}

TEST(Lib, IsAsLargeAsTheOriginal) {
  EXPECT_EQ(lib().counted.upload_kib, 0);  // ispass2009
  EXPECT_EQ(lib().counted.touched_kib, 32);
  EXPECT_EQ(lib().counted.pages, 1U);
  // 3520 words a thread; 7680 concurrent threads (15 x 8 x 64) take 51.5 pages of 2 MiB.
  EXPECT_EQ(lib().program.program().launches[0].local_bytes_per_thread, 3520U * 4);
}

TEST(Lib, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(lib().counted.millions(), 907, 9);  // ISPASS'09, Table 1
}

}  // namespace
}  // namespace isthmus::workloads
