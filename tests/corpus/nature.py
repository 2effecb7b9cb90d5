"""Calendars, physics, weather and units."""

from __future__ import annotations

import enum
from collections import namedtuple
from types import SimpleNamespace

import numpy as np

from tests.corpus.case import Case, integers, samples, uniform

PLANCK, LIGHT, BOLTZMANN = 6.62607015e-34, 2.99792458e8, 1.380649e-23
MONTH_STARTS = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])
LAYERS = [(0.0, 288.15, -0.0065), (11_000.0, 216.65, 0.0), (20_000.0, 216.65, 0.001)]
TO_METRES = {"m": 1.0, "km": 1000.0, "mile": 1609.344, "foot": 0.3048}
CONSTANTS = SimpleNamespace(gravity=9.80665, gas=287.053)

Elements = namedtuple("Elements", "axis eccentricity anomaly")


class Phase(enum.Enum):
    """States of water."""

    ICE = 0
    WATER = 1


def is_leap(year):
    """The Gregorian rule for arrays of years."""
    return (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))


def julian_day(year, month, day):
    """The Julian day number of a date, by integers."""
    a = (14 - month) // 12
    y = year + 4800 - a
    m = month + 12 * a - 3
    return day + (153 * m + 2) // 5 + 365 * y + y // 4 - y // 100 + y // 400 - 32045


