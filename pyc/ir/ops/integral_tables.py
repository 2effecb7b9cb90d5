"""Coefficients of the exponential, sine, cosine and
incomplete gamma integrals: written by
`benchmarks/fit_integrals.py`, not by hand.

Each table maps the type of the result to the float64 coefficients of a polynomial, lowest order
first. The comment gives the fitted function and the weighted error for f32 and f64. Constants are
two float64, a value and what it lacks.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType


def _row(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(word) for word in text.split())


# Ei is 0 here
ROOT_OF_EI = _row("0x1.7d72952b4b5fcp-2 0x1.e4c986021c6f2p-57")
# Ci is 0 here for the first time
ROOT_OF_CI = _row("0x1.3ba69b6517559p-1 -0x1.844beee0210fep-55")
# the logarithm of the root of Ei
LOG_ROOT_OF_EI = _row("-0x1.f999621f6441dp-1 0x1.838e28865e6dcp-57")
# the logarithm of the root of Ci
LOG_ROOT_OF_CI = _row("-0x1.ef4bec215e792p-2 0x1.59e21561bbb93p-57")
# pi / 2
HALF_PI = _row("0x1.921fb54442d18p+0 0x1.1a62633145c07p-54")
# pi^2 / 6
DILOGARITHM_OF_1 = _row("0x1.a51a6625307d3p+0 0x1.1873d8912200cp-55")
# E1(x) + log(x), 0 <= x <= 1; 8.2e-11, 5.2e-17
E1_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.2788cfc28e5bcp-1 0x1.ffffff0ce2fe4p-1 -0x1.ffffc9c02d492p-3 "
        "0x1.c71723a72375cp-5 -0x1.550f14c6adb7cp-7 0x1.b0c0cef74a597p-10 "
        "-0x1.c0fc81edba575p-13 0x1.29f7146f65972p-16 "
    ),
    dt.f64: _row(
        "-0x1.2788cfc6fb619p-1 0x1p+0 -0x1.ffffffffffff3p-3 "
        "0x1.c71c71c71c327p-5 -0x1.555555554a4dap-7 0x1.b4e81b4c1e774p-10 "
        "-0x1.e573ac382ba01p-13 0x1.db8b66d021193p-16 -0x1.a0196380be2c1p-19 "
        "0x1.48bd91c310261p-22 -0x1.d8dc268fb7095p-26 0x1.355a95ec3ec46p-29 "
        "-0x1.5f2f6c43ba99p-33 0x1.0c463f796af61p-37 "
    ),
}
# x exp(x) E1(x) in v = (x - 9/4) / (x + 9/4), 1 <= x <= 5; 1.2e-11, 7.4e-17
E1_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.7bf1eb6e62724p-1 0x1.4b48f4974f2abp-2 -0x1.bf4677d2b5564p-4 "
        "0x1.16b781fa04e36p-4 -0x1.59099361a4d2dp-5 0x1.eccd859e25f61p-6 "
        "-0x1.683fb5d3b927fp-6 0x1.17cd46462eebdp-6 -0x1.bd65b9a86008ap-7 "
        "0x1.51295551df692p-7 -0x1.04690e602b1c6p-7 0x1.693002f1eb562p-7 "
        "-0x1.5fdb3004e920dp-7 "
    ),
    dt.f64: _row(
        "0x1.7bf1eb6e6d939p-1 0x1.4b48f49b907c7p-2 -0x1.bf46789241ff4p-4 "
        "0x1.16b775379f84dp-4 -0x1.59090bb634c56p-5 0x1.ecd8602ab35fbp-6 "
        "-0x1.6863ccac56b98p-6 0x1.16d24509629b4p-6 -0x1.b8dc7cffd7784p-7 "
        "0x1.66dbbf5a68431p-7 -0x1.290fba2c779b8p-7 0x1.f4bd2b9ecf4dcp-8 "
        "-0x1.a9d017a7c28e8p-8 0x1.6ea2d82270c1ep-8 -0x1.4dad08694befp-8 "
        "0x1.2ce6c3324c9b6p-8 -0x1.7568a003e8fb1p-9 0x1.1cbf03212f3b2p-9 "
        "-0x1.7eff8847dc1dp-8 0x1.7c3dce9649a2ap-8 "
    ),
}
# x exp(x) E1(x) in 1 / x - 1 / 10, x >= 5; 7.5e-11, 1.2e-17
E1_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.d4cde49f1a5c1p-1 -0x1.70783c7b227ecp-1 0x1.fe50ccad6dbdfp-1 "
        "-0x1.db907bd99307p+0 0x1.0c9acf35b349ap+2 -0x1.5c5259c38b8bcp+3 "
        "0x1.fa27c96016a4bp+4 -0x1.91dd2ed299d4dp+6 0x1.231a4d5869b7ep+8 "
        "-0x1.c819edba96605p+9 0x1.da2af6c646575p+12 -0x1.0c6c178a9c483p+15 "
    ),
    dt.f64: _row(
        "0x1.d4cde49faead6p-1 -0x1.70783c9d0e7dep-1 0x1.fe50bcb08f8bep-1 "
        "-0x1.db8fde2040c5ep+0 0x1.0ca3af209895bp+2 -0x1.5c8751f5c2f0dp+3 "
        "0x1.f698ad5015c0cp+4 -0x1.8a3c6c2b4ee5cp+6 0x1.4b65712d4d329p+8 "
        "-0x1.273db669968a9p+10 0x1.145cb55a4d8cap+12 -0x1.0e95f80f9edf6p+14 "
        "0x1.152f51f3b94b2p+16 -0x1.1bb2e068a7842p+18 0x1.100e273113685p+20 "
        "-0x1.96ca07d6e8057p+22 0x1.96732fe49020bp+25 0x1.ce1c0fcfda19ap+22 "
        "-0x1.221bff70615c3p+31 -0x1.9dd06019f405p+33 0x1.a8bea60b79333p+37 "
        "0x1.d3bf67e690e97p+38 -0x1.f7596c3fa7c11p+42 -0x1.daeeaf23fa5f6p+43 "
        "0x1.54981ca6b9884p+47 "
    ),
}
# (Ei(x) - log(x / root)) / (x - root) in x - 3, 0 <= x <= 6; 1.3e-10, 1.4e-16
EI_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.7e4e8d896fa62p+1 0x1.48d677b89a5f6p+0 0x1.86ccf19d67157p-2 "
        "0x1.6036abc6d2ce2p-4 0x1.002b24213aa55p-6 0x1.38e3539f936cdp-9 "
        "0x1.49c03cae83e26p-12 0x1.31e07e3839433p-15 0x1.fb23df337ac5cp-19 "
        "0x1.7b7667f0f28e3p-22 0x1.015201bd11302p-25 0x1.49597101bc33dp-29 "
        "0x1.b02fe4047448bp-33 0x1.a1b3f1a4b1f92p-37 "
    ),
    dt.f64: _row(
        "0x1.7e4e8d89143cfp+1 0x1.48d677bf4083ep+0 0x1.86ccf1c914437p-2 "
        "0x1.6036aa65f2591p-4 0x1.002b1e16003b4p-6 0x1.38e37bdac08bep-9 "
        "0x1.49c1698055ad3p-12 0x1.31dcbaf750fafp-15 0x1.faee6eb59d6b8p-19 "
        "0x1.7bc7be520f312p-22 0x1.03af3c7059f82p-25 0x1.46b055481b08p-29 "
        "0x1.7c91351a48a19p-33 0x1.9cd57a59e16d5p-37 0x1.a30fac707ebf4p-41 "
        "0x1.8fc60c48fbeebp-45 0x1.678110d00607fp-49 0x1.30bff4388aac7p-53 "
        "0x1.f08a19a1aa899p-58 0x1.a077af0be79cbp-62 0x1.198f105cdcb7bp-66 "
    ),
}
# x exp(-x) Ei(x) in 1 / x - 0.125, 6 <= x, x <= 12; 2.1e-11, 8.4e-17
EI_6: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.2e8d96f4e9c72p+0 0x1.177c82d6e60d2p+1 0x1.767065f0d20dep+2 "
        "-0x1.72dbcde1cb5bcp+5 -0x1.758bde76218b2p+8 0x1.736fef6e51f5ep+11 "
        "0x1.f6b6379acb096p+12 -0x1.9937b52d1b95dp+17 0x1.ec0642e9a01a6p+19 "
        "0x1.06b4cb6d36e0fp+22 -0x1.5bd23216d57a5p+26 0x1.a1b95e18157e4p+28 "
    ),
    dt.f64: _row(
        "0x1.2e8d96f4f4181p+0 0x1.177c82cab2a11p+1 0x1.76706443597edp+2 "
        "-0x1.72dba32e82694p+5 -0x1.758b33fe13215p+8 0x1.7365268ae7dedp+11 "
        "0x1.f65b0abed1d25p+12 -0x1.980b876c67e21p+17 0x1.ee4c5d8d5e9c8p+19 "
        "0x1.ce3adb0c5c7dfp+21 -0x1.5d8c960badf78p+26 0x1.340d98c0705f8p+29 "
        "-0x1.0267b49294907p+30 -0x1.8fcf137567ee4p+34 0x1.4a85ac64f8b6cp+38 "
        "-0x1.13f846ef1522dp+41 0x1.7c98a6d862d01p+42 0x1.dfdf75af1927p+45 "
        "-0x1.45e13779c99c9p+50 0x1.7355151c41d8ap+53 -0x1.a267d137655c4p+53 "
        "-0x1.7b15e1e62a319p+58 "
    ),
}
# x exp(-x) Ei(x) in 1 / x - 0.0625, 12 <= x, x <= 24; 3.8e-12, 2.3e-17
EI_12: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.1285334cc8ac4p+0 0x1.5ce01804f9befp+0 0x1.1e1c07eaf00efp+2 "
        "0x1.daef0f6f9f741p+4 0x1.a487f46b86ea7p+7 -0x1.55fd864a48f8cp+10 "
        "-0x1.ec5b9dbcc5c51p+15 -0x1.0e9cf9e64b6fep+17 0x1.9bc934418ca0ep+23 "
        "0x1.5adc3a0e2452ep+24 -0x1.27dcce3dd7761p+31 "
    ),
    dt.f64: _row(
        "0x1.1285334ccb79ep+0 0x1.5ce017fec2438p+0 0x1.1e1c06464bap+2 "
        "0x1.daef5c143cefap+4 0x1.a48cf8b5409d3p+7 -0x1.564007dea37a7p+10 "
        "-0x1.ed1027d7ecd01p+15 -0x1.02895b7f417f1p+17 0x1.a759d625f8562p+23 "
        "0x1.4d3c1c9e22eabp+22 -0x1.8023829ba9865p+31 0x1.4a48801a8e6e2p+34 "
        "0x1.ff86b11b35038p+38 -0x1.4983a5aa48b86p+43 0x1.5f10476a8eb74p+43 "
        "0x1.20cc3fe5beef4p+51 -0x1.291564f09aaeep+55 0x1.571a55e5f153dp+55 "
        "0x1.28be8e16d5352p+63 -0x1.3d9a091e02dccp+67 -0x1.00ae6257a6e0fp+69 "
        "0x1.ee4d7e00a1b5fp+74 "
    ),
}
# x exp(-x) Ei(x) in 1 / x - 0.03125, 24 <= x, x <= 48; 1.8e-12, 7.4e-17
EI_24: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.088dca958b445p+0 0x1.257103839d5ffp+0 0x1.60a09dc5bfef6p+1 "
        "0x1.5cd4852cbb534p+3 0x1.019ac2782f63bp+6 0x1.14e96a2fc3a7cp+9 "
        "0x1.cf95dced9657fp+12 0x1.da6742aaf2b12p+16 "
    ),
    dt.f64: _row(
        "0x1.088dca958d327p+0 0x1.2571038323867p+0 0x1.60a0994aff5cep+1 "
        "0x1.5cd49c0bfb7dap+3 0x1.01b4de23aa0e5p+6 0x1.14c4f6bc2a164p+9 "
        "0x1.b6af4176832bbp+12 0x1.e39568fbfecd4p+16 0x1.03eaec2355d04p+21 "
        "0x1.aafb1f9c84d5ep+19 -0x1.cb34d0c2a1489p+30 -0x1.d0ee4ec0ff5ccp+35 "
        "0x1.22c856ded148ep+38 0x1.d009a33b764ap+45 0x1.77a29ad32e4c4p+48 "
        "-0x1.7e72ec2630768p+55 -0x1.6844bdde2665p+58 0x1.d699c298415fap+64 "
    ),
}
# x exp(-x) Ei(x) in 1 / x - 0.010416666666666666, 48 <= x, infinity; 5.1e-11, 5.2e-17
EI_48: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.02b95a56a7fe9p+0 0x1.0b32476612319p+0 0x1.1a30d07179afep+1 "
        "0x1.c984d890de10dp+2 0x1.fde28368da03cp+4 0x1.6c1684d4c9e4ap+7 "
    ),
    dt.f64: _row(
        "0x1.02b95a567023ap+0 0x1.0b32475af5a8ap+0 0x1.1a31171c96869p+1 "
        "0x1.c98750d684b67p+2 0x1.fa949eb9c8d57p+4 0x1.676f1826196ecp+7 "
        "0x1.3a1c6106b54b6p+10 0x1.4917037c2fe4fp+13 0x1.956f2b4a0fe1dp+16 "
        "0x1.206a4a3836f45p+20 0x1.d5df0a4b14f67p+23 0x1.f13452342a77ep+27 "
        "0x1.15ae5359d9c3cp+32 "
    ),
}
# Si(x) / x in s = x^2, 0 <= x <= 4; 1.8e-11, 7.0e-17
SI_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.ffffffffd847ap-1 -0x1.c71c71b3433dap-5 0x1.b4e818086cf4dp-10 "
        "-0x1.db8b0625e5da9p-16 0x1.48bf03231ef9cp-22 -0x1.38928dbdc704dp-29 "
        "0x1.aa2b1ac68beb1p-37 -0x1.74de7cba415edp-45 "
    ),
    dt.f64: _row(
        "0x1p+0 -0x1.c71c71c71c71cp-5 0x1.b4e81b4e81b4fp-10 "
        "-0x1.db8b6f9266dd5p-16 0x1.48c5892f7cd7fp-22 -0x1.390327a26bca5p-29 "
        "0x1.b2a2edd1db3b3p-37 -0x1.cb3264bde4c7fp-45 0x1.7d57066659b8bp-53 "
        "-0x1.fecceecde7b8fp-62 0x1.19b09f51392d5p-70 -0x1.04288cc492bdep-79 "
        "0x1.95760671b4a0ep-89 -0x1.e57e6e75e0572p-99 "
    ),
}
# (Ci(x) - log(x / root)) / (x^2 - root^2) in s = x^2, 0 <= x <= 4; 5.4e-12, 6.0e-17
CI_NEAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.f7f5b478d6127p-3 0x1.527709876ce85p-7 -0x1.e2fd31967a641p-13 "
        "0x1.9eb2c8be5a1f7p-19 -0x1.d845ef56d83p-26 0x1.7d7c7258114cdp-33 "
        "-0x1.c51ce65243789p-41 0x1.639288c99276cp-49 "
    ),
    dt.f64: _row(
        "-0x1.f7f5b478e1cap-3 0x1.5277098cda121p-7 -0x1.e2fd3345666d1p-13 "
        "0x1.9eb2fc6138cc3p-19 -0x1.d84c13cf52e33p-26 0x1.7de302b256a1ep-33 "
        "-0x1.cc9bbf5eb3e0ap-41 0x1.ae05ad0a5a03cp-49 -0x1.3fd9699887a69p-57 "
        "0x1.83eb13dfe4b4cp-66 -0x1.86dc631218a8cp-75 0x1.4c4326d8fe01bp-84 "
        "-0x1.dffa4612bbc64p-94 0x1.0d272763dd40fp-103 "
    ),
}
# Si(x) in x - 6, 4 <= x <= 8; 2.0e-10, 9.5e-17
SI_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.6cb852c89d16dp+0 -0x1.7d7ecba982b43p-5 0x1.57a23d40c9392p-4 "
        "-0x1.98f9da0b0cfb4p-10 -0x1.a833f5fda0a17p-8 0x1.f20989d729b2fp-12 "
        "0x1.47bfa737a52bbp-13 -0x1.b718f16dd65edp-17 -0x1.13cd315d3a633p-19 "
        "0x1.7a884bb7b9e04p-23 0x1.18b4e933d9c53p-26 -0x1.7a508d1cdf74ep-30 "
    ),
    dt.f64: _row(
        "0x1.6cb852c7c4a22p+0 -0x1.7d7ecb8eb83adp-5 0x1.57a23e359e75cp-4 "
        "-0x1.98f9ee841e5adp-10 -0x1.a83422d9a76d7p-8 0x1.f20a1be2c14b9p-12 "
        "0x1.47c5ab10eb862p-13 -0x1.b72720f79488ap-17 -0x1.148831f1d7a6p-19 "
        "0x1.7be4419ac048p-23 0x1.2dc10f016e5a6p-26 -0x1.9ad634594408fp-30 "
        "-0x1.d10d90355723bp-34 0x1.353f724c26ec8p-37 0x1.0b419378807e3p-41 "
        "-0x1.58bd4d7963102p-45 -0x1.c6d320028bc04p-50 0x1.1aa0db25e5f38p-53 "
    ),
}
# Ci(x) in x - 6, 4 <= x <= 8; 3.1e-11, 2.7e-17
CI_MIDDLE: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.16c3314cf8482p-4 0x1.47bcf5b38b2edp-3 0x1.4601a5299792bp-7 "
        "-0x1.c71879fa56627p-6 0x1.9187dda1f2185p-10 0x1.280c95ec49df8p-10 "
        "-0x1.829990e37e687p-14 -0x1.37bfd18a50583p-16 0x1.a155741bc304dp-20 "
        "0x1.c23255202a0e2p-23 -0x1.3f7414c9889e3p-26 -0x1.0d90c42a6b224p-30 "
        "0x1.e441a276142fdp-35 "
    ),
    dt.f64: _row(
        "-0x1.16c3314c7032cp-4 0x1.47bcf5ba56ca4p-3 0x1.4601a4cfa7679p-7 "
        "-0x1.c7187b75c4229p-6 0x1.9187e78292ae6p-10 0x1.280cc51bc0dfep-10 "
        "-0x1.829a63d8326c1p-14 -0x1.37c9d8625b5a5p-16 0x1.a1773d8764e0cp-20 "
        "0x1.c44187c2952f6p-23 -0x1.423bdda6ab19bp-26 -0x1.40d38ab177a3ap-30 "
        "0x1.64a8a7cccea98p-34 0x1.d147c89a9b949p-37 -0x1.a9bda44181e7ap-40 "
        "0x1.fa3cd25bfdaacp-44 -0x1.63bfffd756dd9p-46 0x1.09b62556ce179p-48 "
        "-0x1.4ed7f26f134b1p-51 0x1.2f948be2d690dp-54 -0x1.6359a2c9ca8dep-57 "
        "0x1.26993908f8c6ep-58 -0x1.8ca8a10924a9ap-61 "
    ),
}
# x f(x) in 1 / x^2 - 5/512, 8 <= x <= 16, f as in DLMF 6.2.17; 1.2e-11, 1.9e-17
SI_F: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.f6efd2815d0f1p-1 -0x1.a8b1e35a855e7p+0 0x1.a588f6e2fe0fdp+3 "
        "-0x1.91ce92f68f1c5p+7 0x1.1577c4f6f8861p+12 -0x1.e44a17e352a81p+16 "
        "0x1.f31049be8f79bp+21 -0x1.5ab4583c63863p+27 0x1.df6262133acdfp+32 "
    ),
    dt.f64: _row(
        "0x1.f6efd28155737p-1 -0x1.a8b1e3a5e5619p+0 0x1.a588ff791ff75p+3 "
        "-0x1.91cb2073983afp+7 0x1.156af3ad200ccp+12 -0x1.e6fcde7e31c0bp+16 "
        "0x1.f9dc1371129e2p+21 -0x1.29bbaf07209b6p+27 0x1.8218dff9e9ccep+32 "
        "-0x1.0e77243b78405p+38 0x1.92fc8c43ef9b7p+43 -0x1.3c61b4867cd32p+49 "
        "0x1.0c287c4975135p+55 -0x1.d4778d185b02dp+60 0x1.2f7a6343f32f2p+66 "
        "-0x1.d81224d847d8fp+71 0x1.41336e8d8cb1p+79 -0x1.55abf45c19304p+85 "
    ),
}
# the same in 1 / x^2, x >= 16; 1.7e-10, 7.5e-18
SI_F_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.fffffffe8e497p-1 -0x1.ffffc8a0e0e9p+0 0x1.7fd467d8dafdap+4 "
        "-0x1.618c791343e34p+9 0x1.001b25f2ac323p+15 -0x1.2d69cb0fcb1c5p+20 "
    ),
    dt.f64: _row(
        "0x1p+0 -0x1.ffffffffff59ap+0 0x1.7ffffffc00966p+4 "
        "-0x1.67fffbabe3d07p+9 0x1.3afecdce9edb5p+15 -0x1.bac5093b109efp+21 "
        "0x1.c5ff973d6da6dp+28 -0x1.36aedf671fec4p+36 0x1.f7928196c6673p+43 "
        "-0x1.a0fc52123e384p+51 0x1.335213d7d7d16p+59 -0x1.685e92c52b4bap+66 "
        "0x1.2f14866a315e9p+73 -0x1.3ed4973a0539cp+79 0x1.3804c1572e4e7p+84 "
    ),
}
# x^2 g(x) in 1 / x^2 - 5/512, 8 <= x <= 16, g as in DLMF 6.2.18; 1.9e-11, 3.1e-17
SI_G: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.e658df9d01663p-1 -0x1.1d96b6d1b750bp+2 0x1.b0bf966838dfbp+5 "
        "-0x1.08e000032456dp+10 0x1.b20d211711444p+14 -0x1.b0d1e7f322571p+19 "
        "0x1.e958c5b37c855p+24 -0x1.339f4141ffe7cp+30 0x1.120003a187bb9p+36 "
        "-0x1.b6c5730a38035p+41 "
    ),
    dt.f64: _row(
        "0x1.e658df9cda7dap-1 -0x1.1d96b6c6f575bp+2 0x1.b0bfa3bc4b73fp+5 "
        "-0x1.08e05040eddfep+10 0x1.b1f5dd7254a2ap+14 -0x1.b07c824d2b91p+19 "
        "0x1.f060465bfef53p+24 -0x1.3cf2dc47c4bd6p+30 0x1.b8204944b0464p+35 "
        "-0x1.470468ed56dd5p+41 0x1.00f5ed9502696p+47 -0x1.a581071d04edbp+52 "
        "0x1.67c546a825ea2p+58 -0x1.51632fc84cd54p+64 0x1.3f5fc8377fcf8p+70 "
        "-0x1.6be141a522a9fp+75 0x1.0c1d313f3ba6cp+81 -0x1.14ad5c6d34189p+89 "
        "0x1.361b902f3c08fp+95 "
    ),
}
# the same in 1 / x^2, x >= 16; 1.9e-10, 3.4e-17
SI_G_FAR: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.fffffffe63f14p-1 -0x1.7fffeab0c871p+2 0x1.dfe8c213b49fbp+6 "
        "-0x1.38916f179a103p+12 0x1.41c4ed3822724p+18 -0x1.66c27842a4371p+24 "
        "0x1.e9e3724762e1p+29 "
    ),
    dt.f64: _row(
        "0x1p+0 -0x1.7fffffffff26bp+2 0x1.dffffffa08d5fp+6 "
        "-0x1.3afffc4e3286ap+12 0x1.625ed44a71ecdp+18 -0x1.306dcc2a48d23p+25 "
        "0x1.715410579a499p+32 -0x1.25d2e367bed26p+40 0x1.150e3b9404972p+48 "
        "-0x1.1006e7e2f73a9p+56 0x1.eb03a38bcec29p+63 -0x1.70d135f34fc7dp+71 "
        "0x1.a9224442aca79p+78 -0x1.595c8bae973cap+85 0x1.5c42f24b0b24cp+91 "
        "-0x1.45e18ca9a52d3p+96 "
    ),
}
# c_0(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 1.6e-11, 2.1e-17
UNIFORM_0: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.5555555540a1p-2 0x1.5555554074421p-4 -0x1.e573ae9a64df4p-7 "
        "0x1.2f698a602de18p-10 0x1.71e78d9b25833p-12 -0x1.777a0079ff16p-13 "
        "0x1.4504496fca7b4p-15 -0x1.bd80a7f9b9043p-21 "
    ),
    dt.f64: _row(
        "-0x1.5555555555555p-2 0x1.5555555555555p-4 -0x1.e573ac901e573p-7 "
        "0x1.2f684bda12fabp-10 0x1.71de3a556bdc6p-12 -0x1.76e06fec7c85fp-13 "
        "0x1.48c5893048b0bp-15 -0x1.2553700cd8395p-19 -0x1.f1b2314dfddf7p-20 "
        "0x1.bd6d086092f1ep-21 -0x1.7b5f0bc2a4dbfp-23 0x1.cd77260dbaa69p-28 "
        "0x1.607d07bc9d466p-27 -0x1.2fcf9b7fa0e3dp-28 0x1.f166e21c9cf89p-31 "
        "0x1.131e6c6ca5454p-34 "
    ),
}
# c_1(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 3.6e-10, 8.6e-19
UNIFORM_1: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.e573a87460c3fp-10 -0x1.c71c4c4eb333fp-9 0x1.5abf4bed3997ep-9 "
        "-0x1.03a1fbb1f771bp-10 0x1.b0bc3df33f9d6p-13 0x1.edb065fa7bdd9p-20 "
        "-0x1.5f7fa2ec7ad64p-16 "
    ),
    dt.f64: _row(
        "-0x1.e573ac901e572p-10 -0x1.c71c71c71c6e2p-9 0x1.5ac056b0158ecp-9 "
        "-0x1.0394f6f0a3af7p-10 0x1.af83440efdcdcp-13 -0x1.af83318e72d98p-22 "
        "-0x1.2fa4af2ae0c7fp-16 0x1.00a9bc3a0f591p-17 -0x1.b0bd8a74637ap-20 "
        "0x1.450b81022b794p-28 0x1.2807f2d32d116p-23 -0x1.f29282fb4ea8bp-25 "
        "0x1.933ab061655f9p-27 0x1.66b8bb0b68654p-30 "
    ),
}
# c_2(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 5.9e-11, 1.9e-17
UNIFORM_2: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.0ee64392cad8cp-8 -0x1.5f726ec9b37b3p-9 0x1.948b90f70c5f1p-11 "
        "0x1.1089bfb79a9c8p-19 -0x1.c2a05de0c779bp-14 0x1.bad94fcd1d4e6p-15 "
        "-0x1.9b7c5b1113914p-17 "
    ),
    dt.f64: _row(
        "0x1.0ee643b990ed2p-8 -0x1.5f7268edab34bp-9 0x1.948b0fcd829aap-11 "
        "0x1.0db20a4f080edp-19 -0x1.c253efde0f654p-14 0x1.bbf43e2e6dbfbp-15 "
        "-0x1.ac2cd348b77dp-17 0x1.260635bd116e2p-25 0x1.704229375ada6p-20 "
        "-0x1.523b65fbcc2bdp-21 0x1.37654ac49cee5p-23 0x1.9e4b5282afd25p-30 "
        "-0x1.569d5b9285a8cp-26 "
    ),
}
# c_3(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 2.2e-09, 2.1e-16
UNIFORM_3: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.547dbbc72b347p-11 0x1.e12e1295273d7p-13 -0x1.ec1d445b46c38p-12 "
        "0x1.19af1b8a11c92p-12 -0x1.338b7deb0d17fp-14 -0x1.bd13519dd1d69p-18 "
    ),
    dt.f64: _row(
        "0x1.547d93b34e268p-11 0x1.e13ce465c38edp-13 -0x1.ebfb188b7127p-12 "
        "0x1.18b9b5ce7c62fp-12 -0x1.3d2a3a1b59f57p-14 -0x1.015c431c36db6p-22 "
        "0x1.73df12474c4dbp-17 -0x1.7cccf0abf07a7p-18 0x1.7e2b7e56ad3fdp-20 "
        "-0x1.2872b305db959p-28 -0x1.789f96abfccf9p-23 0x1.8d9a4c3781c4dp-24 "
    ),
}
# c_4(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 3.3e-08, 5.9e-14
UNIFORM_4: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.c3dd880b1373dp-11 0x1.9b35d00f0497ap-11 -0x1.3b6563963efdfp-12 "
        "-0x1.21ae3b108af1p-17 0x1.5646bc165bf98p-14 "
    ),
    dt.f64: _row(
        "-0x1.c3e0b02dc69cfp-11 0x1.9b0ff6939fac1p-11 -0x1.3999a80ce0b34p-12 "
        "-0x1.88fc103b4547cp-20 0x1.169040dab39cfp-14 -0x1.4cdc4628959b9p-15 "
        "0x1.7dec0e12a49ffp-17 -0x1.2c053cf36d06fp-25 -0x1.d86df8058b8acp-20 "
        "0x1.0e197ee8e41e8p-20 "
    ),
}
# c_5(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 9.6e-09, 5.1e-13
UNIFORM_5: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "-0x1.612aa1c2664dep-12 -0x1.24bbd706286ep-14 0x1.232d416bef155p-12 "
        "-0x1.a049a76860804p-13 0x1.0a8ce7f58ceb3p-14 "
    ),
    dt.f64: _row(
        "-0x1.6128ac518b539p-12 -0x1.2476054d732bep-14 0x1.22be7ef8b3e87p-12 "
        "-0x1.a204104677558p-13 0x1.1d238c8f4d85dp-14 0x1.29db34ad14068p-23 "
        "-0x1.ca25194eb6573p-17 0x1.0d70e7ec6fd34p-17 -0x1.0d0930c728869p-19 "
    ),
}
# c_6(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 7.0e-07, 3.3e-11
UNIFORM_6: dict[DType, tuple[float, ...]] = {
    dt.f32: _row(
        "0x1.16b2e40fd63f4p-11 -0x1.396e7e1cb88f4p-11 0x1.10255418b6d07p-12 0x1.0b739386ae34p-14 "
    ),
    dt.f64: _row(
        "0x1.168ef1661692dp-11 -0x1.36772679d7858p-11 0x1.1c09c5b438688p-12 "
        "0x1.93d522ba446d8p-21 -0x1.564487a9c3bbp-14 0x1.dbb1f99fad29bp-15 "
        "-0x1.2592f5f96c7b5p-16 -0x1.7eff8b668e8fcp-19 "
    ),
}
# c_7(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 5.4e-06, 6.0e-09
UNIFORM_7: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("0x1.6c10dc6758d29p-12 0x1.65a15d27c970fp-14 -0x1.ab0e5027f6164p-12 "),
    dt.f64: _row(
        "0x1.691943ab0968bp-12 0x1.b133dced620bfp-15 -0x1.5f896054d58a1p-12 "
        "0x1.2995d42b5b63bp-12 -0x1.b434732ad6d0ep-14 -0x1.3029febda97fp-16 "
    ),
}
# c_8(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 1.7e-06, 1.1e-07
UNIFORM_8: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("-0x1.570b3d8aa4e3dp-11 0x1.b70ea0e730d7p-11 -0x1.98f56f26b68p-12 "),
    dt.f64: _row(
        "-0x1.561f29ebbee24p-11 0x1.b89d097f2db8ap-11 -0x1.d1987518022d1p-12 "
        "-0x1.8e5ad9e412f2bp-16 0x1.c963aa8590c9p-13 "
    ),
}
# c_9(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4; 7.3e-05, 2.0e-06
UNIFORM_9: dict[DType, tuple[float, ...]] = {
    dt.f32: _row("-0x1.19b33903f4c9ap-11 -0x1.1f7287fe1625ap-12 "),
    dt.f64: _row(
        "-0x1.394a2e7685449p-11 -0x1.dc3e7b3fca356p-15 0x1.74f2867c7eaap-11 -0x1.9adaa5a336cf2p-11 "
    ),
}
