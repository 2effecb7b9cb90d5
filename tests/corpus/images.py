"""Image processing and colours."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Case, integers, samples, uniform

SOBEL_X = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=float)
SOBEL_Y = SOBEL_X.T
LUMA = (0.299, 0.587, 0.114)
RGB_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def grayscale(image):
    """Luma of an 8-bit colour image, as 8 bits again."""
    luma = image[..., 0] * LUMA[0] + image[..., 1] * LUMA[1] + image[..., 2] * LUMA[2]
    return luma.round().astype(np.uint8)


def correlate_2d(image, kernel):
    """Correlation with a small kernel, edges replicated; a loop over the kernel."""
    kh, kw = kernel.shape
    padded = np.pad(image, ((kh // 2, kh // 2), (kw // 2, kw // 2)), mode="edge")
    out = np.zeros(image.shape, dtype=float)
    for dy in range(kh):
        for dx in range(kw):
            out += kernel[dy, dx] * padded[dy : dy + image.shape[0], dx : dx + image.shape[1]]
    return out


def sobel_edges(image):
    """Strength and direction of edges."""
    gx = correlate_2d(image, SOBEL_X)
    gy = correlate_2d(image, SOBEL_Y)
    return np.hypot(gx, gy), np.arctan2(gy, gx)


def gaussian_kernel(sigma, radius):
    """A normalised one-dimensional Gaussian."""
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-0.5 * (x / sigma) ** 2)
    return kernel / kernel.sum()


def gaussian_blur(image, sigma=1.2):
    """A separable blur with np.apply_along_axis."""
    kernel = gaussian_kernel(sigma, int(3 * sigma))

    def blur(line):
        return np.convolve(line, kernel, mode="same")

    image = np.apply_along_axis(blur, 0, image)
    return np.apply_along_axis(blur, 1, image)


def separable_blur(image, radius=2, sigma=1.0):
    """A separable blur by shifted sums."""
    kernel = gaussian_kernel(sigma, radius)
    padded = np.pad(image, radius, mode="reflect")
    rows = sum(kernel[k] * padded[k : k + image.shape[0], :] for k in range(2 * radius + 1))
    return sum(kernel[k] * rows[:, k : k + image.shape[1]] for k in range(2 * radius + 1))


def unsharp_mask(image, amount=1.5):
    """An 8-bit image sharpened, clipped to its range."""
    blurred = correlate_2d(image.astype(np.float32), np.full((3, 3), 1 / 9, np.float32))
    sharp = image + amount * (image - blurred)
    return np.clip(sharp, 0, 255).astype(np.uint8)


def integral_box(image, size):
    """Box sums through the integral image."""
    table = np.zeros((image.shape[0] + 1, image.shape[1] + 1))
    table[1:, 1:] = image.cumsum(axis=0).cumsum(axis=1)
    return table[size:, size:] - table[:-size, size:] - table[size:, :-size] + table[:-size, :-size]


def resize_nearest(image, height, width):
    """Nearest-neighbour resampling by index arrays."""
    rows = (np.arange(height) * image.shape[0] / height).astype(int)
    columns = (np.arange(width) * image.shape[1] / width).astype(int)
    return image[rows[:, None], columns]


def resize_bilinear(image, scale):
    """Bilinear resampling by a factor."""
    h, w = image.shape[:2]
    new_h, new_w = int(h * scale), int(w * scale)
    y = np.linspace(0, h - 1, new_h)
    x = np.linspace(0, w - 1, new_w)
    y0, x0 = np.floor(y).astype(int), np.floor(x).astype(int)
    y1, x1 = np.minimum(y0 + 1, h - 1), np.minimum(x0 + 1, w - 1)
    fy, fx = (y - y0)[:, None], (x - x0)[None, :]
    top = image[np.ix_(y0, x0)] * (1 - fx) + image[np.ix_(y0, x1)] * fx
    bottom = image[np.ix_(y1, x0)] * (1 - fx) + image[np.ix_(y1, x1)] * fx
    return top * (1 - fy) + bottom * fy


def rotate(image, angle):
    """Rotation about the centre by inverse mapping, zero outside."""
    h, w = image.shape
    yy, xx = np.mgrid[0:h, 0:w]
    cy, cx = (h - 1) / 2, (w - 1) / 2
    c, s = np.cos(angle), np.sin(angle)
    source_y = np.rint(cy + c * (yy - cy) - s * (xx - cx)).astype(int)
    source_x = np.rint(cx + s * (yy - cy) + c * (xx - cx)).astype(int)
    inside = (source_y >= 0) & (source_y < h) & (source_x >= 0) & (source_x < w)
    out = np.zeros_like(image)
    out[inside] = image[source_y[inside], source_x[inside]]
    return out


def otsu_threshold(image):
    """Otsu's threshold of an 8-bit image, and the image in black and white."""
    counts = np.bincount(image.ravel(), minlength=256)
    probability = counts / image.size
    omega = np.cumsum(probability)
    mean = np.cumsum(probability * np.arange(256))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mean[-1] * omega - mean) ** 2 / (omega * (1 - omega))
    threshold = np.nanargmax(between)
    return threshold, np.where(image > threshold, 255, 0).astype(np.uint8)