def civil_date(julian):
    """Year, month and day of a Julian day number."""
    f = julian + 1401 + (4 * julian + 274277) // 146097 * 3 // 4 - 38
    e = 4 * f + 3
    h = 5 * (e % 1461 // 4) + 2
    day = h % 153 // 5 + 1
    month = (h // 153 + 2) % 12 + 1
    year = e // 1461 - 4716 + (14 - month) // 12
    return year, month, day


def weekday(year, month, day):
    """Sakamoto's day of the week, with a list that is indexed by an array."""
    offsets = np.array([0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4])
    year = year - (month < 3)
    return (year + year // 4 - year // 100 + year // 400 + offsets[month - 1] + day) % 7


def easter(year):
    """Easter by Gauss and Meeus: month and day."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    f = (b + 8) // 25
    g = (b - f + 1) // 3
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    month_offset = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * month_offset) // 451
    month, day = divmod(h + month_offset - 7 * m + 114, 31)
    return month, day + 1


def day_of_year(year, month, day):
    """The number of the day in its year, by a table of the module."""
    number = MONTH_STARTS[month - 1] + day
    if is_leap(year) and month > 2:
        number += 1
    return number


def business_days(start_weekday, days):
    """Working days in a span that starts on a given day of the week."""
    whole_weeks, rest = divmod(days, 7)
    count = 5 * whole_weeks
    for k in range(rest):
        if (start_weekday + k) % 7 < 5:
            count += 1
    return count


def clock(seconds):
    """Hours, minutes and seconds of arrays of seconds."""
    minutes, seconds = np.divmod(seconds, 60)
    hours, minutes = np.divmod(minutes, 60)
    return hours % 24, minutes, seconds


def daylight_hours(latitude, day):
    """The length of the day."""
    declination = 0.409 * np.sin(2 * np.pi / 365 * day - 1.39)
    x = -np.tan(np.radians(latitude)) * np.tan(declination)
    return 24 / np.pi * np.arccos(np.clip(x, -1, 1))


def planck_radiance(wavelength, temperature):
    """Spectral radiance of a black body."""
    x = PLANCK * LIGHT / (wavelength * BOLTZMANN * temperature)
    return 2 * PLANCK * LIGHT**2 / wavelength**5 / np.expm1(x)


def atmosphere_pressure(altitude):
    """Pressure by layers of the standard atmosphere."""
    pressure = 101325.0
    for i, (base, temperature, lapse) in enumerate(LAYERS):
        top = LAYERS[i + 1][0] if i + 1 < len(LAYERS) else np.inf
        h = min(altitude, top) - base
        if lapse == 0:
            pressure *= np.exp(-CONSTANTS.gravity * h / (CONSTANTS.gas * temperature))
        else:
            exponent = -CONSTANTS.gravity / (CONSTANTS.gas * lapse)
            pressure *= (1 + lapse * h / temperature) ** exponent
        if altitude <= top:
            break
    return pressure


def kepler(mean_anomaly, eccentricity):
    """Kepler's equation by Newton's method."""
    e = mean_anomaly + eccentricity * np.sin(mean_anomaly)
    for _ in range(8):
        e -= (e - eccentricity * np.sin(e) - mean_anomaly) / (1 - eccentricity * np.cos(e))
    return e


def orbit_position(elements):
    """The place on an orbit, elements in a named tuple."""
    e = kepler(elements.anomaly, elements.eccentricity)
    x = elements.axis * (np.cos(e) - elements.eccentricity)
    y = elements.axis * np.sqrt(1 - elements.eccentricity**2) * np.sin(e)
    return x, y


def convert_length(values, unit_from, unit_to="m"):
    """Lengths through a dict of units."""
    return values * TO_METRES[unit_from] / TO_METRES[unit_to]


def wind_chill(temperature, wind):
    """Wind chill where it is defined, else the temperature."""
    v = wind**0.16
    chill = 13.12 + 0.6215 * temperature - 11.37 * v + 0.3965 * temperature * v
    return np.where((temperature <= 10) & (wind > 4.8), chill, temperature)


def dew_point(temperature, humidity, phase=Phase.WATER):
    """Magnus' formula with constants by phase."""
    b, c = {Phase.WATER: (17.62, 243.12), Phase.ICE: (22.46, 272.62)}[phase]
    gamma = np.log(humidity / 100) + b * temperature / (c + temperature)
    return c * gamma / (b - gamma)


def wind_components(speed, direction):
    """East and north, and the mean direction of a sample."""
    radians = np.deg2rad(direction)
    u, v = -speed * np.sin(radians), -speed * np.cos(radians)
    return u, v, np.rad2deg(np.arctan2(-u.mean(), -v.mean())) % 360


def beaufort(speed):
    """The number of a wind on Beaufort's scale, by np.digitize and np.select."""
    limits = [0.3, 1.6, 3.4, 5.5, 8.0, 10.8, 13.9]
    number = np.digitize(speed, limits)
    strength = np.select([number < 2, number < 5], [0, 1], default=2)
    return number, strength


def degree_days(low, high, base=10.0):
    """Growing degree days, accumulated, with missing days."""
    mean = (low + high) / 2 - base
    mean[mean < 0] = 0
    mean[np.isnan(mean)] = 0
    return np.cumsum(mean)


def fill_gaps(x):
    """Missing values take the last value before them."""
    index = np.where(~np.isnan(x), np.arange(len(x)), 0)
    np.maximum.accumulate(index, out=index)
    return x[index]


def monthly_means(values, months):
    """Means by month in a dict, months without values are left out."""
    return {m: np.nanmean(values[months == m]) for m in np.unique(months)}


def decay_chain(n0, half_lives, times):
    """Bateman's equations for a chain of two."""
    l1, l2 = np.log(2) / np.asarray(half_lives)
    first = n0 * np.exp(-l1 * times)
    second = n0 * l1 / (l2 - l1) * (np.exp(-l1 * times) - np.exp(-l2 * times))
    return np.vstack([first, second, n0 - first - second])


def lens_chain(rays, lenses):
    """Rays through lenses and gaps by products of matrices."""

    def gap(d):
        return np.array([[1.0, d], [0.0, 1.0]])

    def lens(f):
        return np.array([[1.0, 0.0], [-1.0 / f, 1.0]])

    system = np.linalg.multi_dot([m for f, d in lenses for m in (gap(d), lens(f))][::-1])
    return system @ rays


def fresnel(angle, n1, n2):
    """Reflectance of both polarisations, total reflection included."""
    sin_t = n1 / n2 * np.sin(angle)
    cos_i = np.cos(angle)
    cos_t = np.sqrt(np.maximum(1 - sin_t**2, 0))
    rs = ((n1 * cos_i - n2 * cos_t) / (n1 * cos_i + n2 * cos_t)) ** 2
    rp = ((n1 * cos_t - n2 * cos_i) / (n1 * cos_t + n2 * cos_i)) ** 2
    total = np.abs(sin_t) >= 1
    rs[total] = rp[total] = 1.0
    return rs, rp


def maxwell_boltzmann(speeds, mass, temperature):
    """The distribution of speeds, normalised on the grid."""
    a = mass / (2 * BOLTZMANN * temperature)
    density = 4 * np.pi * (a / np.pi) ** 1.5 * speeds**2 * np.exp(-a * speeds**2)
    return density / np.trapezoid(density, speeds)


def stoichiometry(atoms, masses):
    """Molar masses of molecules given as dicts of counts."""
    return np.array([sum(count * masses[name] for name, count in m.items()) for m in atoms])


def titration(volume, ka=1.8e-5, acid=0.1, base=0.1):
    """pH of a titration by bisection in each point, vectorised."""
    low, high = np.zeros_like(volume), np.full_like(volume, 14.0)
    sodium = base * volume / (50 + volume)
    total = acid * 50 / (50 + volume)
    for _ in range(50):
        ph = (low + high) / 2
        h = 10.0**-ph
        charge = sodium + h - 1e-14 / h - total * ka / (ka + h)
        low = np.where(charge > 0, ph, low)
        high = np.where(charge > 0, high, ph)
    return ph


def tidal_height(t, constituents):
    """A sum of constituents, each a tuple of amplitude, period and phase."""
    height = 0
    for amplitude, period, phase in constituents:
        height += amplitude * np.cos(2 * np.pi * t / period + phase)
    return height


def population_projection(population, fecundity, survival, years):
    """Leslie's matrix, filled and applied."""
    n = len(population)
    leslie = np.zeros((n, n))
    leslie[0, :] = fecundity
    for i in range(n - 1):
        leslie[i + 1, i] = survival[i]
    history = [population]
    while len(history) <= years:
        history.append(leslie @ history[-1])
    return np.array(history).T


CASES = [
    Case(is_leap, lambda: (integers(20, low=1800, high=2100),)),
    Case(julian_day, lambda: (integers(9, low=1800, high=2100), integers(9, low=1, high=13), 15)),
    Case(civil_date, lambda: (integers(9, low=2_400_000, high=2_500_000),)),
    Case(
        weekday,
        lambda: (
            integers(9, low=1800, high=2100),
            integers(9, low=1, high=13),
            integers(9, low=1, high=28),
        ),
    ),
    Case(easter, lambda: (2024,)),
    Case(day_of_year, lambda: (2024, 3, 1)),
    Case(business_days, lambda: (2, 25)),
    Case(clock, lambda: (integers(9, high=200_000),)),
    Case(daylight_hours, lambda: (np.linspace(-70, 70, 9), 172)),
    Case(planck_radiance, lambda: (np.linspace(4e-7, 7e-7, 9), 5800.0)),
    Case(atmosphere_pressure, lambda: (15_000.0,)),
    Case(kepler, lambda: (6 * uniform(9), 0.3)),
    Case(orbit_position, lambda: (Elements(1.5, 0.2, np.linspace(0, 6, 9)),)),
    Case(convert_length, lambda: (samples(5), "mile", "km")),
    Case(wind_chill, lambda: (10 * samples(9), 20 * uniform(9))),
    Case(dew_point, lambda: (20 * uniform(9), 10 + 80 * uniform(9))),
    Case(wind_components, lambda: (10 * uniform(9), 360 * uniform(9))),
    Case(beaufort, lambda: (15 * uniform(9),)),
    Case(degree_days, lambda: (12 * uniform(9), 20 * uniform(9, seed=1))),
    Case(fill_gaps, lambda: (np.where(uniform(12) > 0.5, samples(12), np.nan),)),
    Case(monthly_means, lambda: (samples(20), integers(20, low=1, high=5))),
    Case(decay_chain, lambda: (100.0, (3.0, 7.0), np.linspace(0, 20, 9))),
    Case(lens_chain, lambda: (samples(2, 5), [(0.1, 0.2), (0.3, 0.15)])),
    Case(fresnel, lambda: (np.linspace(0, 1.5, 9), 1.5, 1.0)),
    Case(maxwell_boltzmann, lambda: (np.linspace(0, 2000, 20), 4.65e-26, 300.0)),
    Case(
        stoichiometry,
        lambda: ([{"H": 2, "O": 1}, {"C": 1, "O": 2}], {"H": 1.008, "C": 12.011, "O": 15.999}),
    ),
    Case(titration, lambda: (np.linspace(1, 80, 9),)),
    Case(tidal_height, lambda: (np.linspace(0, 48, 9), [(1.2, 12.42, 0.1), (0.4, 12.0, 0.7)])),
    Case(
        population_projection,
        lambda: (np.array([50.0, 30.0, 20.0]), [0.0, 1.5, 1.0], [0.5, 0.4], 6),
    ),
]
