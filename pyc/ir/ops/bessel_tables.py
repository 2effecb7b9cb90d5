"""Coefficients of the Bessel functions J, Y and K: written by
`benchmarks/fit_bessel.py`, not by hand.

Each table maps the type of the result to the float64 coefficients of a polynomial, lowest order
first. The comment gives the fitted function and the weighted error for f32 and f64. Constants are
two float64, a value and what it lacks.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType


def _row(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(word) for word in text.split())


# 2 / pi
TWO_OVER_PI = _row("0x1.45f306dc9c883p-1 -0x1.6b01ec5417056p-55")
# 1 / sqrt(pi)
ROOT_OF_PI = _row("0x1.20dd750429b6dp-1 0x1.1ae3a914fed8p-57")
# J0(x) in x^2, x <= 4; 1.2e-11, 8.2e-17
J0_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.ffffffffe47d5p-1 -0x1.fffffffba74ddp-3 0x1.ffffff8ba0a89p-7 "
        "-0x1.c71c686551e6p-12 0x1.c71baf8fb6bc5p-18 -0x1.233c90c8df6e2p-24 "
        "0x1.026ef3fe16dffp-31 -0x1.4a849abb69849p-39 0x1.0e7a3df31965dp-47 "
    ),
    dt.f64: _row(
        "0x1p+0 -0x1p-2 0x1p-6 "
        "-0x1.c71c71c71c71cp-12 0x1.c71c71c71c71cp-18 -0x1.23456789abcdbp-24 "
        "0x1.02e85c0898a85p-31 -0x1.522a43f64fe57p-39 0x1.522a43f55a1a6p-47 "
        "-0x1.0b313264ef15p-55 0x1.560180bcce69fp-64 -0x1.69c97ff38acd5p-73 "
        "0x1.417afb7952ff5p-82 -0x1.e3591cd388082p-92 0x1.17bbf823ca38ep-101 "
    ),
}
# J0(x) in x - 6, 4 <= x <= 8; 3.0e-11, 5.2e-17
J0_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.348580294358ap-3 0x1.1b530364baa65p-2 -0x1.92f68140fdad2p-4 "
        "-0x1.427fa0011f4cep-5 0x1.2ff823cc1e8e6p-7 0x1.96ad350982851p-10 "
        "-0x1.40d527e52cb26p-12 -0x1.f7ea387e24084p-16 0x1.5ec17e749003dp-18 "
        "0x1.77e93f4a22629p-22 -0x1.d7eacba5d6a86p-25 -0x1.608108f565022p-29 "
        "0x1.92a235295a3a3p-32 "
    ),
    dt.f64: _row(
        "0x1.3485802986392p-3 0x1.1b530367f4bbfp-2 -0x1.92f6814c2d227p-4 "
        "-0x1.427fa0b72ec06p-5 0x1.2ff8250ad6e8ep-7 0x1.96ad62dbc1e42p-10 "
        "-0x1.40d55deca0c22p-12 -0x1.f7f41b78c7bcp-16 0x1.5eca549deb4f3p-18 "
        "0x1.78f324ff13531p-22 -0x1.d96b40995b87ep-25 -0x1.7b7697b23a401p-29 "
        "0x1.b37de502c3e0fp-32 0x1.133b29b72472cp-36 -0x1.2333a56454a8p-39 "
        "-0x1.2da2a1c030ce6p-44 0x1.27d99a85fe133p-47 0x1.025bb44a7aafp-52 "
        "-0x1.c2cdda5ec5a3p-56 -0x1.53b18bfaa30c1p-61 "
    ),
}
# (Y0(x) - (2 / pi) (log(x) J0(x) - 0 / x)) in x^2, x <= 4; 2.3e-11, 2.3e-16
Y0_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.2e4d699b233ddp-4 0x1.6bbcb4081c26fp-3 -0x1.075b1b52e2a62p-6 "
        "0x1.1a61fdfab1745p-11 -0x1.3e98c452f45b8p-17 0x1.bcd42cc4c85bcp-24 "
        "-0x1.a60c1b7d7c43fp-31 0x1.1c718ed1a813fp-38 -0x1.e39cc5ba289d1p-47 "
    ),
    dt.f64: _row(
        "-0x1.2e4d699cbd01fp-4 0x1.6bbcb41034286p-3 -0x1.075b1bbf41364p-6 "
        "0x1.1a6206b7b973dp-11 -0x1.3e99794203bbdp-17 0x1.bce4a600d3e8dp-24 "
        "-0x1.a6ee796b86d52p-31 0x1.2393d82c620b9p-38 -0x1.31085da672b01p-46 "
        "0x1.f4ed4ad7dca47p-55 -0x1.4b7abddc13de5p-63 0x1.691ea278448aap-72 "
        "-0x1.49645905156bep-81 0x1.fa9e61444b852p-91 -0x1.2992a2742fa2p-100 "
    ),
}
# Y0(x) in x - 6, 4 <= x <= 8; 6.5e-11, 3.0e-17
Y0_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.271c81da502bp-2 0x1.666bd2bb4dc7ap-3 0x1.093e3048dffb4p-3 "
        "-0x1.2340bc6d2d10cp-5 -0x1.1fae1012045abp-7 0x1.e9ef96bc999b8p-10 "
        "0x1.e391824b05e9p-13 -0x1.655252b089924p-15 -0x1.d15cb0cb880fbp-19 "
        "0x1.31bb93e534634p-21 0x1.0fe1e1d6a5eb7p-25 -0x1.28a047bd4e42fp-28 "
        "-0x1.fde36f767fa7dp-33 "
    ),
    dt.f64: _row(
        "-0x1.271c81da53e77p-2 0x1.666bd2c9daf3ep-3 0x1.093e304981a87p-3 "
        "-0x1.2340be04f1d67p-5 -0x1.1fae10370f48p-7 0x1.e9effcc108f04p-10 "
        "0x1.e3918f787faeap-13 -0x1.655d4319e6d93p-15 -0x1.d15f02736c88bp-19 "
        "0x1.32df9c39f0d41p-21 0x1.101a53ffbbb08p-25 -0x1.45e54525b1a29p-28 "
        "-0x1.04c14bed5b9fap-32 0x1.22a54963bc182p-35 0x1.2b972e8469057p-41 "
        "-0x1.d3910f681ecebp-45 -0x1.3331bf712837fp-46 0x1.6dfbcf8e5d3b7p-49 "
        "-0x1.6bffd82561efcp-52 0x1.d494d24b46a7cp-55 -0x1.336b8a9d3944fp-57 "
        "0x1.81df3661526acp-60 -0x1.e8fc626ad7b76p-63 0x1.5dde002b18d12p-65 "
        "-0x1.ccbe51b3dbc65p-68 0x1.1bcd4725ce158p-71 -0x1.2e08e24beba54p-74 "
        "0x1.dc151878fe9b3p-75 -0x1.448e82b30c6c9p-77 "
    ),
}
# P0 in 1 / x^2, x >= 8; 7.9e-11, 1.8e-17
P0: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.ffffffff50bfep-1 -0x1.1fffb8043aa33p-4 0x1.cac647a58821bp-4 "
        "-0x1.16485e5594bf2p-1 0x1.c1aae6e83c2bdp+1 "
    ),
    dt.f64: _row(
        "0x1p+0 -0x1.1ffffffffbfc7p-4 0x1.cb5fffc155c2ep-4 "
        "-0x1.251ebd2901233p-1 0x1.84ae4bdf634e2p+2 -0x1.b68c184667976p+6 "
        "0x1.6eb2a70e710ebp+11 -0x1.81e1d0ff545b2p+16 0x1.9dd76815a2d9bp+21 "
        "-0x1.6d90be56c0bf3p+26 0x1.af05d1e86fcfap+30 -0x1.e52593d9f3f3bp+33 "
    ),
}
# x Q0 in 1 / x^2, x >= 8; 3.4e-10, 1.4e-16
Q0: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.ffffffe874298p-4 0x1.2bfec7741c976p-4 -0x1.cfcc85981af1ap-3 "
        "0x1.9927b7b4a96b6p+0 -0x1.9192e1cae52fcp+3 "
    ),
    dt.f64: _row(
        "-0x1.ffffffffffff6p-4 0x1.2bffffffcf823p-4 -0x1.d11dfec6cbb4p-3 "
        "0x1.ba4b91d1cc77ap+0 -0x1.85f5463be58dfp+4 0x1.11fb0e63ab3ffp+9 "
        "-0x1.0ed958893415p+14 0x1.3f870fe496338p+19 -0x1.6eb5bb062595ap+24 "
        "0x1.50344f23b10fdp+29 -0x1.9484619b42e2bp+33 0x1.cc82e919ad9c8p+36 "
    ),
}
# (K0(x) + (-1)^n log(x) I0(x) - 0 / x) in x^2, x <= 1; 3.2e-10, 7.2e-18
K0_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.dadb015bc7086p-4 0x1.1dadaefd4e6a7p-2 0x1.9dae3b3e3ee23p-6 "
        "0x1.bb605339b825cp-11 0x1.012336f149702p-16 "
    ),
    dt.f64: _row(
        "0x1.dadb014541eb2p-4 0x1.1dadb014541ebp-2 0x1.9dadb014541ecp-6 "
        "0x1.bb90e85debe48p-11 0x1.f4747696e528bp-17 0x1.5d6b13a138afcp-23 "
        "0x1.4c2b7bc0cef66p-30 0x1.c9f530b30c43p-38 0x1.e61b878c57c6bp-46 "
    ),
}
# sqrt(x) exp(x) K0(x) in (x - 2) / (x + 2), 1 <= x <= 4; 2.1e-11, 5.1e-17
K0_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.30ae2423f475p+0 0x1.ac450883d6638p-4 -0x1.2817f9bae849dp-4 "
        "0x1.c4e78d072ff53p-5 -0x1.6c114606c4695p-5 0x1.2ec9e7cd301f8p-5 "
        "-0x1.027611942450bp-5 0x1.c16a78e460b7ap-6 -0x1.7c840f2e71b3ep-6 "
        "0x1.4cbf2bab705f5p-6 -0x1.a627deccd29fbp-6 0x1.93d86c7d7e9f1p-6 "
    ),
    dt.f64: _row(
        "0x1.30ae2423de262p+0 0x1.ac450893fa54dp-4 -0x1.2817f63b0d86dp-4 "
        "0x1.c4e771bcdad87p-5 -0x1.6c141b93c0752p-5 0x1.2ed09e19f9788p-5 "
        "-0x1.020b42ad6ccb9p-5 0x1.bffcf53220d08p-6 -0x1.8a8ff24072d9dp-6 "
        "0x1.5f9e25de76429p-6 -0x1.3c67c425b58dcp-6 0x1.1f0e5015adb19p-6 "
        "-0x1.064944ada694ep-6 0x1.e231862863ddbp-7 -0x1.bc68bf90532d3p-7 "
        "0x1.9befae5b71264p-7 -0x1.8c10a5ae3b997p-7 0x1.76b76d95e37cep-7 "
        "-0x1.0e5deb8fc6becp-7 0x1.db748ac88f934p-8 -0x1.0a8bbb2d0e9b5p-6 "
        "0x1.0aa32b204a292p-6 "
    ),
}
# sqrt(x) exp(x) K0(x) in 1 / x - 1/8, x >= 4; 2.6e-11, 1.8e-17
K0_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.3c261a173533cp+0 -0x1.1ad09c1f5de03p-3 0x1.024ae32d53ca7p-4 "
        "-0x1.90fea0490ff57p-5 0x1.a7c915a9910f7p-5 -0x1.12c0fbe9bc1edp-4 "
        "0x1.9f30c5e946a51p-4 -0x1.a179eb240d392p-3 0x1.a57d226dcf4b4p-2 "
    ),
    dt.f64: _row(
        "0x1.3c261a172d207p+0 -0x1.1ad09c5c420acp-3 0x1.024ae84e95e81p-4 "
        "-0x1.90fb7e25af72ep-5 0x1.a7b7da01ff241p-5 -0x1.14224ae5ffd39p-4 "
        "0x1.a454d2708c7b2p-4 -0x1.69122b506d7a8p-3 0x1.560fd59824d1ap-2 "
        "-0x1.5f82ff813379dp-1 0x1.8326d658dab41p+0 -0x1.c4aafb84d6e2dp+1 "
        "0x1.148bba5c2acaap+3 -0x1.615c49f67b40fp+4 0x1.04a377f55c1b7p+6 "
        "-0x1.823af0a13168ep+7 0x1.db99daa174184p+7 -0x1.4af67d3e5d8fap+8 "
        "0x1.4c4e6933a7ee4p+13 -0x1.2c8de62b4d2c7p+15 "
    ),
}
# J1(x) / x^1 in x^2, x <= 4; 6.3e-13, 2.3e-17
J1_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.fffffffffd32ap-2 -0x1.ffffffff1d699p-5 0x1.5555553da55b1p-9 "
        "-0x1.c71c6df5d5193p-15 0x1.6c1672718b881p-21 -0x1.84555b2b07dc2p-28 "
        "0x1.27826d64b456bp-35 -0x1.4bf7e4fcd6969p-43 0x1.ebdb564809606p-52 "
    ),
    dt.f64: _row(
        "0x1p-1 -0x1p-4 0x1.5555555555555p-9 "
        "-0x1.c71c71c71c71cp-15 0x1.6c16c16c16c17p-21 -0x1.845c8a0ce5126p-28 "
        "0x1.27e4fb7789e9fp-35 -0x1.522a43f65134ap-43 0x1.2c9758da50c19p-51 "
        "-0x1.ab81ea4888329p-60 0x1.f1768edcb295fp-69 -0x1.e2623baf7cc2ep-78 "
        "0x1.8baf3f738147cp-87 -0x1.145ef26fbfaf7p-96 0x1.2bfcab333b55dp-106 "
    ),
}
# J1(x) in x - 6, 4 <= x <= 8; 5.4e-11, 8.3e-17
J1_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.1b530367e50c2p-2 0x1.92f681401a8b4p-3 0x1.e3bf710d7ea26p-4 "
        "-0x1.2ff823b7a2711p-5 -0x1.fc58ba63ef8f3p-8 0x1.e13fb7c31e92cp-10 "
        "0x1.b8f5646814874p-13 -0x1.5ec12a947b5dfp-15 -0x1.a8090c35ad74bp-19 "
        "0x1.26eceb91771dcp-21 0x1.0427fb77b2c4ep-25 -0x1.2daf03638398dp-28 "
        "-0x1.9f699ca216f61p-33 "
    ),
    dt.f64: _row(
        "-0x1.1b530367f4bbfp-2 0x1.92f6814c2d227p-3 0x1.e3bf7112c6208p-4 "
        "-0x1.2ff8250ad6eacp-5 -0x1.fc58bb92b25d2p-8 0x1.e1400ce2f23c2p-10 "
        "0x1.b8f59809aecp-13 -0x1.5eca549e3774ap-15 -0x1.a811899ef425dp-19 "
        "0x1.27e30876118ffp-21 0x1.04e1884a37c63p-25 -0x1.469e735618e79p-28 "
        "-0x1.bf4023a4ad9a7p-33 0x1.fd9d7da2346e8p-36 0x1.1ac872b84346ep-40 "
        "-0x1.283a50e260994p-43 -0x1.1280bb7057bc4p-48 0x1.0a6193b4af58ap-51 "
        "0x1.934d7b365f81bp-57 -0x1.6c4ae2407c9d6p-60 "
    ),
}
# (Y1(x) - (2 / pi) (log(x) J1(x) - 1 / x)) / x^1 in x^2, x <= 4; 1.2e-12, 2.5e-17
Y1_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.91866143c1293p-3 0x1.bd3975c5adc17p-5 -0x1.835b975c62fa4p-9 "
        "0x1.2c7dbc5e4b3ebp-14 -0x1.0a77bfe23dd49p-20 0x1.32ded49fd2f8dp-27 "
        "-0x1.f0132cc4d01c4p-35 0x1.246bff0af7711p-42 -0x1.c10108da42b53p-51 "
    ),
    dt.f64: _row(
        "-0x1.91866143cbc8ap-3 0x1.bd3975c75b4a7p-5 -0x1.835b97894be5bp-9 "
        "0x1.2c7dbffcde97dp-14 -0x1.0a780ac776eacp-20 0x1.32e5a4ddeea2ap-27 "
        "-0x1.f0ce34d20646bp-35 0x1.2a4e1aea411d2p-42 -0x1.1474ade83b013p-50 "
        "0x1.978ba81590cdcp-59 -0x1.e95981104c461p-68 0x1.e7e480658305p-77 "
        "-0x1.9a47fcdbadadcp-86 0x1.24f2e3ace1125p-95 -0x1.4357ce2575313p-105 "
    ),
}
# Y1(x) in x - 6, 4 <= x <= 8; 4.9e-12, 3.0e-17
Y1_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.666bd2c9db336p-3 -0x1.093e3048ef603p-2 0x1.b4e11d077232fp-4 "
        "0x1.1fae101448a6ap-5 -0x1.3235fdf7a2cdep-7 -0x1.6aad221788645p-10 "
        "0x1.38b199e04a02bp-12 0x1.d15cbd6fee70ap-16 -0x1.593b3a2134bc6p-18 "
        "-0x1.53db141f588fcp-22 0x1.bffd39eeb47e9p-25 0x1.7e723d81613c5p-29 "
        "-0x1.d3185cec0d871p-32 "
    ),
    dt.f64: _row(
        "-0x1.666bd2c9daf3ep-3 -0x1.093e304981a87p-2 0x1.b4e11d076ac1bp-4 "
        "0x1.1fae10370f48p-5 -0x1.3235fdf8a5963p-7 -0x1.6aad2b9a5fc2fp-10 "
        "0x1.38b19ab6a9feap-12 0x1.d15f02736c88dp-16 -0x1.593b8fc12f775p-18 "
        "-0x1.5420e8ffaab7bp-22 0x1.c01b3f1464494p-25 0x1.8721f1e41e70ep-29 "
        "-0x1.d84c97a41044cp-32 -0x1.062448c968285p-37 0x1.b658b30090cffp-41 "
        "0x1.3331c153f82fp-42 -0x1.84e2c6f582168p-45 0x1.997f9891821dbp-48 "
        "-0x1.15d038099aa11p-50 0x1.8048e3fce3614p-53 -0x1.015550afac0fcp-55 "
        "0x1.501b7cd837c19p-58 -0x1.be261d009256fp-61 0x1.59e444dfb1cc6p-63 "
        "-0x1.de29b614eaf26p-66 0x1.e719542e5c094p-70 -0x1.e9c81d8b69db5p-73 "
        "0x1.1c8ec1f0c9722p-72 -0x1.93152ad3049dfp-75 "
    ),
}
# P1 in 1 / x^2, x >= 8; 8.8e-11, 1.9e-17
P1: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.00000000623a4p+0 0x1.dfffaf61e5612p-4 -0x1.26fa033ce40d2p-3 "
        "0x1.49d79ca78355ep-1 -0x1.0210799b6578cp+2 "
    ),
    dt.f64: _row(
        "0x1p+0 0x1.dffffffffbbdap-4 -0x1.274fffdec2cc9p-3 "
        "0x1.5a6a2a912a377p-1 -0x1.b8825a5f30475p+2 0x1.e4c78e9dc2301p+6 "
        "-0x1.8ef3569ae91c5p+11 0x1.9fbb0d3c11b13p+16 -0x1.bb63dd362f422p+21 "
        "0x1.867bbf16b44a2p+26 -0x1.cb9ddc0f6430fp+30 0x1.02665346b48e9p+34 "
    ),
}
# x Q1 in 1 / x^2, x >= 8; 3.8e-10, 1.6e-16
Q1: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.7ffffff976c99p-2 -0x1.a3fea54bb1047p-4 0x1.1b820437e385fp-2 "
        "-0x1.d9ad287e1a54ap+0 0x1.c65f5bb540407p+3 "
    ),
    dt.f64: _row(
        "0x1.7fffffffffffdp-2 -0x1.a3ffffffc6cdfp-4 0x1.1c3cff4a22c4fp-2 "
        "-0x1.fe57340ab076bp+0 0x1.b3d59084dae59p+4 -0x1.2c0befae2b62ep+9 "
        "0x1.2448cb1d91128p+14 -0x1.547604ae2257p+19 0x1.81c940f56753dp+24 "
        "-0x1.5d0056ca7209p+29 0x1.9e1f188bd240ap+33 -0x1.d0c6263e79f1fp+36 "
    ),
}
# (K1(x) + (-1)^n log(x) I1(x) - 1 / x) / x^1 in x^2, x <= 1; 2.8e-11, 1.6e-17
K1_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.3b5b6029241bep-2 -0x1.5dadafb46310dp-4 -0x1.303b1706fb6eep-8 "
        "-0x1.d7e141637afe3p-14 -0x1.ac158f8ad5693p-20 "
    ),
    dt.f64: _row(
        "-0x1.3b5b6028a83d6p-2 -0x1.5dadb014541ebp-4 -0x1.303ae729ff30fp-8 "
        "-0x1.d802af7a5db5ap-14 -0x1.a29182247cbeap-20 -0x1.e2129ff4f766p-27 "
        "-0x1.8630b69cb91c6p-34 -0x1.d488f5a90b365p-42 -0x1.b7ead7f311165p-50 "
    ),
}
# sqrt(x) exp(x) K1(x) in (x - 2) / (x + 2), 1 <= x <= 4; 2.1e-10, 2.0e-17
K1_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.76289909a62bdp+0 -0x1.80fb1594ff84ep-2 0x1.400c32450087ap-2 "
        "-0x1.189bbb1d05459p-2 0x1.f9a05d704dad3p-3 -0x1.cfc35b50ad66ap-3 "
        "0x1.afe641643eb4bp-3 -0x1.95e096824908bp-3 0x1.6c12bb617f01cp-3 "
        "-0x1.51c36f2953ea9p-3 0x1.dd0dafabb09fp-3 -0x1.e3ae1b3fc4482p-3 "
    ),
    dt.f64: _row(
        "0x1.7628990a85c65p+0 -0x1.80fb15bf9d161p-2 0x1.400c2981112fap-2 "
        "-0x1.189b971b16d4p-2 0x1.f9a77580acae5p-3 -0x1.cfd50b1290134p-3 "
        "0x1.aedb4d762f8c2p-3 -0x1.93fffc3353995p-3 0x1.7d94528cc43a4p-3 "
        "-0x1.6a7f73e5a0b17p-3 0x1.5a0036a8d39b1p-3 -0x1.4b8e5e8e227b7p-3 "
        "0x1.3ed60bcff2e97p-3 -0x1.33770a8b10aa8p-3 0x1.2825bc7701a8bp-3 "
        "-0x1.1e50b622f09bap-3 0x1.211766545dfd5p-3 -0x1.1cf14f51a24a5p-3 "
        "0x1.9403bc7fa9051p-4 -0x1.6a960fbb6fe68p-4 0x1.cf25d8e9f3492p-3 "
        "-0x1.df6752f6dc3b9p-3 "
    ),
}
# sqrt(x) exp(x) K1(x) in 1 / x - 1/8, x >= 4; 3.0e-11, 4.1e-17
K1_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.4f5b136a688fep+0 0x1.c0b7e33f0bea1p-2 -0x1.c642a92c81bbcp-4 "
        "0x1.2796eb5d599d3p-4 -0x1.1e5f14e5d61ffp-4 0x1.609b876e34b2ep-4 "
        "-0x1.015c23876f9efp-3 0x1.f5b95bb99dd3ep-3 -0x1.f09870e5aa6abp-2 "
    ),
    dt.f64: _row(
        "0x1.4f5b136a71d17p+0 0x1.c0b7e3626c158p-2 -0x1.c642af0ede136p-4 "
        "0x1.2795194268d8ep-4 -0x1.1e5531c91fb7ep-4 0x1.623650ddd66d6p-4 "
        "-0x1.044f9e906f5d4p-3 0x1.b414ba185c028p-3 -0x1.954f07a0254bbp-2 "
        "0x1.9a4e6088901ep-1 -0x1.be74b939d2268p+0 0x1.026561831902fp+2 "
        "-0x1.392c70d3678d6p+3 0x1.8d6a60e7d3892p+4 -0x1.227cb303969cap+6 "
        "0x1.ab8b9eac82623p+7 -0x1.0c187b8545bd5p+8 0x1.82368a7f15a2fp+8 "
        "-0x1.6a3bd343bdd8bp+13 0x1.465e79aacb126p+15 "
    ),
}