def dilate(mask, iterations=2):
    """Binary dilation by a cross, in place on a copy."""
    mask = mask.copy()
    for _ in range(iterations):
        grown = mask.copy()
        grown[1:] |= mask[:-1]
        grown[:-1] |= mask[1:]
        grown[:, 1:] |= mask[:, :-1]
        grown[:, :-1] |= mask[:, 1:]
        mask = grown
    return mask


def open_image(image):
    """Grey opening: the minimum and then the maximum of shifted images."""

    def shifted(a):
        padded = np.pad(a, 1, mode="edge")
        h, w = a.shape
        return np.stack([padded[i : i + h, j : j + w] for i in range(3) for j in range(3)])

    return shifted(shifted(image).min(axis=0)).max(axis=0)


def equalise_histogram(image):
    """Histogram equalisation of an 8-bit image through a table."""
    counts, _ = np.histogram(image.flatten(), 256, (0, 256))
    cdf = counts.cumsum()
    table = np.round((cdf - cdf.min()) / (cdf.max() - cdf.min()) * 255).astype("uint8")
    return table[image]


def median_3x3(image):
    """A median filter over windows."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    out = image.copy()
    out[1:-1, 1:-1] = np.median(windows, axis=(2, 3))
    return out


def suppress_non_maxima(strength, direction):
    """Thin edges: a pixel stays where no neighbour across the edge is stronger."""
    angle = np.rad2deg(direction) % 180
    out = np.zeros_like(strength)
    for i in range(1, strength.shape[0] - 1):
        for j in range(1, strength.shape[1] - 1):
            a = angle[i, j]
            if a < 22.5 or a >= 157.5:
                one, two = strength[i, j - 1], strength[i, j + 1]
            elif a < 67.5:
                one, two = strength[i - 1, j + 1], strength[i + 1, j - 1]
            elif a < 112.5:
                one, two = strength[i - 1, j], strength[i + 1, j]
            else:
                one, two = strength[i - 1, j - 1], strength[i + 1, j + 1]
            if strength[i, j] >= one and strength[i, j] >= two:
                out[i, j] = strength[i, j]
    return out


def dither(image):
    """Floyd-Steinberg error diffusion to black and white."""
    work = image.astype(float)
    h, w = work.shape
    for y in range(h):
        for x in range(w):
            old = work[y, x]
            new = 255.0 if old > 127 else 0.0
            work[y, x] = new
            error = old - new
            if x + 1 < w:
                work[y, x + 1] += error * 7 / 16
            if y + 1 < h:
                if x > 0:
                    work[y + 1, x - 1] += error * 3 / 16
                work[y + 1, x] += error * 5 / 16
                if x + 1 < w:
                    work[y + 1, x + 1] += error * 1 / 16
    return work.astype(np.uint8)


def blend(foreground, background):
    """Alpha blending of an RGBA image over an RGB one."""
    alpha = foreground[..., 3:]
    out = background * (1 - alpha)
    out += foreground[..., :3] * alpha
    return np.concatenate([out, np.ones_like(alpha)], axis=-1)


def signal_to_noise(image, noisy, peak=255.0):
    """Peak signal to noise ratio in decibels."""
    mse = np.mean((image.astype(np.float64) - noisy.astype(np.float64)) ** 2)
    if mse == 0:
        return np.inf
    return 10 * np.log10(peak**2 / mse)


def structural_similarity(a, b, window=4):
    """The mean structural similarity over blocks."""
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    h, w = a.shape[0] // window, a.shape[1] // window
    a = a[: h * window, : w * window].reshape(h, window, w, window).swapaxes(1, 2)
    b = b[: h * window, : w * window].reshape(h, window, w, window).swapaxes(1, 2)
    ma, mb = a.mean(axis=(2, 3)), b.mean(axis=(2, 3))
    va, vb = a.var(axis=(2, 3)), b.var(axis=(2, 3))
    cov = (a * b).mean(axis=(2, 3)) - ma * mb
    ssim = (2 * ma * mb + c1) * (2 * cov + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
    return ssim.mean()


def bilateral(image, radius=1, sigma_space=1.0, sigma_range=0.2):
    """An edge-preserving blur."""
    h, w = image.shape
    padded = np.pad(image, radius, "reflect")
    total, norm = np.zeros((h, w)), np.zeros((h, w))
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            shifted = padded[radius + dy : radius + dy + h, radius + dx : radius + dx + w]
            weight = np.exp(-(dx**2 + dy**2) / (2 * sigma_space**2))
            weight = weight * np.exp(-((shifted - image) ** 2) / (2 * sigma_range**2))
            total += weight * shifted
            norm += weight
    return total / norm


def flood_fill(image, row, column, value):
    """Fills the region of one colour, with a stack."""
    out = image.copy()
    old = out[row, column]
    if old == value:
        return out
    stack = [(row, column)]
    while stack:
        r, c = stack.pop()
        if 0 <= r < out.shape[0] and 0 <= c < out.shape[1] and out[r, c] == old:
            out[r, c] = value
            stack.extend([(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)])
    return out


def rgb_to_hsv(rgb):
    """Hue, saturation and value, by masks."""
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    high, low = rgb.max(-1), rgb.min(-1)
    span = high - low
    hue = np.zeros_like(high)
    mask = span > 0
    index = mask & (high == r)
    hue[index] = ((g - b)[index] / span[index]) % 6
    index = mask & (high == g) & (high != r)
    hue[index] = (b - r)[index] / span[index] + 2
    index = mask & (high == b) & (high != r) & (high != g)
    hue[index] = (r - g)[index] / span[index] + 4
    saturation = np.zeros_like(high)
    saturation[high > 0] = span[high > 0] / high[high > 0]
    return np.stack([hue / 6, saturation, high], axis=-1)


def hsv_to_rgb(hsv):
    """Red, green and blue, by np.choose."""
    h, s, v = np.moveaxis(hsv, -1, 0)
    sector = np.floor(h * 6).astype(int)
    f = h * 6 - sector
    p, q, t = v * (1 - s), v * (1 - f * s), v * (1 - (1 - f) * s)
    sector %= 6
    r = np.choose(sector, [v, q, p, p, t, v])
    g = np.choose(sector, [t, v, v, q, p, p])
    b = np.choose(sector, [p, p, t, v, v, q])
    return np.dstack((r, g, b))


def srgb_to_linear(c):
    """The transfer curve of sRGB."""
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def rgb_to_lab(rgb):
    """CIE Lab of sRGB colours, with matrices of module constants."""
    xyz = srgb_to_linear(rgb) @ RGB_TO_XYZ.T / WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    lab = np.empty_like(f)
    lab[..., 0] = 116 * f[..., 1] - 16
    lab[..., 1] = 500 * (f[..., 0] - f[..., 1])
    lab[..., 2] = 200 * (f[..., 1] - f[..., 2])
    return lab


def temperature_to_rgb(kelvin):
    """The colour of a black body by Helland's fit, branch by branch."""
    t = kelvin / 100.0
    if t <= 66:
        red = 255.0
        green = 99.4708025861 * np.log(t) - 161.1195681661
    else:
        red = 329.698727446 * (t - 60) ** -0.1332047592
        green = 288.1221695283 * (t - 60) ** -0.0755148492
    if t >= 66:
        blue = 255.0
    elif t <= 19:
        blue = 0.0
    else:
        blue = 138.5177312231 * np.log(t - 10) - 305.0447927307
    return tuple(min(max(channel, 0.0), 255.0) / 255.0 for channel in (red, green, blue))


