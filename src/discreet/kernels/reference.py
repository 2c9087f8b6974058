"""The NumPy twins of the compiled kernels: slow, obvious, and the specification of each."""

from __future__ import annotations

import hashlib

import numpy as np

from discreet.arrays import Array


def stable_order(keys: Array, size: int) -> tuple[Array, Array]:
    """The stable order that sorts keys in 0..size-1, and where each key starts in it."""
    order = np.argsort(keys, kind="stable").astype(np.int64)
    ptr = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys, minlength=size), out=ptr[1:])
    return order, ptr


def pair_order(first: Array, second: Array) -> Array:
    """The order that sorts pairs by the first, then the second."""
    return np.lexsort((second, first))


def add_gradient(
    lo: int,
    hi: int,
    rows: Array,
    cols: Array,
    r: Array,
    own: Array,
    other: Array,
    step: float,
    out: Array,
    squared: Array,
) -> None:
    """out[i] += step * sum over j of (r_ij - own_i . other_j) other_j, over records lo..hi.

    The records are sorted by row; `squared` collects each row's sum of squared errors.
    """
    i, j = rows[lo:hi], cols[lo:hi]
    error = r[lo:hi] - np.einsum("kd,kd->k", own[i], other[j])
    np.add.at(out, i, (step * error[:, None] * other[j]).astype(out.dtype))
    np.add.at(squared, i, error.astype(np.float64) ** 2)


def add_normal_product(
    lo: int,
    hi: int,
    step: int,
    ptr: Array,
    cols: Array,
    r: Array,
    centre: float,
    other: Array,
    out: Array,
) -> None:
    """out += R' D^-1/2 R other, R being r - centre and D the numbers of records, in the rows
    lo, lo + step, ... < hi."""
    for i in range(lo, hi, step):
        j, weights = cols[ptr[i] : ptr[i + 1]], r[ptr[i] : ptr[i + 1]] - centre
        out[j] += np.outer(weights, weights @ other[j]) / np.sqrt(max(1, len(j)))


def take_steps(
    lo: int,
    hi: int,
    rows: Array,
    cols: Array,
    r: Array,
    U: Array,
    V: Array,
    rate: float,
    keep_u: float,
    keep_v: float,
) -> float:
    """Records lo..hi one after another: u <- keep_u u + rate e v and v <- keep_v v + rate e u, by
    the old u and v, e being r - u . v. Returns the sum of e^2."""
    squared = 0.0
    for i, j, rating in zip(rows[lo:hi], cols[lo:hi], r[lo:hi], strict=True):
        u, v = U[i].copy(), V[j].copy()
        error = rating - u @ v
        U[i], V[j] = keep_u * u + rate * error * v, keep_v * v + rate * error * u
        squared += float(error) ** 2
    return squared


def squared_errors(
    lo: int, hi: int, ptr: Array, cols: Array, r: Array, own: Array, other: Array, squared: Array
) -> None:
    """squared[i] = sum over j of (r_ij - own_i . other_j)^2."""
    for i in range(lo, hi):
        records = slice(ptr[i], ptr[i + 1])
        error = r[records] - other[cols[records]] @ own[i]
        squared[i] = np.sum(error.astype(np.float64) ** 2)


def partition(
    part_of: Array,
    parts: int,
    rows: Array,
    cols: Array,
    r: Array,
    rows_out: Array,
    cols_out: Array,
    r_out: Array,
) -> Array:
    """The records part by part, in the order they had; returns where each part starts."""
    order, ptr = stable_order(part_of, parts)
    rows_out[:], cols_out[:], r_out[:] = rows[order], cols[order], r[order]
    return ptr


def project_rows(lo: int, hi: int, U: Array) -> None:
    """u_i <- u_i / max(1, |u_i|): every row back into the unit ball."""
    norms = np.sqrt(np.einsum("id,id->i", U[lo:hi], U[lo:hi]))
    U[lo:hi] /= np.maximum(norms, 1)[:, None]


