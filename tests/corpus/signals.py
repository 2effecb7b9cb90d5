"""Filters, windows, convolutions and spectra of signals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.corpus.case import Case, samples, uniform

SAMPLE_RATE = 8000.0
TAPS = (0.1, 0.2, 0.4, 0.2, 0.1)
WINDOWS = {
    "hann": lambda n: 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1)),
    "hamming": lambda n: 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(n) / (n - 1)),
    "bartlett": lambda n: 1 - np.abs(2 * np.arange(n) / (n - 1) - 1),
}


@dataclass
class Biquad:
    """Coefficients of a second-order section."""

    b0: float
    b1: float
    b2: float
    a1: float
    a2: float


class KalmanFilter:
    """A linear Kalman filter with constant matrices."""

    def __init__(self, transition, observation, process_noise, measurement_noise):
        self.F = transition
        self.H = observation
        self.Q = process_noise
        self.R = measurement_noise

    def predict(self, x, P):
        return self.F @ x, self.F @ P @ self.F.T + self.Q

    def update(self, x, P, z):
        innovation = z - self.H @ x
        S = self.H @ P @ self.H.T + self.R
        K = P @ self.H.T @ np.linalg.inv(S)
        return x + K @ innovation, (np.eye(len(x)) - K @ self.H) @ P

    def run(self, x, P, measurements):
        """The filtered states of all measurements."""
        states = []
        for z in measurements:
            x, P = self.predict(x, P)
            x, P = self.update(x, P, z)
            states.append(x)
        return np.stack(states)


def constant_velocity_filter():
    """A Kalman filter of positions that are measured and velocities that are not."""
    return KalmanFilter(
        np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]]), 0.01 * np.eye(2), np.eye(1)
    )


def scalar_kalman(measurements, process=1e-3, noise=0.1):
    """A scalar Kalman filter, one measurement at a time."""
    n = measurements.shape[0]
    estimate = np.zeros(n)
    variance = np.zeros(n)
    x, p = measurements[0], 1.0
    for k in range(n):
        p = p + process
        gain = p / (p + noise)
        x = x + gain * (measurements[k] - x)
        p = (1 - gain) * p
        estimate[k] = x
        variance[k] = p
    return estimate, variance


def alpha_beta(measurements, dt=0.5, alpha=0.85, beta=0.005):
    """The alpha-beta tracker, its estimates in a list."""
    x, v = 0.0, 0.0
    track = []
    for z in measurements:
        x += dt * v
        r = z - x
        x += alpha * r
        v += beta * r / dt
        track.append(x)
    return np.array(track)


def exponential_average(x, alpha):
    """Exponential moving average."""
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return y


def moving_average(x, width):
    """Moving average by cumulative sums."""
    c = np.cumsum(np.insert(x, 0, 0.0))
    return (c[width:] - c[:-width]) / width


def median_filter(x, width=5):
    """Moving median with reflected ends."""
    half = width // 2
    padded = np.pad(x, half, mode="reflect")
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = np.median(padded[i : i + width])
    return out


def windowed(x, name="hann"):
    """A signal under a window from a dict of functions."""
    return x * WINDOWS[name](len(x))


def kaiser_window(n, beta):
    """Kaiser's window by the series of the modified Bessel function."""

    def bessel(x):
        total, term = np.ones_like(x), np.ones_like(x)
        for k in range(1, 25):
            term = term * (x / (2 * k)) ** 2
            total = total + term
        return total

    t = 2 * np.arange(n) / (n - 1) - 1
    return bessel(beta * np.sqrt(1 - t**2)) / bessel(np.array(beta))


def convolve_direct(x, h):
    """Full convolution, two loops."""
    y = np.zeros(len(x) + len(h) - 1)
    for i in range(len(x)):
        for j in range(len(h)):
            y[i + j] += x[i] * h[j]
    return y


def fir_filter(x):
    """A symmetric filter: np.convolve with taps of a module constant."""
    return np.convolve(x, TAPS, mode="same")


def autocorrelation(x, lags):
    """Autocorrelation for a number of lags."""
    x = x - x.mean()
    norm = np.dot(x, x)
    return np.array([np.dot(x[: len(x) - k], x[k:]) / norm for k in range(lags)])


def biquad(x, section):
    """A second-order section in transposed direct form."""
    y = np.zeros_like(x)
    s1 = s2 = 0.0
    for n in range(x.shape[0]):
        y[n] = section.b0 * x[n] + s1
        s1 = section.b1 * x[n] - section.a1 * y[n] + s2
        s2 = section.b2 * x[n] - section.a2 * y[n]
    return y


def recursive_filter(b, a, x):
    """The general difference equation of a rational filter."""
    y = np.zeros(len(x))
    for n in range(len(x)):
        total = 0.0
        for k in range(len(b)):
            if n - k >= 0:
                total += b[k] * x[n - k]
        for k in range(1, len(a)):
            if n - k >= 0:
                total -= a[k] * y[n - k]
        y[n] = total / a[0]
    return y


def fourier_matrix_transform(x):
    """The discrete Fourier transform as a product with a matrix."""
    n = x.shape[0]
    k = np.arange(n)
    matrix = np.exp(-2j * np.pi * np.outer(k, k) / n)
    return matrix @ x


