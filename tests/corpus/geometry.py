"""Points, rotations, curves, meshes and fractals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.corpus.case import Case, samples, uniform

EARTH_RADIUS = 6371.0088
AXES = {"x": 0, "y": 1, "z": 2}


class Box(NamedTuple):
    """The corners of a box."""

    low: np.ndarray
    high: np.ndarray


class Quaternion:
    """A quaternion with operators."""

    def __init__(self, w, x, y, z):
        self.w, self.x, self.y, self.z = w, x, y, z

    def __mul__(self, other):
        return Quaternion(
            self.w * other.w - self.x * other.x - self.y * other.y - self.z * other.z,
            self.w * other.x + self.x * other.w + self.y * other.z - self.z * other.y,
            self.w * other.y - self.x * other.z + self.y * other.w + self.z * other.x,
            self.w * other.z + self.x * other.y - self.y * other.x + self.z * other.w,
        )

    @property
    def conjugate(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    @classmethod
    def about(cls, axis, angle):
        axis = axis / np.linalg.norm(axis)
        s = np.sin(angle / 2)
        return cls(np.cos(angle / 2), *(s * axis))

    def rotate(self, v):
        r = self * Quaternion(0.0, *v) * self.conjugate
        return np.array([r.x, r.y, r.z])


class Camera:
    """A pinhole camera: focal length and the centre of the image."""

    focal = 500.0

    def __init__(self, width, height):
        self.centre = (width / 2, height / 2)

    def project(self, points):
        """Pixels of points before the camera, NaN for those behind it."""
        z = points[:, 2]
        safe = np.where(z > 0, z, np.nan)
        u = self.focal * points[:, 0] / safe + self.centre[0]
        v = self.focal * points[:, 1] / safe + self.centre[1]
        return np.column_stack((u, v))


def rotate_by_quaternion(v, axis, angle):
    """Vectors rotated by objects of a class with operators."""
    q = Quaternion.about(axis, angle)
    return np.array([q.rotate(row) for row in v])


def slerp(q0, q1, t):
    """Spherical interpolation, the shorter way, linear when nearly parallel."""
    dot = np.dot(q0, q1)
    if dot < 0:
        q1, dot = -q1, -dot
    if dot > 0.9995:
        result = q0 + t * (q1 - q0)
        return result / np.linalg.norm(result)
    theta = np.arccos(dot)
    return (np.sin((1 - t) * theta) * q0 + np.sin(t * theta) * q1) / np.sin(theta)


def quaternion_to_matrix(q):
    """A rotation matrix from nested lists of scalars."""
    w, x, y, z = q / np.sqrt(np.sum(q**2))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def axis_rotation(angle, axis):
    """A rotation about a named axis, filled in place."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = [k for k in range(3) if k != AXES[axis]]
    m = np.eye(3)
    m[i, i] = m[j, j] = c
    m[i, j], m[j, i] = (s, -s) if axis == "y" else (-s, s)
    return m


def euler_rotation(points, angles):
    """Points rotated about three axes in turn."""
    matrix = np.eye(3)
    for angle, axis in zip(angles, "xyz"):
        matrix = axis_rotation(angle, axis) @ matrix
    return points @ matrix.T


def rodrigues(v, k, theta):
    """Rotation about an axis by Rodrigues' formula."""
    k = k / np.linalg.norm(k)
    return (
        v * np.cos(theta)
        + np.cross(k, v) * np.sin(theta)
        + np.outer(v @ k, k) * (1 - np.cos(theta))
    )


def triangle_areas(vertices, faces):
    """Areas and unit normals of the faces of a mesh."""
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1)
    return 0.5 * length, normals / length[:, None]


def vertex_normals(vertices, faces):
    """Normals of faces added at their vertices."""
    normals = np.zeros_like(vertices)
    for face in faces:
        a, b, c = vertices[face]
        normals[face] += np.cross(b - a, c - a)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def polygon_area(points):
    """The shoelace formula, and the centroid."""
    x, y = points.T
    x2, y2 = np.roll(x, -1), np.roll(y, -1)
    cross = x * y2 - x2 * y
    area = cross.sum() / 2
    return area, np.array([((x + x2) * cross).sum(), ((y + y2) * cross).sum()]) / (6 * area)


def points_in_polygon(points, polygon):
    """Whether points lie inside, by crossings of a ray."""
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), dtype=bool)
    j = len(polygon) - 1
    for i in range(len(polygon)):
        xi, yi = polygon[i]
        xj, yj = polygon[j]
        crosses = (yi > y) != (yj > y)
        inside ^= crosses & (x < (xj - xi) * (y - yi) / (yj - yi) + xi)
        j = i
    return inside


