/// \file
/// Numbers of paths, for `bc`. They grow beyond the range of a double: all numbers of a level have a common scale (Plain),
/// or, if they differ too much for that, each number has an exponent of its own (Scaled).
#pragma once

#include <cstdint>

#include "chatty/core/macros.h"
#include "chatty/core/types.h"

namespace chatty::brandes {

/// A number of paths, or a share of them, relative to the scale of its level. It suffices while the numbers of a level are
/// not too far apart for doubles.
struct Plain {
  static constexpr bool kScales = true;  ///< levels have scales
  double value = 0;                      ///< the number
  /// That number.
  CHATTY_FN static Plain Of(double number) { return {number}; }
  /// Whether it is 0.
  CHATTY_FN bool none() const { return value == 0; }
  /// Adds to it.
  CHATTY_FN void Add(const Plain& other) { value += other.value; }
  /// `number` divided by it.
  CHATTY_FN Plain Divide(double number) const { return {number / value}; }
  /// It times another, where the product is an ordinary number.
  CHATTY_FN double Times(const Plain& other) const { return value * other.value; }
  /// It on another scale.
  CHATTY_FN Plain On(double scale) const { return {value * scale}; }
};

/// A number without bounds: a double between 2^-256 and 2^256, and the exponent of a factor 2^512. With so coarse a base,
/// two numbers that are added seldom differ in their exponents.
struct Scaled {
  static constexpr bool kScales = false;  ///< each number has its own
  double mantissa = 0;                    ///< 0: the number is 0
  std::int32_t exponent = 0;              ///< of 2^512

  static constexpr double kBase = 0x1p512;   ///< what exponents are of
  static constexpr double kHigh = 0x1p256;   ///< mantissas are below this
  static constexpr double kLow = 0x1p-256;   ///< and not below this
  static constexpr double kDown = 0x1p-512;  ///< 1 / kBase

  /// That number, neither extremely large nor small.
  CHATTY_FN static Scaled Of(double number) { return {number, 0}; }
  /// Whether it is 0.
  CHATTY_FN bool none() const { return mantissa == 0; }
  /// Adds to it. Fewer than 2^64 additions keep it in range until Normal is called.
  CHATTY_FN void Add(const Scaled& other) {
    if (other.exponent == exponent) {
      mantissa += other.mantissa;
    } else if (other.none()) {
      return;
    } else if (none()) {
      *this = other;
    } else if (other.exponent < exponent) {
      if (other.exponent == exponent - 1) mantissa += other.mantissa * kDown;
    } else {
      mantissa = (other.exponent == exponent + 1 ? mantissa * kDown : 0) + other.mantissa;
      exponent = other.exponent;
    }
  }
  /// The same number with its mantissa in range.
  CHATTY_FN Scaled Normal() const {
    if (mantissa >= kHigh) return {mantissa * kDown, exponent + 1};
    if (mantissa < kLow && mantissa != 0) return {mantissa * kBase, exponent - 1};
    return *this;
  }
  /// `number`, no extreme one, divided by it.
  CHATTY_FN Scaled Divide(double number) const { return Scaled{number / mantissa, -exponent}.Normal(); }
  /// It times another, where the product is an ordinary number.
  CHATTY_FN double Times(const Scaled& other) const {
    const std::int32_t power = exponent + other.exponent;
    const double product = mantissa * other.mantissa;
    if (power == 0) return product;
    if (power == 1) return product * kBase;
    return power == -1 ? product * kDown : power == -2 ? product * kDown * kDown : 0;
  }
  /// Itself.
  CHATTY_FN Scaled On(double) const { return *this; }
};

/// An array of numbers.
template <class Number>
struct Numbers;
/// An array of plain numbers.
template <>
struct Numbers<Plain> {
  double* values;           ///< all
  std::int32_t* exponents;  ///< not used
  /// The i-th.
  CHATTY_FN Plain operator[](std::size_t i) const { return {values[i]}; }
  /// Sets the i-th.
  CHATTY_FN void Set(std::size_t i, const Plain& number) const { values[i] = number.value; }
};
/// An array of scaled numbers.
template <>
struct Numbers<Scaled> {
  double* values;           ///< mantissas
  std::int32_t* exponents;  ///< their exponents
  /// The i-th.
  CHATTY_FN Scaled operator[](std::size_t i) const { return {values[i], exponents[i]}; }
  /// Sets the i-th, with its mantissa in range.
  CHATTY_FN void Set(std::size_t i, const Scaled& number) const {
    const Scaled normal = number.Normal();
    values[i] = normal.mantissa;
    exponents[i] = normal.exponent;
  }
};

}  // namespace chatty::brandes