def power_spectrum(x):
    """Power in decibels by the real transform."""
    spectrum = np.abs(np.fft.rfft(x * np.hanning(len(x)))) ** 2
    return 10 * np.log10(spectrum + 1e-12)


def goertzel(x, frequency):
    """The power at one frequency by Goertzel's recurrence."""
    n = len(x)
    k = int(0.5 + n * frequency / SAMPLE_RATE)
    coefficient = 2 * np.cos(2 * np.pi * k / n)
    q1 = q2 = 0.0
    for sample in x:
        q1, q2 = coefficient * q1 - q2 + sample, q1
    return q1**2 + q2**2 - coefficient * q1 * q2


def zero_crossings(x):
    """How often a signal changes its sign."""
    return np.count_nonzero(np.diff(np.signbit(x)))


def find_peaks(x, threshold=0.5):
    """Positions of local maxima above a threshold."""
    higher = (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]) & (x[1:-1] > threshold)
    return np.flatnonzero(higher) + 1


def peak_mask(x, threshold=0.5):
    """A mask of local maxima above a threshold."""
    mask = np.zeros(x.shape, dtype=bool)
    mask[1:-1] = (x[1:-1] > x[:-2]) & (x[1:-1] >= x[2:])
    mask &= x > threshold
    return mask


def chirp(duration, f0, f1, amplitude=0.8):
    """A linear chirp as 16-bit samples."""
    t = np.linspace(0, duration, 200, endpoint=False)
    phase = 2 * np.pi * (f0 * t + (f1 - f0) / (2 * duration) * t**2)
    return (amplitude * np.sin(phase) * 32767).astype(np.int16)


def upsample(x, factor=3):
    """Zero stuffing followed by linear interpolation."""
    stuffed = np.zeros(x.size * factor, x.dtype)
    stuffed[::factor] = x
    kernel = np.concatenate([np.arange(1, factor + 1), np.arange(factor - 1, 0, -1)]) / factor
    return np.convolve(stuffed, kernel)[factor - 1 : factor - 1 + stuffed.size]


def pre_emphasis(x, coefficient=0.97):
    """High frequencies raised, then frames of the signal under a window."""
    emphasised = np.append(x[0], x[1:] - coefficient * x[:-1])
    length, step = 16, 8
    count = 1 + (len(emphasised) - length) // step
    index = np.arange(length)[None, :] + step * np.arange(count)[:, None]
    return emphasised[index] * np.hamming(length)


def adaptive_lms(reference, desired, order=4, mu=0.05):
    """Least mean squares: the error signal and the final weights."""
    weights = np.zeros(order)
    error = np.zeros(len(reference))
    for n in range(order, len(reference)):
        window = reference[n - order : n][::-1]
        error[n] = desired[n] - weights @ window
        weights += 2 * mu * error[n] * window
    return error, weights


def savitzky_golay(y, half=3, degree=2):
    """Smoothing by local polynomials: weights from the pseudo-inverse."""
    offsets = np.arange(-half, half + 1)
    design = np.vander(offsets, degree + 1, increasing=True).astype(float)
    weights = np.linalg.pinv(design)[0]
    return np.convolve(np.pad(y, half, mode="edge"), weights[::-1], mode="valid")


CASES = [
    Case(constant_velocity_filter().predict, lambda: (samples(2), np.eye(2))),
    Case(constant_velocity_filter().run, lambda: (np.zeros(2), np.eye(2), samples(6, 1))),
    Case(scalar_kalman, lambda: (samples(25),)),
    Case(alpha_beta, lambda: (samples(20),)),
    Case(exponential_average, lambda: (samples(30), 0.3)),
    Case(moving_average, lambda: (samples(30), 5)),
    Case(median_filter, lambda: (samples(15),)),
    Case(windowed, lambda: (samples(32), "hamming")),
    Case(kaiser_window, lambda: (16, 5.0)),
    Case(convolve_direct, lambda: (samples(9), samples(4))),
    Case(fir_filter, lambda: (samples(20),)),
    Case(autocorrelation, lambda: (samples(40), 6)),
    Case(biquad, lambda: (samples(20), Biquad(0.2, 0.4, 0.2, -0.5, 0.3))),
    Case(recursive_filter, lambda: (np.array([0.2, 0.3]), np.array([1.0, -0.4]), samples(12))),
    Case(fourier_matrix_transform, lambda: (samples(12),)),
    Case(power_spectrum, lambda: (samples(32),)),
    Case(goertzel, lambda: (samples(30), 1000.0)),
    Case(zero_crossings, lambda: (samples(40),)),
    Case(find_peaks, lambda: (samples(40),)),
    Case(peak_mask, lambda: (samples(40),)),
    Case(chirp, lambda: (0.5, 20.0, 90.0)),
    Case(upsample, lambda: (samples(10),)),
    Case(pre_emphasis, lambda: (samples(48),)),
    Case(adaptive_lms, lambda: (samples(20), uniform(20))),
    Case(savitzky_golay, lambda: (samples(20),)),
]