def point_in_polygon(px, py, polygon):
    """Whether one point lies inside, with branches."""
    inside = False
    n = len(polygon)
    for i in range(n):
        x1, y1 = polygon[i]
        x2, y2 = polygon[(i + 1) % n]
        if (y1 > py) != (y2 > py) and px < (x2 - x1) * (py - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


def distance_matrix(a, b, metric="euclidean"):
    """Distances of all pairs, the metric chosen by name."""
    apart = a[:, None, :] - b[None, :, :]
    metrics = {
        "euclidean": lambda d: np.sqrt((d**2).sum(-1)),
        "manhattan": lambda d: np.abs(d).sum(-1),
        "chebyshev": lambda d: np.abs(d).max(-1),
    }
    return metrics[metric](apart)


def haversine(lat1, lon1, lat2, lon2):
    """Distances on the Earth."""
    lat1, lon1, lat2, lon2 = map(np.radians, (lat1, lon1, lat2, lon2))
    a = np.sin((lat2 - lat1) / 2) ** 2
    a = a + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(a))


def bounding_box(points, margin=0.1):
    """The box around points."""
    span = np.ptp(points, axis=0)
    return Box(low=points.min(axis=0) - margin * span, high=points.max(axis=0) + margin * span)


def convex_hull_mask(points):
    """Which points are on the hull: those with all others on one side of some line."""
    n = len(points)
    on_hull = np.zeros(n, dtype=bool)
    for i in range(n):
        for j in range(n):
            if i != j:
                edge = points[j] - points[i]
                side = edge[0] * (points[:, 1] - points[i, 1]) - edge[1] * (
                    points[:, 0] - points[i, 0]
                )
                if (side >= -1e-12).all():
                    on_hull[[i, j]] = True
    return on_hull


def gift_wrapping(points):
    """The hull in order, point after point."""
    hull = []
    current = start = np.argmin(points[:, 0])
    while True:
        hull.append(current)
        candidate = (current + 1) % len(points)
        for k in range(len(points)):
            a, b = points[candidate] - points[current], points[k] - points[current]
            if a[0] * b[1] - a[1] * b[0] < 0:
                candidate = k
        current = candidate
        if current == start:
            break
    return np.array(hull)


def segment_intersection(p, q, r, s):
    """Where two lines meet, None where they are parallel."""
    d1, d2 = q - p, s - r
    cross = d1[0] * d2[1] - d1[1] * d2[0]
    if abs(cross) < 1e-12:
        return None
    t = ((r[0] - p[0]) * d2[1] - (r[1] - p[1]) * d2[0]) / cross
    return p + t * d1


def hit_sphere(origins, directions, centre, radius):
    """The distance along rays to a sphere, infinity for a miss."""
    oc = origins - centre
    b = np.einsum("ij,ij->i", oc, directions)
    c = np.einsum("ij,ij->i", oc, oc) - radius**2
    discriminant = b * b - c
    distance = np.full(len(origins), np.inf)
    hit = discriminant > 0
    distance[hit] = -b[hit] - np.sqrt(discriminant[hit])
    return distance


def shade(normals, light, ambient=0.1, power=8):
    """Phong's shading for a light and the eye above."""
    light = light / np.linalg.norm(light)
    eye = np.array([0.0, 0.0, 1.0])
    diffuse = np.clip(normals @ light, 0, None)
    reflected = 2 * (normals @ light)[:, None] * normals - light
    specular = np.maximum(reflected @ eye, 0.0) ** power
    return np.minimum(ambient + 0.7 * diffuse + 0.4 * specular, 1.0)


def barycentric(p, a, b, c):
    """Barycentric coordinates of many points."""
    v0, v1, v2 = b - a, c - a, p - a
    d00, d01, d11 = v0 @ v0, v0 @ v1, v1 @ v1
    d20, d21 = v2 @ v0, v2 @ v1
    denominator = d00 * d11 - d01 * d01
    v = (d11 * d20 - d01 * d21) / denominator
    w = (d00 * d21 - d01 * d20) / denominator
    return np.stack((1 - v - w, v, w), axis=-1)


def look_at(eye, target, up):
    """A view matrix, filled row by row."""
    forward = target - eye
    forward /= np.linalg.norm(forward)
    side = np.cross(forward, up)
    side /= np.linalg.norm(side)
    view = np.identity(4)
    view[0, :3] = side
    view[1, :3] = np.cross(side, forward)
    view[2, :3] = -forward
    view[:3, 3] = -view[:3, :3] @ eye
    return view


def transform_homogeneous(points, matrix):
    """Points through a matrix of four by four."""
    homogeneous = np.hstack((points, np.ones((len(points), 1))))
    moved = homogeneous @ matrix.T
    return moved[:, :3] / moved[:, 3:]


def to_spherical(xyz):
    """Radius, inclination and azimuth."""
    out = np.zeros(xyz.shape)
    xy = xyz[:, 0] ** 2 + xyz[:, 1] ** 2
    out[:, 0] = np.sqrt(xy + xyz[:, 2] ** 2)
    out[:, 1] = np.arctan2(np.sqrt(xy), xyz[:, 2])
    out[:, 2] = np.arctan2(xyz[:, 1], xyz[:, 0])
    return out


def hausdorff(a, b):
    """The Hausdorff distance of two sets of points."""
    d = distance_matrix(a, b)
    return max(d.min(axis=1).max(), d.min(axis=0).max())