def solve_ridge(
    lo: int,
    hi: int,
    ptr: Array,
    cols: Array,
    r: Array,
    other: Array,
    ridge: float,
    ridge_per_record: float,
    linear: Array,
    out: Array,
) -> None:
    """The exact minimiser of every row's ridge regression.

    out[i] = argmin_x 1/2 sum_j (r_ij - x . z_j)^2 + lambda_i/2 |x|^2 + linear_i . x,
    lambda_i = ridge + ridge_per_record * (number of records of row i). `linear` has either one
    row per row of out, or one row of zeros for all.
    """
    d = other.shape[1]
    for i in range(lo, hi):
        j = cols[ptr[i] : ptr[i + 1]]
        Z = other[j]
        penalty = ridge + ridge_per_record * len(j)
        if len(j) == 0 and penalty == 0:
            out[i] = 0
            continue
        b = Z.T @ r[ptr[i] : ptr[i + 1]] - linear[i if len(linear) > 1 else 0]
        out[i] = np.linalg.solve(Z.T @ Z + penalty * np.eye(d), b)


def leverages(
    lo: int,
    hi: int,
    ptr: Array,
    cols: Array,
    other: Array,
    ridge: float,
    ridge_per_record: float,
    pairs: Array,
    wanted: Array,
    out: Array,
) -> None:
    """out[k] = z_j' (lambda_i I + sum of z z' over row i's records)^-1 z_j, j being wanted[k]."""
    for i in range(lo, hi):
        Z = other[cols[ptr[i] : ptr[i + 1]]]
        A = Z.T @ Z + (ridge + ridge_per_record * len(Z)) * np.eye(other.shape[1])
        mine = slice(pairs[i], pairs[i + 1])
        z = other[wanted[mine]]
        out[mine] = np.einsum("kd,kd->k", z, np.linalg.solve(A, z.T).T)


def solve_huber(
    lo: int,
    hi: int,
    ptr: Array,
    cols: Array,
    r: Array,
    U: Array,
    ridge: float,
    kappa: float,
    linear: Array,
    out: Array,
    residual: Array,
) -> None:
    """The exact minimiser of every item's Huber regression, by Newton steps.

    out[j] = argmin_v sum_i huber_kappa(r_ij - u_i . v) + ridge/2 |v|^2 + eta_j . v, where
    huber' is the error clipped to +-kappa. `residual` gets the norm of the gradient left over,
    relative to the sizes it was added up from.
    """
    d = U.shape[1]
    for j in range(lo, hi):
        X, y, eta = U[cols[ptr[j] : ptr[j + 1]]], r[ptr[j] : ptr[j + 1]], linear[j]

        def gradient(v: Array, X: Array = X, y: Array = y, eta: Array = eta) -> Array:
            return np.asarray(-X.T @ np.clip(y - X @ v, -kappa, kappa) + ridge * v + eta)

        v = np.zeros(d)
        g = gradient(v)
        for _ in range(200):
            inside = X[np.abs(y - X @ v) <= kappa]
            direction = np.linalg.solve(inside.T @ inside + ridge * np.eye(d), g)
            slope, length = g @ direction, 1.0
            # Halve until the step does not pass the minimum of the line.
            while length > 1e-10:
                w = v - length * direction
                if slope > 0 and gradient(w) @ direction >= -1e-10 * slope:
                    break
                length /= 2
            else:
                break
            v, g = w, gradient(w)
        out[j] = v
        size = ridge * np.linalg.norm(v) + np.linalg.norm(eta) + kappa * len(y)
        residual[j] = np.linalg.norm(g) / size if size > 0 else 0.0


def gram(X: Array) -> Array:
    """X'X."""
    return np.asarray(X.T @ X)


def orthonormalise(rows: Array) -> None:
    """Gram-Schmidt in place, from the first row on."""
    Q, R = np.linalg.qr(rows.T)
    rows[:] = (Q * np.sign(np.diag(R))).T