def auto_contrast(image, low=2, high=98):
    """Percentiles stretched to the whole range."""
    a, b = np.percentile(image, (low, high))
    return np.clip((image - a) / (b - a), 0.0, 1.0)


CASES = [
    Case(grayscale, lambda: (integers(5, 6, 3, high=256).astype(np.uint8),)),
    Case(correlate_2d, lambda: (samples(7, 8), samples(3, 5))),
    Case(sobel_edges, lambda: (samples(7, 8),)),
    Case(gaussian_blur, lambda: (samples(9, 8),)),
    Case(separable_blur, lambda: (samples(9, 8),)),
    Case(unsharp_mask, lambda: (integers(8, 7, high=256).astype(np.uint8),)),
    Case(integral_box, lambda: (samples(9, 8), 3)),
    Case(resize_nearest, lambda: (integers(6, 5, 3, high=256).astype(np.uint8), 9, 4)),
    Case(resize_bilinear, lambda: (samples(6, 5), 1.7)),
    Case(rotate, lambda: (samples(9, 8), 0.5)),
    Case(otsu_threshold, lambda: (integers(8, 8, high=256).astype(np.uint8),)),
    Case(dilate, lambda: (uniform(8, 9) > 0.9,)),
    Case(open_image, lambda: (samples(8, 9),)),
    Case(equalise_histogram, lambda: (integers(8, 8, high=200).astype(np.uint8),)),
    Case(median_3x3, lambda: (samples(7, 8),)),
    Case(suppress_non_maxima, lambda: (uniform(5, 5), 3 * samples(5, 5))),
    Case(dither, lambda: (integers(6, 6, high=256).astype(np.uint8),)),
    Case(blend, lambda: (uniform(4, 5, 4), uniform(4, 5, 3))),
    Case(
        signal_to_noise,
        lambda: tuple(integers(6, 6, high=256, seed=s).astype(np.uint8) for s in (0, 1)),
    ),
    Case(structural_similarity, lambda: (255 * uniform(9, 13), 255 * uniform(9, 13, seed=1))),
    Case(bilateral, lambda: (uniform(8, 9),)),
    Case(flood_fill, lambda: (integers(6, 6, high=2), 2, 3, 7)),
    Case(rgb_to_hsv, lambda: (uniform(5, 6, 3),)),
    Case(hsv_to_rgb, lambda: (uniform(5, 6, 3),)),
    Case(rgb_to_lab, lambda: (uniform(5, 6, 3),)),
    Case(temperature_to_rgb, lambda: (4500.0,)),
    Case(auto_contrast, lambda: (samples(8, 9),)),
]