def align_points(source, target):
    """The rotation and shift that fit one set to another, by np.linalg.svd."""
    mu_s, mu_t = source.mean(0), target.mean(0)
    u, _, vt = np.linalg.svd((source - mu_s).T @ (target - mu_t))
    rotation = vt.T @ u.T
    if np.linalg.det(rotation) < 0:
        vt[-1] *= -1
        rotation = vt.T @ u.T
    return rotation, mu_t - rotation @ mu_s


def simplify_line(points, tolerance=0.3):
    """Which points Douglas and Peucker keep, by recursion."""
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True

    def split(first, last):
        if last <= first + 1:
            return
        direction = points[last] - points[first]
        direction = direction / np.hypot(*direction)
        offset = points[first + 1 : last] - points[first]
        distance = np.abs(offset[:, 0] * direction[1] - offset[:, 1] * direction[0])
        worst = np.argmax(distance)
        if distance[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            split(first, middle)
            split(middle, last)

    split(0, len(points) - 1)
    return keep


def mandelbrot(width, height, iterations=20):
    """Escape times by masks over a grid of complex numbers."""
    x = np.linspace(-2, 0.6, width)
    y = np.linspace(-1.2, 1.2, height)
    c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    for _ in range(iterations):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return count


def julia_point(z, c, limit=50):
    """The escape time of one point."""
    n = 0
    while abs(z) <= 2 and n < limit:
        z = z * z + c
        n += 1
    return n


def chaikin(points, rounds=3):
    """Corners cut, the number of points doubles each time."""
    for _ in range(rounds):
        left = 0.75 * points[:-1] + 0.25 * points[1:]
        right = 0.25 * points[:-1] + 0.75 * points[1:]
        points = np.empty((2 * len(left), points.shape[1]))
        points[0::2] = left
        points[1::2] = right
    return points


def curve_length(points):
    """Arc length and points at equal distances along it."""
    steps = np.sqrt(np.sum(np.diff(points, axis=0) ** 2, axis=1))
    s = np.insert(np.cumsum(steps), 0, 0)
    even = np.linspace(0, s[-1], 9)
    return s[-1], np.stack([np.interp(even, s, points[:, k]) for k in range(2)], axis=1)


def square():
    """A square with a dent."""
    return np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.4], [0.0, 1.0]])


def tetrahedron():
    """Vertices and faces."""
    return samples(4, 3), np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])


CASES = [
    Case(Camera(640, 480).project, lambda: (samples(8, 3),)),
    Case(rotate_by_quaternion, lambda: (samples(4, 3), samples(3, seed=1), 0.7)),
    Case(slerp, lambda: (np.array([1.0, 0, 0, 0]), np.array([0.6, 0.8, 0, 0]), 0.3)),
    Case(quaternion_to_matrix, lambda: (samples(4),)),
    Case(axis_rotation, lambda: (0.3, "y")),
    Case(euler_rotation, lambda: (samples(5, 3), (0.1, 0.2, 0.3))),
    Case(rodrigues, lambda: (samples(5, 3), samples(3), 0.5)),
    Case(triangle_areas, tetrahedron),
    Case(vertex_normals, tetrahedron),
    Case(polygon_area, lambda: (square(),)),
    Case(points_in_polygon, lambda: (uniform(9, 2), square())),
    Case(point_in_polygon, lambda: (0.4, 0.3, square())),
    Case(distance_matrix, lambda: (samples(5, 3), samples(4, 3), "manhattan")),
    Case(haversine, lambda: tuple(90 * uniform(4, 6))),
    Case(bounding_box, lambda: (samples(9, 3),)),
    Case(convex_hull_mask, lambda: (samples(6, 2),)),
    Case(gift_wrapping, lambda: (samples(7, 2),)),
    Case(segment_intersection, lambda: tuple(samples(4, 2))),
    Case(hit_sphere, lambda: (samples(9, 3), np.eye(3)[[0, 1, 2] * 3], np.zeros(3), 1.5)),
    Case(shade, lambda: (samples(6, 3), np.array([1.0, 2.0, 3.0]))),
    Case(barycentric, lambda: (samples(6, 2), *samples(3, 2, seed=1))),
    Case(look_at, lambda: tuple(samples(3, 3))),
    Case(transform_homogeneous, lambda: (samples(6, 3), samples(4, 4))),
    Case(to_spherical, lambda: (samples(6, 3),)),
    Case(hausdorff, lambda: (samples(6, 3), samples(5, 3, seed=1))),
    Case(align_points, lambda: (samples(6, 3), samples(6, 3, seed=1))),
    Case(simplify_line, lambda: (np.cumsum(uniform(9, 2), axis=0),)),
    Case(mandelbrot, lambda: (12, 9)),
    Case(julia_point, lambda: (0.1 + 0.2j, -0.4 + 0.6j)),
    Case(chaikin, lambda: (samples(4, 2),)),
    Case(curve_length, lambda: (np.cumsum(uniform(9, 2), axis=0),)),
]
