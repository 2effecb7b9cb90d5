"""Coefficients of the math functions: written by `benchmarks/fit_math.py`, not by hand.

Each table maps a type to the coefficients of a polynomial, lowest order first, or to a constant cut
into parts of that type whose sum is the constant. The comment gives the fitted function and the
weighted error of the rounded polynomial for f32 and f64.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType


def _row(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(word) for word in text.split())


# 0.69314718055994530942
LN2: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.62e43p-1 -0x1.05c61p-29"),
    dt.f64: _row("0x1.62e42fefa39efp-1 0x1.abc9e3b39803fp-56"),
}
# 1.4426950408889634074
LOG2_E: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.715476p+0 0x1.4ae0cp-26"),
    dt.f64: _row("0x1.71547652b82fep+0 0x1.777d0ffda0d24p-56"),
}
# 0.30102999566398119521
LOG10_2: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.344136p-2 -0x1.ec10cp-27"),
    dt.f64: _row("0x1.34413509f79ffp-2 -0x1.9dc1da994fd21p-59"),
}
# 0.43429448190325182765
LOG10_E: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.bcb7b2p-2 -0x1.5b235ep-27"),
    dt.f64: _row("0x1.bcb7b1526e50ep-2 0x1.95355baaafad3p-57"),
}
# 1.5707963267948966192
HALF_PI: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.921fb6p+0 -0x1.777a5cp-25 -0x1.ee59dap-50"),
    dt.f64: _row("0x1.921fb54442d18p+0 0x1.1a62633145c07p-54 -0x1.f1976b7ed8fbcp-110"),
}
# 3.1415926535897932385
PI: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.921fb6p+1 -0x1.777a5cp-24"),
    dt.f64: _row("0x1.921fb54442d18p+1 0x1.1a62633145c07p-53"),
}
# 0.63661977236758134308
TWO_OVER_PI: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.45f306p-1"),
    dt.f64: _row("0x1.45f306dc9c883p-1"),
}
# 0.7071067811865475244
ROOT_HALF: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.6a09e6p-1 0x1.9fcef4p-27"),
    dt.f64: _row("0x1.6a09e667f3bcdp-1 -0x1.bdd3413b26456p-55"),
}
# 1.2599210498948731648
CBRT2: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.428a3p+0"),
    dt.f64: _row("0x1.428a2f98d728bp+0"),
}
# 1.5874010519681994748
CBRT4: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.965feap+0"),
    dt.f64: _row("0x1.965fea53d6e3dp+0"),
}
# pi/2 in positive parts
REDUCTION: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.921fb4p+0 0x1.4442dp-24 0x1.84698ap-48"),
    dt.f64: _row("0x1.921fb54442d18p+0 0x1.1a62633145c06p-54 0x1.c1cd129024e09p-107"),
}
# (exp(r) - 1 - r) / r^2, |r| <= ln(2) / 2; 3.3e-09, 9.5e-18
EXP_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1p-1 0x1.55548ap-3 0x1.555528p-5 0x1.123ee4p-7 0x1.6cf3cap-10 "),
    dt.f64: _row(
        "0x1.000000000000cp-1 0x1.5555555555561p-3 0x1.555555554ffe5p-5 "
        "0x1.111111110d69ep-7 0x1.6c16c185b7f0ep-10 0x1.a01a01bac234cp-13 "
        "0x1.a0199665ed688p-16 0x1.71dde00e19e67p-19 0x1.28b074431f26bp-22 "
        "0x1.af85280deec4ep-26 "
    ),
}
# (2^r - 1 - r ln(2)) / r^2, |r| <= 1/2; 3.2e-09, 5.5e-18
EXP2_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.ebfbep-3 0x1.c6af8p-5 0x1.3b2a8p-7 0x1.5f08e4p-10 0x1.43e2ecp-13 "),
    dt.f64: _row(
        "0x1.ebfbdff82c5a5p-3 0x1.c6b08d704a0cfp-5 0x1.3b2ab6fb9ffe4p-7 "
        "0x1.5d87fe78a1cacp-10 0x1.4309130f1867fp-13 0x1.ffcbfc793b7eap-17 "
        "0x1.62bfc6fe45554p-20 0x1.b524d2bce0446p-24 0x1.e61c5d2867addp-28 "
        "0x1.ea127548b3f33p-32 "
    ),
}
# (exp(r) - 1 - r) / r^2, ln(0.75) <= r <= ln(1.5); 1.4e-08, 3.0e-18
EXPM1_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.000006p-1 0x1.5554fap-3 0x1.554272p-5 0x1.11d43ap-7 0x1.8295bap-10 "),
    dt.f64: _row(
        "0x1p-1 0x1.5555555555553p-3 0x1.5555555555634p-5 "
        "0x1.1111111111d72p-7 0x1.6c16c16baa7ccp-10 0x1.a01a019b2aa09p-13 "
        "0x1.a01a0457ad909p-16 0x1.71de3dce05123p-19 0x1.27dd322a9e011p-22 "
        "0x1.aebe7f98cd5dcp-26 0x1.2f8d4020da13fp-29 "
    ),
}
# (log(1 + f) - f) / f^2, sqrt(1/2) <= 1 + f <= sqrt(2); 4.4e-09, 8.1e-18
LOG_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.fffff8p-2 0x1.55554ap-2 -0x1.000444p-2 0x1.99a696p-3 "
        "-0x1.5421e6p-3 0x1.22455ep-3 -0x1.0f4bdp-3 0x1.093834p-3 "
        "-0x1.39817ap-4 "
    ),
    dt.f64: _row(
        "-0x1.0000000000004p-1 0x1.555555555553cp-2 -0x1.fffffffffd8dfp-3 "
        "0x1.999999999c3ddp-3 -0x1.555555571053bp-3 0x1.24924924b23d6p-3 "
        "-0x1.fffffee3cf329p-4 0x1.c71c70bf80d1p-4 -0x1.9999caac25bd2p-4 "
        "0x1.745d6885b539cp-4 -0x1.5550736b0b2a4p-4 0x1.3b08321686b4ap-4 "
        "-0x1.24d9b253f178p-4 0x1.11f39094a8b84p-4 -0x1.fbd457decf51cp-5 "
        "0x1.ce9b642b66e6fp-5 -0x1.ce23e56f3e3d6p-5 0x1.0be798f8b92fp-4 "
        "-0x1.f503abe0283d5p-5 0x1.bb2f1c1ae051fp-6 "
    ),
}
# (log2(1 + f) - f log2(e)) / f^2; 1.7e-08, 1.3e-17
LOG2_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.715472p-1 0x1.ec7086p-2 -0x1.715a38p-2 0x1.27822cp-2 "
        "-0x1.eaccb6p-3 0x1.a27ac4p-3 -0x1.86459cp-3 0x1.803e8ep-3 "
        "-0x1.ce4d6cp-4 "
    ),
    dt.f64: _row(
        "-0x1.71547652b8304p-1 0x1.ec709dc3a03ddp-2 -0x1.71547652b6642p-2 "
        "0x1.2776c50efb4aep-2 -0x1.ec709dc628459p-3 0x1.a61762a838773p-3 "
        "-0x1.71547583a6653p-3 0x1.484b13033167cp-3 -0x1.2776e8ac9dd84p-3 "
        "0x1.0c9ac231674bfp-3 -0x1.ec698f05cdf1cp-4 0x1.c67e4bff93b69p-4 "
        "-0x1.a67e1b65b4624p-4 0x1.8b3f6a64f15a6p-4 -0x1.6e5a54277a7c9p-4 "
        "0x1.4d991f9ca7de2p-4 -0x1.4d17d61b6456ap-4 0x1.829f46c950004p-4 "
        "-0x1.6a3d0a9d6a998p-4 0x1.40f6b3bdd5996p-5 "
    ),
}
# (log10(1 + f) - f log10(e)) / f^2; 6.1e-09, 3.5e-18
LOG10_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.bcb7acp-3 0x1.287a62p-3 -0x1.bcbdfp-4 0x1.63e8dcp-4 "
        "-0x1.279ef8p-4 0x1.f3575p-5 -0x1.ce7bf8p-5 0x1.ee7cfep-5 "
        "-0x1.53ef04p-5 "
    ),
    dt.f64: _row(
        "-0x1.bcb7b1526e515p-3 0x1.287a7636f4347p-3 -0x1.bcb7b1526c3a1p-4 "
        "0x1.63c6277527ac4p-4 -0x1.287a76386fdc6p-4 0x1.fc3fa614f1e8fp-5 "
        "-0x1.bcb7b05e231eap-5 0x1.8b4df224bc246p-5 -0x1.63c651c68fec2p-5 "
        "0x1.436e95ef0139p-5 -0x1.28763c7e0ebe9p-5 0x1.11a26158c409ap-5 "
        "-0x1.fcbbcb93d348fp-6 0x1.dbe1347fab1e1p-6 -0x1.b9110df71b674p-6 "
        "0x1.91f28d2c40916p-6 -0x1.91b57b85344eap-6 0x1.d131bf40df28bp-6 "
        "-0x1.b22237db9d0b5p-6 0x1.7f67daebef968p-7 "
    ),
}
# (1 - sin(x) / x) / x^2 in s = x^2, |x| <= 0.8; 3.3e-09, 6.0e-18
SIN_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.555556p-3 -0x1.111108p-7 0x1.a00ed4p-13 -0x1.6ca89p-19"),
    dt.f64: _row(
        "0x1.5555555555555p-3 -0x1.111111111110ap-7 0x1.a01a01a0186a2p-13 "
        "-0x1.71de3a52e0bdcp-19 0x1.ae645224745edp-26 -0x1.612048d424fb7p-33 "
        "0x1.aa80a33235d5bp-41 "
    ),
}
# (cos(x) - 1 + x^2 / 2) / x^4 in s = x^2, |x| <= 0.8; 1.2e-10, 9.0e-19
COS_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.55554ap-5 -0x1.6c0c08p-10 0x1.99d83ap-16"),
    dt.f64: _row(
        "0x1.5555555555555p-5 -0x1.6c16c16c16c0ep-10 0x1.a01a01a018a42p-16 "
        "-0x1.27e4fb75bef2dp-22 0x1.1eed8c5d9ce5bp-29 -0x1.9392e9329d72bp-37 "
        "0x1.aaa2397a4fdb4p-45 "
    ),
}
# (tan(x) / x - 1) / x^2 in s = x^2, |x| <= 0.8; 2.0e-09, 2.6e-17
TAN_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.555566p-2 0x1.110c1p-3 0x1.bb1e82p-5 0x1.5a07b2p-6 "
        "0x1.70b53ap-7 -0x1.c6a898p-12 0x1.2f956ap-8 "
    ),
    dt.f64: _row(
        "0x1.5555555555489p-2 0x1.111111111ef4cp-3 0x1.ba1ba1af883fdp-5 "
        "0x1.664f4a8b1d699p-6 0x1.226dfa2d1eebap-7 0x1.d6dc8272e3cf6p-9 "
        "0x1.7d344f4586242p-10 0x1.393a50ee9cf8cp-11 0x1.c4156f0f0ede3p-13 "
        "0x1.3b0572cede418p-13 -0x1.7b76ac02efd5fp-15 0x1.be3d06170369fp-14 "
        "-0x1.c383575806692p-15 0x1.8160aba630c7cp-16 "
    ),
}
# (asin(x) / x - 1) / x^2 in s = x^2, |x| <= 1/2; 5.0e-09, 9.8e-19
ASIN_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.5555cap-3 0x1.330162p-4 0x1.748b78p-5 0x1.8ba49ap-6 0x1.59dd5p-5 "),
    dt.f64: _row(
        "0x1.5555555555578p-3 0x1.333333332df17p-4 0x1.6db6db722b542p-5 "
        "0x1.f1c71a8ba35b9p-6 0x1.6e8bdfe5d8095p-6 0x1.1c49de0ef43abp-6 "
        "0x1.ca21430d60fbep-7 0x1.75779730a5ec7p-7 0x1.618a829948a2bp-7 "
        "0x1.e15e8e5a44aaap-9 0x1.650100269cbe1p-6 -0x1.59f515b010a8fp-6 "
        "0x1.0be3f324853f3p-5 "
    ),
}
# (atan(x) / x - 1) / x^2 in s = x^2, |x| <= 1; 2.4e-09, 4.1e-18
ATAN_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.55554p-2 0x1.999266p-3 -0x1.24262ap-3 0x1.c0c8e2p-4 "
        "-0x1.58bcfcp-4 0x1.dc983ap-5 -0x1.012eeap-5 0x1.696592p-7 "
        "-0x1.dcc3a2p-10 "
    ),
    dt.f64: _row(
        "-0x1.555555555552ap-2 0x1.9999999995aebp-3 -0x1.2492492392406p-3 "
        "0x1.c71c718428e9bp-4 -0x1.745d11fb44b77p-4 0x1.3b136a185af4cp-4 "
        "-0x1.110e6d9ad1de2p-4 0x1.e1bcf808c61c5p-5 -0x1.ae644e7b96e86p-5 "
        "0x1.82eeb2c5c6ccdp-5 -0x1.59d7fa30766d7p-5 0x1.2c9829135927dp-5 "
        "-0x1.eb49567521d5dp-6 0x1.69d8aa5974e5dp-6 -0x1.ca97e735623b9p-7 "
        "0x1.dc04d86d890f4p-8 -0x1.7ea6c0feaa5ap-9 0x1.ba3d2c8e48b55p-11 "
        "-0x1.44a43801a77f3p-13 0x1.c4a3747b6760ep-17 "
    ),
}
# (tanh(x) / x - 1) / x^2 in s = x^2, |x| <= 0.81; 3.9e-09, 9.1e-18
TANH_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.55553cp-2 0x1.110afp-3 -0x1.b91d8ep-5 0x1.5cb41p-6 -0x1.e36feep-8 0x1.9a3e54p-10 "
    ),
    dt.f64: _row(
        "-0x1.5555555555516p-2 0x1.111111110d443p-3 -0x1.ba1ba1b78e912p-5 "
        "0x1.664f481436aaep-6 -0x1.226e2a4e8a79bp-7 0x1.d6d2635c7a1bcp-9 "
        "-0x1.7d935f1cdf3a8p-10 0x1.34da3d69f28a3p-11 -0x1.effc6231410cap-13 "
        "0x1.8072ca36ab69bp-14 -0x1.0a99307bd84aap-15 0x1.199d28b91a55ep-17 "
        "-0x1.40a592547bcc3p-20 "
    ),
}
# (sinh(x) / x - 1) / x^2 in s = x^2, |x| <= 1; 6.6e-09, 9.6e-18
SINH_TAIL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.555556p-3 0x1.111136p-7 0x1.9ffe04p-13 0x1.7a289ep-19"),
    dt.f64: _row(
        "0x1.5555555555555p-3 0x1.1111111111111p-7 0x1.a01a01a019fbdp-13 "
        "0x1.71de3a55743bdp-19 0x1.ae645673cfd79p-26 0x1.61246b2859c7bp-33 "
        "0x1.ae75516df16f7p-41 0x1.9a80b6b7d859ep-49 "
    ),
}
# erf(x) / x - 1 in s = x^2, |x| <= 0.93; 9.7e-10, 1.2e-17
ERF_SMALL: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.06eba8p-3 -0x1.81274p-2 0x1.ce2d6p-4 -0x1.b8008p-6 "
        "0x1.54426ep-8 -0x1.a5ba94p-11 0x1.4e4588p-14 "
    ),
    dt.f64: _row(
        "0x1.06eba8214db69p-3 -0x1.812746b0379e7p-2 0x1.ce2f21a042be1p-4 "
        "-0x1.b82ce31288afbp-6 0x1.565bcd0e69072p-8 -0x1.c02db3ffe0095p-11 "
        "0x1.f9a326e783f8ep-14 -0x1.f4d259e9d516dp-17 0x1.b9e694a257cf9p-20 "
        "-0x1.5f70d3e0b77c1p-23 0x1.fc792c16e444bp-27 -0x1.4f7f7d23df157p-30 "
        "0x1.85fcff9b8905bp-34 -0x1.3cd808a1709b4p-38 "
    ),
}
# log2(erfc(x)) / x, 0.92 <= x <= 4 (f32), 6 (f64); 2.9e-10, 8.1e-18
ERF_LARGE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.a0cf28p+0 -0x1.d57fb6p-1 -0x1.371bd2p-3 0x1.0c62e4p-5 "
        "-0x1.171cc4p-8 0x1.5ce746p-14 0x1.0a10e4p-14 -0x1.d119f8p-18 "
    ),
    dt.f64: _row(
        "-0x1.a0be838348b2p+0 -0x1.d63edb7672a38p-1 -0x1.2fa7dfa13489cp-3 "
        "0x1.c42a60c2b561dp-6 0x1.3446aed2218d3p-12 -0x1.3df970177ad76p-9 "
        "0x1.aa28ffbe207dep-11 0x1.db431fac5c91fp-17 -0x1.316317aa5d594p-13 "
        "0x1.631bac611a8cbp-14 -0x1.028d1d595900dp-15 0x1.13639460de8acp-17 "
        "-0x1.bccd8602901e9p-20 0x1.0fb709ead95b9p-22 -0x1.e8d7377c2e61cp-26 "
        "0x1.321335bbde30ap-29 -0x1.dce1b90974977p-34 0x1.5c06300bbb075p-39 "
    ),
}
# (x + 2) exp(x^2) erfc(x) in v = (x - 2) / (x + 2), 0.45 <= x <= 10.1 or 27.3; 7.9e-09, 1.5e-18
ERFC_SCALED: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.058672p+0 -0x1.03196cp-26 -0x1.5fd384p-1 0x1.1e2ddap-2 "
        "-0x1.2a8e1cp-5 -0x1.605444p-6 0x1.aa1c0ep-8 0x1.8f4cbep-9 "
        "-0x1.e050c4p-11 -0x1.172624p-11 0x1.1e7784p-13 "
    ),
    dt.f64: _row(
        "0x1.058671b52c776p+0 -0x1.4b8ab04c3f588p-56 -0x1.5fd386754eff9p-1 "
        "0x1.1e2deea6b117ap-2 -0x1.2a88e6107d5acp-5 -0x1.606e41552c0c7p-6 "
        "0x1.a89eaff88c5f1p-8 0x1.9517bb7310decp-9 -0x1.b6fbf9bcc015dp-11 "
        "-0x1.5ba438fe47156p-11 0x1.205434fcd1f56p-15 0x1.2efa442a3dfb5p-13 "
        "0x1.1e7513166246ap-15 -0x1.6c05ebfd0923ap-16 -0x1.0e68b469cf3e5p-16 "
        "-0x1.2d211a19f08ap-20 0x1.e748d5be79b37p-19 0x1.0c07448d8e92p-19 "
        "0x1.38590062e0798p-25 -0x1.34cdf37d367ep-21 -0x1.97f3ed76c04b5p-22 "
        "0x1.67eb8041b8681p-26 0x1.5c864d86a2d2ep-23 0x1.94a8ed56d5bcbp-26 "
        "-0x1.1f83243d2f9aap-25 "
    ),
}
# m^(-1/3), 1 <= m <= 2; 3.4e-05, 8.0e-07
CBRT_INVERSE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.ac17eep+0 -0x1.2de01p+0 0x1.67739p-1 -0x1.cb3118p-3 0x1.dc915ap-6 "),
    dt.f64: _row(
        "0x1.e1af72dc5795p+0 -0x1.fe36f74545924p+0 0x1.fd875c37df5fp+0 "
        "-0x1.4920dfb05a0c7p+0 0x1.043da6344addep-1 -0x1.cb30827bc4ee9p-4 "
        "0x1.5a97bc8c9a60dp-7 "
    ),
}
# (log2(1 + f) - f log2(e)) / f^2 for pow of f32, computed in f64; 4.0e-12
POW_F32_LOG2_TAIL: tuple[float, ...] = _row(
    "-0x1.71547651cc78cp-1 0x1.ec709dd659e78p-2 -0x1.7154788451099p-2 "
    "0x1.2776bb33366e7p-2 -0x1.ec6f2bc6823edp-3 0x1.a61a34e245e8ep-3 "
    "-0x1.7188d37e8d208p-3 0x1.4837599c8e64p-3 -0x1.23e1b54309c7p-3 "
    "0x1.09f8ab7a824b2p-3 -0x1.12e5a29f0af32p-3 0x1.1251e06bb6b08p-3 "
    "-0x1.261c23091bbp-4 "
)
# (log(1 + f) - f + f^2 / 2) / f^3, |f| <= 0.045; 5.9e-20
POW_LOG_TAIL: tuple[float, ...] = _row(
    "0x1.5555555555556p-2 -0x1.0000000000004p-2 0x1.9999999995a56p-3 "
    "-0x1.555555554d17fp-3 0x1.24924947d78fp-3 -0x1.00000037b3eddp-3 "
    "0x1.c71b5fc453976p-4 -0x1.99983c1d9c9e4p-4 0x1.763f803a81f94p-4 "
    "-0x1.575afb271efdap-4 "
)
# (m up to which c is used, c, -log(c) to 42 bits after the point, the rest):
# |m c - 1| <= 0.045 for m in [sqrt(1/2), sqrt(2)], and c has four bits after the point.
POW_CENTERS: tuple[tuple[float, ...], ...] = (
    _row("0x1.6c16c16c16c17p-1 0x1.7p+0 -0x1.739d7f6bbdp-2 -0x1.a7389314feb5p-52"),
    _row("0x1.7d05f417d05f4p-1 0x1.6p+0 -0x1.4618bc21c6p-2 0x1.3d82f484c84ccp-46"),
    _row("0x1.8f9c18f9c18fap-1 0x1.5p+0 -0x1.1675cababap-2 -0x1.8380e731f55c4p-44"),
    _row("0x1.a41a41a41a41ap-1 0x1.4p+0 -0x1.c8ff7c79aap-3 0x1.7794f689f8434p-45"),
    _row("0x1.bacf914c1badp-1 0x1.3p+0 -0x1.5ff3070a7ap-3 0x1.8586f183bebf2p-44"),
    _row("0x1.d41d41d41d41dp-1 0x1.2p+0 -0x1.e27076e2bp-4 0x1.a342c2af0003cp-45"),
    _row("0x1.f07c1f07c1f08p-1 0x1.1p+0 -0x1.f0a30c0118p-5 0x1.d599e83368e91p-45"),
    _row("0x1.0842108421084p+0 0x1p+0 0x0p+0 0x0p+0"),
    _row("0x1.1a7b9611a7b96p+0 0x1.ep-1 0x1.08598b59e4p-4 -0x1.7e5dd7009902cp-46"),
    _row("0x1.2f684bda12f68p+0 0x1.cp-1 0x1.1178e8227ep-3 0x1.1ef78ce2d07f2p-45"),
    _row("0x1.47ae147ae147bp+0 0x1.ap-1 0x1.a93ed3c8aep-3 -0x1.8724350562169p-45"),
    _row("0x1.642c8590b2164p+0 0x1.8p-1 0x1.269621134ep-2 -0x1.1b61f10522625p-44"),
    _row("0x1p+1 0x1.6p-1 0x1.7fafa3bd81p-2 0x1.46fb79bf6d4cbp-44"),
)
# ln(2) to 42 bits after the point, and the rest
POW_LN2 = _row("0x1.62e42fefa38p-1 0x1.ef35793c7673p-45")
