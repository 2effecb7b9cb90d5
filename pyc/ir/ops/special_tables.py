"""Coefficients of the gamma, Bessel and inverse error functions: written by
`benchmarks/fit_special.py`, not by hand.

Each table maps the type of the result to the float64 coefficients of a polynomial, lowest order
first. The comment gives the fitted function and the weighted error for f32 and f64. Constants are
two float64, a value and what it lacks.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType


def _row(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(word) for word in text.split())


# 1 - Euler's constant
FIRST_OF_LGAMMA = _row("0x1.b0ee6072093cep-2 0x1.6cb90701fbfabp-58")
# digamma is 0 here
ROOT_OF_DIGAMMA = _row("0x1.762d86356be3fp+0 0x1.b86a722197829p-54")
# (log(2 pi) - 1) / 2
STIRLING_CONSTANT = _row("0x1.acfe390c97d69p-2 0x1.3494bc9001442p-56")
# log(pi)
LOG_PI = _row("0x1.250d048e7a1bdp+0 0x1.7abf2ad8d5088p-57")
# pi
PI = _row("0x1.921fb54442d18p+1 0x1.1a62633145c07p-53")
# (gamma(2 + z) - 1) / z, |z| <= 1/2; 2.8e-12, 2.6e-19
GAMMA: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.b0ee60734825ep-2 0x1.a5b978b95e673p-2 0x1.4e23976e8b5e5p-4 "
        "0x1.301fbb4d0cfa5p-4 -0x1.17b3a387687a1p-12 0x1.6d7e89219722ep-7 "
        "-0x1.764f3ef5f7688p-9 0x1.13e020cdf4ceap-9 -0x1.d7d477a70092ap-11 "
        "0x1.fb297176b4886p-12 -0x1.39c20221ba18bp-12 0x1.325810e60e6a6p-13 "
    ),
    dt.f64: _row(
        "0x1.b0ee6072093cep-2 0x1.a5b978b96bebfp-2 0x1.4e239984650afp-4 "
        "0x1.301fbb0f25aadp-4 -0x1.17f3740ee41eap-12 0x1.6d7eeac9e5773p-7 "
        "-0x1.75e6e90c8c862p-9 0x1.13c449cb9946ep-9 -0x1.e21f1925208a5p-11 "
        "0x1.011ad19ebc0a1p-11 -0x1.f94b393db1399p-13 0x1.fe56d3dac9841p-14 "
        "-0x1.fddc80ba528e1p-15 0x1.fed8272087b8cp-16 -0x1.00bdf4ed480b1p-16 "
        "0x1.00ab985734792p-17 -0x1.e26ff50164ea8p-19 0x1.e6849204c4203p-20 "
        "-0x1.642cb8d309cp-20 0x1.5cc1a396d73c9p-21 "
    ),
}
# (log(gamma(2 + z)) / z - (1 - Euler's constant)) / z, |z| <= 1/2; 1.4e-11, 9.3e-18
LGAMMA: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.4a34cc4fa6672p-2 -0x1.13e001a66e50fp-4 0x1.513211ae54221p-6 "
        "-0x1.e404eeb3588ddp-8 0x1.7aee27563ab5p-9 -0x1.38b3870e8edf8p-10 "
        "0x1.08f339367263bp-11 -0x1.d15232c01ef4ap-13 0x1.e4ce9335b3645p-14 "
        "-0x1.abad6982f0dcap-15 "
    ),
    dt.f64: _row(
        "0x1.4a34cc4a60fa6p-2 -0x1.13e001a557607p-4 0x1.51322ac7d84ap-6 "
        "-0x1.e404fc218f5f9p-8 0x1.7add6eadb2011p-9 -0x1.38ac5c2bf7cf8p-10 "
        "0x1.0b36af89180ccp-11 -0x1.d3fd4c789fe21p-13 0x1.a127af0ad61b1p-14 "
        "-0x1.78de5b1392a64p-15 0x1.580e2fa29234fp-16 -0x1.3cbcc5e3ba14p-17 "
        "0x1.258b9f2fee427p-18 -0x1.11abecf995d4fp-19 0x1.0154d6b833331p-20 "
        "-0x1.e3a26eca24b4ap-22 0x1.b0b5bbb86c3c9p-23 -0x1.9e0e69b34dc8p-24 "
        "0x1.17a5631845a81p-24 -0x1.02edd1b71aa6ep-25 "
    ),
}
# x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2), s = 1 / x^2, x >= 8.5; 4.7e-11, 4.6e-18
STIRLING: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.55555552113ccp-4 -0x1.6c14aba2a7a46p-9 0x1.99c5399f5758p-11 "),
    dt.f64: _row(
        "0x1.5555555555555p-4 -0x1.6c16c16c16bbp-9 0x1.a01a019f7fac3p-11 "
        "-0x1.38137fd6a76e3p-11 0x1.b95053a703aa6p-11 -0x1.f62fc94d662ccp-10 "
        "0x1.9962ef0b03ea7p-8 -0x1.62e42288c26d3p-6 "
    ),
}
# sin(pi r) / r in s = r^2, |r| <= 1/2; 5.3e-11, 1.7e-16
SIN_PI: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.921fb544257c7p+1 -0x1.4abbce51d3fadp+2 0x1.466bc06d422eep+1 "
        "-0x1.32d12f7ea7173p-1 0x1.501422c202d6cp-4 -0x1.cc9e22ae119bfp-8 "
    ),
    dt.f64: _row(
        "0x1.921fb54442d18p+1 -0x1.4abbce625be53p+2 0x1.466bc6775aae2p+1 "
        "-0x1.32d2cce62bd57p-1 0x1.50783487ec1a3p-4 -0x1.e3074fdc527d5p-8 "
        "0x1.e8f4338e33603p-12 -0x1.6fad48942e56p-16 0x1.aabbe6ac26f3bp-21 "
        "-0x1.7ed527ac56367p-26 "
    ),
}
# digamma(x) / (x - root) in z = x - 3/2, 1 <= x <= 2; 6.5e-10, 5.6e-17
DIGAMMA: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.e6f0cbb332eep-1 -0x1.b1cb62a78b162p-2 0x1.eca1a1231abd4p-3 "
        "-0x1.2fef2e47aa03cp-3 0x1.850a7ac2a6e8p-4 -0x1.fb270b2ea9c4p-5 "
        "0x1.4f02e11447ea2p-5 -0x1.bcb60737e8447p-6 0x1.1509354668aeap-6 "
        "-0x1.66347b3d8c58bp-7 0x1.70174bd65d354p-7 -0x1.040ecf102107ap-7 "
    ),
    dt.f64: _row(
        "0x1.e6f0cbb873616p-1 -0x1.b1cb63005ee96p-2 0x1.eca189b8e6f7bp-3 "
        "-0x1.2feeeb98a7e66p-3 0x1.8512e59037ebfp-4 -0x1.fb44202993d95p-5 "
        "0x1.4de9aa1802c4cp-5 -0x1.b9f8b151d8e38p-6 0x1.256471563ee46p-6 "
        "-0x1.863558b423f32p-7 0x1.03c0b2b54c86ap-7 -0x1.5a081545712abp-8 "
        "0x1.cd1f26f59be63p-9 -0x1.334fa678a6396p-9 0x1.99e1aae6a28d5p-10 "
        "-0x1.115107f2bde68p-10 0x1.69ba9f5b552e1p-11 -0x1.e09ff77395976p-12 "
        "0x1.56c5604d73c26p-12 -0x1.d258861e3701cp-13 0x1.802838f6a443ep-14 "
        "-0x1.c4883defc1593p-15 0x1.00b8c84584818p-13 -0x1.6b0d1c5eac7c6p-14 "
    ),
}
# x^2 (log(x) - 1 / (2 x) - digamma(x)) in s = 1 / x^2, x >= 3; 4.7e-13, 5.9e-21
DIGAMMA_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.5555554214827p-4 -0x1.1110a1a98b603p-7 0x1.03d9e369f673dp-8 "
        "-0x1.0aca1aba2661cp-8 0x1.8c7e68fa6963ep-8 -0x1.ce51e15f72851p-8 "
    ),
    dt.f64: _row(
        "0x1.5555555555554p-4 -0x1.111111110e7c4p-7 0x1.041040fd05e07p-8 "
        "-0x1.11110c2afc4f9p-8 0x1.f07a1234f7bf7p-8 -0x1.59714f2957719p-6 "
        "0x1.5391a97e5710dp-4 -0x1.b5bc88f771741p-2 0x1.4e419c6d3183ep+1 "
        "-0x1.08f8224bcba11p+4 0x1.7e0eec70c75adp+6 -0x1.bf23c29b19938p+8 "
        "0x1.7d9111942b18ap+10 -0x1.9caaa342642f7p+11 0x1.a3979cff0a4a3p+11 "
    ),
}
# erfinv(x) / x in w - 25/8, w = -log(1 - x^2) <= 25/4; 8.6e-10, 6.3e-17
ERFINV: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.a755e7ca27108p+0 0x1.ebd80d1ec21ap-3 -0x1.8b6c37fd4946bp-8 "
        "-0x1.8455f7c730c7cp-11 0x1.879d0f3f5db66p-13 -0x1.d220dedb3330dp-17 "
        "-0x1.6ec7de7186825p-20 0x1.ca5ccc7108ea8p-22 -0x1.efa2f6b07c1f4p-26 "
        "-0x1.45e2fd31bbccp-28 0x1.1a1cd4b30723fp-30 0x1.74be0a306a227p-38 "
        "-0x1.ae12116f90fcap-37 "
    ),
    dt.f64: _row(
        "0x1.a755e7c99ae86p+0 0x1.ebd80d9b13dfbp-3 -0x1.8b6c33114ee4p-8 "
        "-0x1.8457694835f5ap-11 0x1.879c2a20d6bcbp-13 -0x1.d1d1f7c9c396bp-17 "
        "-0x1.6e8a53ee3320fp-20 0x1.c6b4f87d205a9p-22 -0x1.f36ce542eff1ap-26 "
        "-0x1.1a9eae5f22a7bp-28 0x1.20f4eb3020bdbp-30 -0x1.dc3f9e7765db9p-35 "
        "-0x1.c8960e6e8ecebp-37 0x1.72383a928ea6fp-39 -0x1.6d8e855933ac9p-44 "
        "-0x1.68891b2fb5a49p-45 0x1.db323fcb419cp-48 -0x1.6374e050e19c5p-55 "
        "-0x1.2bd82b1e0daap-53 0x1.1cf7b9ed7f6dbp-56 0x1.51bd1dcd67aefp-60 "
        "-0x1.9704b63be383p-62 -0x1.305151f18b168p-70 0x1.dba360342e4ddp-69 "
    ),
}
# erfinv(x) / x in sqrt(w) - 7/2, 25/4 <= w <= 81/4; 4.6e-10, 3.9e-17
ERFINV_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.aaf1322c56a89p+1 0x1.01e2ec396890bp+0 0x1.ad806c605695bp-9 "
        "-0x1.0e6fe6d9a2998p-9 0x1.1ebdedaefbc09p-10 -0x1.640feb9459d4ap-11 "
        "0x1.c1bff4df39ab3p-12 -0x1.dcd1256430f7bp-13 0x1.5b06a9c2e11fp-14 "
        "-0x1.1ce630cdc8771p-19 -0x1.35948c2525d3bp-16 0x1.e9f14b2f4dc66p-18 "
    ),
    dt.f64: _row(
        "0x1.aaf1322b93118p+1 0x1.01e2ec29befe2p+0 0x1.ad81627d22ffcp-9 "
        "-0x1.0e6cab0e26c7fp-9 0x1.1ea49da1c38d4p-10 -0x1.6470b55e5f819p-11 "
        "0x1.c3b24585139ebp-12 -0x1.d80be43d546afp-13 0x1.48eef3ba30613p-14 "
        "-0x1.6fe517928633dp-18 -0x1.c12594b9793b5p-17 0x1.3bbe405d41541p-17 "
        "-0x1.80cc10358111cp-19 -0x1.41ace2787f781p-23 0x1.3605a9443672cp-21 "
        "-0x1.20e76a4e0ada8p-22 0x1.784fe37024f25p-25 0x1.38936db4d3a68p-26 "
        "-0x1.0ace99b593951p-26 0x1.68ebbfb0eff05p-28 -0x1.14576b027dd8ep-33 "
        "-0x1.880d679d8ba8ap-31 0x1.f2785c9c5d6d9p-33 -0x1.d490bf1ef0744p-38 "
    ),
}
# erfinv(x) / x in sqrt(w) - 29/4, 81/4 <= w <= 100; 9.8e-11, 3.5e-16
ERFINV_FARTHER: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.c7c0b3e12fc5bp+2 0x1.02229fc242d7cp+0 -0x1.093dad3873849p-11 "
        "0x1.7f16d93ecaf1p-17 0x1.207d1ebf71aa8p-18 -0x1.44e20d4829c71p-20 "
        "0x1.f3f5d0b7e829p-23 -0x1.56c9c9fcac9dap-25 0x1.b425147b8e11p-28 "
        "-0x1.b1941100471a4p-31 0x1.c202e8442f4b2p-34 -0x1.1325bd47d5451p-35 "
        "0x1.592480b04b592p-38 "
    ),
    dt.f64: _row(
        "0x1.c7c0b3e122fdfp+2 0x1.02229fc085c64p+0 -0x1.093d9bd670fb5p-11 "
        "0x1.7f235d1d700cfp-17 0x1.206d7b0e634b1p-18 -0x1.45484fdd2ba85p-20 "
        "0x1.f548322c401fap-23 -0x1.5142099781875p-25 0x1.a6a7564bd2a05p-28 "
        "-0x1.fa5f348e4df0dp-31 0x1.25afe80440454p-33 -0x1.4c0c86d0529f2p-36 "
        "0x1.729fa60cc9e52p-39 -0x1.9d63e51de747ap-42 0x1.6df309b1501e8p-45 "
        "-0x1.16d54af7eb76ep-49 0x1.a7aa74f6e3489p-49 -0x1.75c6c84f919c9p-50 "
        "-0x1.ee7a4e82b012ap-52 0x1.06e9d787ea455p-52 0x1.1fdcb8126bd5p-54 "
        "-0x1.1c56e64853f98p-55 -0x1.8f2e9a9eab3d4p-58 0x1.8819220b0ac32p-59 "
        "0x1.40c25e1cda632p-62 -0x1.4f840ce720279p-63 -0x1.9eb650c864bebp-70 "
        "0x1.5ea072fddbe66p-69 "
    ),
}
# erfinv(x) / x in sqrt(w) - 19, 100 <= w <= 784; 4.5e-10, 3.8e-16
ERFINV_FARTHEST: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.2ecf50e44380dp+4 0x1.00a61f33efa7dp+0 -0x1.97bac36ab3d88p-14 "
        "0x1.025290a598103p-18 -0x1.47d8a66aea89ap-23 0x1.996e94cafb1a2p-28 "
        "-0x1.ebaacd45a5428p-33 0x1.de81a33ed2279p-38 -0x1.18524b3359027p-43 "
        "0x1.0f13b46e01f19p-46 -0x1.0494235c7ec64p-50 -0x1.470c6bbb6a6a4p-53 "
        "0x1.96c59601a557bp-57 "
    ),
    dt.f64: _row(
        "0x1.2ecf50e432de1p+4 0x1.00a61f319561cp+0 -0x1.97ba7f32c821ap-14 "
        "0x1.0255bb271906fp-18 -0x1.47efc31c8f768p-23 0x1.983aa135f86afp-28 "
        "-0x1.e5c50d1af71c4p-33 0x1.07d7e497aa1d5p-37 -0x1.ce5c246b868a8p-43 "
        "0x1.1f8a37dac1feap-49 0x1.64c3feea58d5cp-52 -0x1.4b706052b4081p-55 "
        "0x1.a12ebdaa9f1fbp-59 -0x1.c9054f09a7fa1p-63 0x1.d3f717bfc9218p-67 "
        "-0x1.ca14cda3ac5a6p-71 0x1.a3f301c0f1b41p-75 -0x1.7e059f902b6adp-79 "
        "0x1.aa39903030571p-83 -0x1.9fa39a80f72bap-87 0x1.2941a0484fc3ap-93 "
        "0x1.5d46313fb319dp-99 0x1.7c8ebd6d3cd96p-98 -0x1.9b5a2dc7018a4p-102 "
        "-0x1.3a1f8af617586p-106 0x1.62f3fd73772b7p-110 0x1.76c6e7a92ecabp-114 "
        "-0x1.684ed790e748ep-118 "
    ),
}
# (i0(x) - 1) / s in s = x^2 / 4, |x| <= 7.75; 1.6e-10, 5.5e-19
I0_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.ffffffe48126ep-1 0x1.00000127becdcp-2 0x1.c71c5257000b7p-6 "
        "0x1.c71dfc660c269p-10 0x1.233ae6b12c80fp-14 0x1.033cd578f964bp-19 "
        "0x1.4ee8074df8c67p-25 0x1.6603ef8ad6b8dp-31 0x1.86a173240de7fp-38 "
        "0x1.34873dba5a513p-43 "
    ),
    dt.f64: _row(
        "0x1p+0 0x1.ffffffffffffep-3 0x1.c71c71c71c77p-6 "
        "0x1.c71c71c71bcb5p-10 0x1.23456789b6b97p-14 0x1.02e85c07ba945p-19 "
        "0x1.522a440d6dc72p-25 0x1.522a4250c7bc8p-31 0x1.0b3147ba2e043p-37 "
        "0x1.56000242aeb43p-44 0x1.69debc03a2619p-51 0x1.40db138a1db7bp-58 "
        "0x1.f0ad1aa6c53bep-66 0x1.15fd55a53ab94p-73 0x1.15eff407abb7ap-80 "
    ),
}
# sqrt(x) exp(-x) i0(x) in 1 / x - 1 / 16, x >= 7.75; 8.5e-11, 2.6e-17
I0_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.9bd428ac83d19p-2 0x1.b8796e76a1e1p-5 0x1.1dab2367fb22fp-5 "
        "0x1.75b1494b5c4d7p-5 0x1.8c1ae242fa11bp-4 0x1.511152edbffcp-2 "
        "0x1.d42cda7e865bfp+0 0x1.d90f0e2abe857p+2 "
    ),
    dt.f64: _row(
        "0x1.9bd428ad249a5p-2 0x1.b87969bb93a41p-5 0x1.1daa72b5a94d2p-5 "
        "0x1.75e5ee7868b78p-5 0x1.8e513f5792e08p-4 0x1.3f499212820f8p-2 "
        "0x1.7d09dd765bdfp+0 0x1.51d6780227e38p+3 0x1.72ea20adb70b6p+6 "
        "0x1.02c095f7d9954p+9 -0x1.de7dd191cca7ep+12 -0x1.c965d89494a1cp+17 "
        "-0x1.43183e1db2914p+20 0x1.f5af82fe76522p+24 0x1.97001827f9ea8p+28 "
        "-0x1.a689817641a37p+31 -0x1.0543e4ffac50cp+36 0x1.1cf0da748b0f3p+38 "
        "0x1.bc056d0bba239p+42 -0x1.fac4564040985p+43 -0x1.ca424a75956b8p+48 "
        "0x1.0b9808f43f246p+48 0x1.ab6a476243d4fp+53 0x1.13f07a7bf3b3ep+54 "
    ),
}
# (2 i1(x) / x - 1) / s in s = x^2 / 4, |x| <= 7.75; 1.2e-09, 6.7e-20
I1_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.000000924ce0bp-1 0x1.55554385a7d32p-4 0x1.c71dd6e614d5dp-8 "
        "0x1.6c09c2d7f20fdp-12 0x1.84df938169586p-17 0x1.24e49ada22411p-22 "
        "0x1.67179d6738a1fp-28 0x1.b03c7f31942a5p-35 0x1.8652a6c774cc3p-40 "
    ),
    dt.f64: _row(
        "0x1p-1 0x1.5555555555555p-4 0x1.c71c71c71c736p-8 "
        "0x1.6c16c16c16919p-12 0x1.845c8a0ceb0ecp-17 0x1.27e4fb7714cb2p-22 "
        "0x1.522a44022431dp-28 0x1.2c975808c19fcp-34 0x1.ab81ff2b4c2abp-41 "
        "0x1.f17520a627089p-48 0x1.e27697d78c1ap-55 0x1.8b1cee6a9a5d3p-62 "
        "0x1.1ad2aa82c244fp-69 0x1.2df53901fe209p-77 0x1.0f47e10bcb5ccp-84 "
    ),
}
# sqrt(x) exp(-x) i1(x) in 1 / x - 1 / 16, x >= 7.75; 7.8e-11, 5.1e-17
I1_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.8ebe783b41edbp-2 -0x1.3f7962b7b4175p-3 -0x1.cbc621adf64efp-5 "
        "-0x1.f86ac17eae23ap-5 -0x1.e9f2dc14480bdp-4 -0x1.86da405031962p-2 "
        "-0x1.0843d0e543c12p+1 -0x1.1568ec5f900b4p+3 "
    ),
    dt.f64: _row(
        "0x1.8ebe783a8402fp-2 -0x1.3f796198ee64fp-3 -0x1.cbc54df1790d8p-5 "
        "-0x1.f89c23031efc6p-5 -0x1.ec8e19794d8dcp-4 -0x1.7613880e421b5p-2 "
        "-0x1.ad84347423696p+0 -0x1.7277857e6f005p+3 -0x1.92bf5355fafe7p+6 "
        "-0x1.21bffba9a63abp+9 0x1.e60c6ec38b417p+12 0x1.e27ecd05c152ap+17 "
        "0x1.52712bdf92c46p+20 -0x1.061e9be49483dp+25 -0x1.8b4cca76d083ap+28 "
        "0x1.cb018c69e585ap+31 0x1.cce7e3e312dffp+35 -0x1.5d323ef74899p+38 "
        "-0x1.51219da30a5ap+42 0x1.8d234dbac1bf5p+44 0x1.0fb295e39f724p+48 "
        "-0x1.d1ef5a4a93038p+49 -0x1.384e92bcbd335p+52 "
    ),
}