def add_votes(
    lo: int,
    hi: int,
    items: Array,
    r: Array,
    weights: Array,
    least: float,
    span: float,
    against: Array,
    in_favour: Array,
) -> None:
    """in_favour[j] += floor(w share), against[j] += the rest, share = (r - least) / span.

    The share is clipped to 0..1, so the two integers always add up to the record's weight.
    """
    share = np.clip((r[lo:hi].astype(np.float64) - least) / span, 0, 1)
    whole = weights[lo:hi].astype(np.int64)
    part = np.floor(whole * share).astype(np.int64)
    np.add.at(in_favour, items[lo:hi], part)
    np.add.at(against, items[lo:hi], whole - part)


def user_vectors(
    lo: int,
    hi: int,
    ptr: Array,
    items: Array,
    a: Array,
    z: Array,
    floor: float,
    grid: int,
    exact: int,
    out: Array,
) -> None:
    """u_i = g_i / sqrt(|g_i|^2 + h_i^2 + floor), g_i = sum_j a_ij z_j, h_i^2 = sum_j a_ij^2.

    a and z are integers, steps of a grid; g and h^2 are exact, so u is a function of integers.
    """
    del exact
    step = 1.0 / grid**2
    for i in range(lo, hi):
        own = slice(ptr[i], ptr[i + 1])
        g = a[own].astype(np.int64) @ z[items[own]].astype(np.int64)
        h = (a[own].astype(np.int64) ** 2).sum()
        total = floor + float(h) * step
        for size in g * step:
            total += size * size
        out[i] = g * step / np.sqrt(total)


def item_sums(
    lo: int,
    hi: int,
    ptr: Array,
    users: Array,
    a: Array,
    U: Array,
    finer: int,
    exact: int,
    out: Array,
) -> None:
    """out[j] = sum over i of a_ij u_i, each product cut off on a grid so many times finer."""
    del exact
    for j in range(lo, hi):
        own = slice(ptr[j], ptr[j + 1])
        products = a[own].astype(np.float64)[:, None] * finer * U[users[own]]
        out[j] = np.trunc(products).astype(np.int64).sum(axis=0)


def dot_pairs(lo: int, hi: int, rows: Array, cols: Array, U: Array, V: Array, out: Array) -> None:
    """out[k] = u_rows[k] . v_cols[k]."""
    out[lo:hi] = np.einsum("kd,kd->k", U[rows[lo:hi]], V[cols[lo:hi]])


def hash_pairs(
    lo: int,
    hi: int,
    key: Array,
    rows: Array,
    cols: Array,
    row_bytes: Array,
    row_ptr: Array,
    col_bytes: Array,
    col_ptr: Array,
    out: Array,
) -> None:
    """out[k, n] = bits 64n .. 64n+51 of SHA-256(key | row bytes | column bytes), over 2^52."""
    for k in range(lo, hi):
        row, col = rows[k], cols[k]
        message = (
            key.tobytes()
            + row_bytes[row_ptr[row] : row_ptr[row + 1]].tobytes()
            + col_bytes[col_ptr[col] : col_ptr[col + 1]].tobytes()
        )
        text = hashlib.sha256(message).hexdigest()
        for n in range(out.shape[1]):
            out[k, n] = int(text[16 * n : 16 * n + 13], 16) * 2.0**-52


def add_together(
    lo: int, hi: int, by_item: Array, people: Array, x: Array, by_user: Array, items: Array,
    y: Array, out: Array,
) -> None:  # fmt: skip
    """out[j - lo, k] += sum over people i of x_ij y_ik, for the items lo <= j < hi."""
    X = np.zeros((len(by_user) - 1, len(by_item) - 1))
    Y = X.copy()
    X[people, np.repeat(np.arange(len(by_item) - 1), np.diff(by_item))] = x
    Y[np.repeat(np.arange(len(by_user) - 1), np.diff(by_user)), items] = y
    out += (X.T @ Y)[lo:hi].astype(out.dtype)


def add_neighbours(
    ptr: Array, items: Array, x: Array, near: Array, likeness: Array, out: Array
) -> None:
    """out[p, near[k, a]] += x_pk likeness[k, a], for every item k of person p and place a."""
    person = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    np.add.at(out, (person[:, None], near[items]), x[:, None] * likeness[items])
