"""Coefficients of functions of complex numbers: `benchmarks/fit_complex.py` writes them.

A row reads from the constant term up.
"""

from __future__ import annotations

import numpy as np


def _row(text: str) -> tuple[np.complex128, ...]:
    return tuple(np.complex128(float.fromhex(word)) for word in text.split())


LENGTH = float.fromhex("0x1.545ef5c0f51ap+2")
"""L of Weideman's fraction."""

FADDEEVA = _row(
    """
    0x1.7326e55b41215p+1 0x1.4edadccb56adcp+1 0x1.19cb343b58fc6p+1 0x1.b9b2b4b25d641p+0
    0x1.41a238f009d08p+0 0x1.b1c67c927e9f5p-1 0x1.0da572e19e018p-1 0x1.33178328c16p-2
    0x1.3d86fe9e6a9e9p-3 0x1.26308597ddc8bp-4 0x1.de75e8cc46824p-6 0x1.49424ba5ffe61p-7
    0x1.629a596ed4a52p-9 0x1.cd2bcc00e1d4ep-12 -0x1.4a752dec28506p-15 -0x1.d50873c0ae8ddp-15
    -0x1.2e1d6585afe88p-16 -0x1.1e27ead408551p-20 0x1.8e3de312ad6cbp-20 0x1.3d67caa2b523cp-21
    0x1.e7dc944f8ddabp-27 -0x1.10ce7cf00fdcdp-24 -0x1.3aa8ef3ad38bdp-26 0x1.bea44a6a58fd6p-29
    0x1.9ec2b6a18562ep-29 0x1.cfafa9b46b42fp-33 -0x1.87c81ece8d132p-32 -0x1.8e3fa3441315ap-34
    0x1.3176da838ee1bp-35 0x1.37a2fe79b99e4p-36 -0x1.7fe03aed69c23p-39 -0x1.99388358e0a96p-39
    0x1.0eeca272d2a29p-43 0x1.fe5dde7bc0d5ap-42 0x1.ee84814ec1d1fp-47 -0x1.3e96a96866b33p-44
    -0x1.85c829934878ep-48 0x1.99342cacfd05fp-47 0x1.4525231fde2ep-50 -0x1.11c65f7e98285p-49
    """
)
"""w(z) (L - iz)^2 / 2 - (L - iz) / (2 sqrt(pi)), in (L + iz) / (L - iz)."""

LGAMMA_AT_TWO = _row(
    """
    0x1.b0ee6072093cep-2 0x1.4a34cc4a60fa6p-2 -0x1.13e001a557607p-4 0x1.51322ac7d8483p-6
    -0x1.e404fc218f5f2p-8 0x1.7add6eadb6c3p-9 -0x1.38ac5c2bf8e08p-10 0x1.0b36af86396e9p-11
    -0x1.d3fd4c76d2fc8p-13 0x1.a127b0f17d65ap-14 -0x1.78de5bd7c81efp-15 0x1.580dcee66eb02p-16
    -0x1.3cbc963ce2243p-17 0x1.2597a39f34aacp-18 -0x1.11b2eb7679541p-19 0x1.0064cdeb22f0fp-20
    -0x1.e2600d93cfd2fp-22 0x1.c76bbb3f07a4dp-23 -0x1.af5a6cbbf8a97p-24 0x1.99b93c2070b0fp-25
    -0x1.862c734df3eacp-26 0x1.7469daccfadcdp-27 -0x1.6434a8447aeadp-28 0x1.555a877ffd2c3p-29
    -0x1.47b1679258d0ep-30 0x1.3b15d2b2fc10cp-31
    """
)
"""log(gamma(2 + z)) / z."""

STIRLING = _row(
    """
    0x1.5555555555555p-4 -0x1.6c16c16c16c17p-9 0x1.a01a01a01a01ap-11 -0x1.3813813813814p-11
    0x1.b951e2b18ff23p-11 -0x1.f6ab0d9993c7dp-10 0x1.a41a41a41a41ap-8 -0x1.e4286cb0f5398p-6
    0x1.6fe96381e068p-3
    """
)
"""The tail of Stirling's series of log(gamma(z)), times z, in 1 / z^2."""

DIGAMMA_TAIL = _row(
    """
    0x1.5555555555555p-4 -0x1.1111111111111p-7 0x1.041041041041p-8 -0x1.1111111111111p-8
    0x1.f07c1f07c1f08p-8 -0x1.5995995995996p-6 0x1.5555555555555p-4 -0x1.c5e5e5e5e5e5ep-2
    0x1.86e7f9b9fe6e8p+1
    """
)
"""log(z) - 1 / (2 z) - digamma(z), times z^2, in 1 / z^2."""

ERF = _row(
    """
    0x1.20dd750429b6dp+0 -0x1.812746b0379e7p-2 0x1.ce2f21a042be2p-4 -0x1.b82ce31288b51p-6
    0x1.565bcd0e6a53fp-8 -0x1.c02db40040b86p-11 0x1.f9a326f9b89b7p-14 -0x1.f4d25c3e0c2ebp-17
    0x1.b9e6c9dc651a3p-20 -0x1.5f742ec43e71ap-23 0x1.fcc5720624c1cp-27 -0x1.51d7181c5d36dp-30
    0x1.9e6ad5e55a73p-34 -0x1.d8453cb0c46eap-38 0x1.f683ae4a97007p-42 -0x1.f56f071a885cfp-46
    0x1.d70b3537f4765p-50 -0x1.a2007af3447f6p-54 0x1.5f7919bc67b8cp-58 -0x1.18cc8a061c479p-62
    """
)
"""erf(z) / z in z^2."""
