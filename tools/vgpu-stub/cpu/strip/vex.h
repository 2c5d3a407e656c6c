/* SPDX-License-Identifier: MIT */
/* Opcodes of AVX, AVX2, FMA3 and F16C, packed as VOP() in jit_asm.h. W is 0 where it does not matter. */
#ifndef VGPU_STRIP_VEX_H
#define VGPU_STRIP_VEX_H

enum xop {
	X_MOVU = VOP(2, 1, 0, 0x6f), X_MOVU_ST = VOP(2, 1, 0, 0x7f),
	X_MOVD = VOP(1, 1, 0, 0x6e), X_MOVQ = VOP(1, 1, 1, 0x6e), X_MOVD_ST = VOP(1, 1, 0, 0x7e), X_MOVQ_ST = VOP(1, 1, 1, 0x7e),
	X_PADDD = VOP(1, 1, 0, 0xfe), X_PADDQ = VOP(1, 1, 0, 0xd4), X_PSUBD = VOP(1, 1, 0, 0xfa), X_PSUBQ = VOP(1, 1, 0, 0xfb),
	X_PMULLD = VOP(1, 2, 0, 0x40), X_PMULUDQ = VOP(1, 1, 0, 0xf4), X_PMULDQ = VOP(1, 2, 0, 0x28),
	X_PMADDWD = VOP(1, 1, 0, 0xf5), X_PMADDUBSW = VOP(1, 2, 0, 0x04),
	X_PAND = VOP(1, 1, 0, 0xdb), X_PANDN = VOP(1, 1, 0, 0xdf), X_POR = VOP(1, 1, 0, 0xeb), X_PXOR = VOP(1, 1, 0, 0xef),
	X_SHID = VOP(1, 1, 0, 0x72), X_SHIQ = VOP(1, 1, 0, 0x73), X_SHIW = VOP(1, 1, 0, 0x71),
	X_PSLLVD = VOP(1, 2, 0, 0x47), X_PSRLVD = VOP(1, 2, 0, 0x45), X_PSRAVD = VOP(1, 2, 0, 0x46),
	X_PSLLVQ = VOP(1, 2, 1, 0x47), X_PSRLVQ = VOP(1, 2, 1, 0x45),
	X_PMINSD = VOP(1, 2, 0, 0x39), X_PMINUD = VOP(1, 2, 0, 0x3b), X_PMAXSD = VOP(1, 2, 0, 0x3d), X_PMAXUD = VOP(1, 2, 0, 0x3f),
	X_PABSD = VOP(1, 2, 0, 0x1e), X_PSIGND = VOP(1, 2, 0, 0x0a),
	X_PCMPEQD = VOP(1, 1, 0, 0x76), X_PCMPEQW = VOP(1, 1, 0, 0x75), X_PCMPGTD = VOP(1, 1, 0, 0x66), X_PCMPGTB = VOP(1, 1, 0, 0x64), X_PCMPEQQ = VOP(1, 2, 0, 0x29), X_PCMPGTQ = VOP(1, 2, 0, 0x37),
	X_CMPPS = VOP(0, 1, 0, 0xc2), X_CMPPD = VOP(1, 1, 0, 0xc2),
	X_ADDPS = VOP(0, 1, 0, 0x58), X_MULPS = VOP(0, 1, 0, 0x59), X_SUBPS = VOP(0, 1, 0, 0x5c), X_DIVPS = VOP(0, 1, 0, 0x5e),
	X_SQRTPS = VOP(0, 1, 0, 0x51), X_MINPS = VOP(0, 1, 0, 0x5d), X_MAXPS = VOP(0, 1, 0, 0x5f),
	X_ADDPD = VOP(1, 1, 0, 0x58), X_MULPD = VOP(1, 1, 0, 0x59), X_SUBPD = VOP(1, 1, 0, 0x5c), X_DIVPD = VOP(1, 1, 0, 0x5e),
	X_SQRTPD = VOP(1, 1, 0, 0x51), X_MINPD = VOP(1, 1, 0, 0x5d), X_MAXPD = VOP(1, 1, 0, 0x5f),
	X_FMA231PS = VOP(1, 2, 0, 0xb8), X_FMA213PS = VOP(1, 2, 0, 0xa8), X_FMA231PD = VOP(1, 2, 1, 0xb8), X_FMA213PD = VOP(1, 2, 1, 0xa8),
	X_CVTDQ2PS = VOP(0, 1, 0, 0x5b), X_CVTTPS2DQ = VOP(2, 1, 0, 0x5b), X_CVTPS2DQ = VOP(1, 1, 0, 0x5b),
	X_CVTDQ2PD = VOP(2, 1, 0, 0xe6), X_CVTTPD2DQ = VOP(1, 1, 0, 0xe6), X_CVTPS2PD = VOP(0, 1, 0, 0x5a), X_CVTPD2PS = VOP(1, 1, 0, 0x5a),
	X_CVTPH2PS = VOP(1, 2, 0, 0x13), X_CVTPS2PH = VOP(1, 3, 0, 0x1d), X_ROUNDPS = VOP(1, 3, 0, 0x08), X_ROUNDPD = VOP(1, 3, 0, 0x09),
	X_MOVMSKPS = VOP(0, 1, 0, 0x50), X_MOVMSKPD = VOP(1, 1, 0, 0x50), X_PTEST = VOP(1, 2, 0, 0x17), X_TESTPS = VOP(1, 2, 0, 0x0e),
	X_BLENDVPS = VOP(1, 3, 0, 0x4a), X_BLENDVPD = VOP(1, 3, 0, 0x4b), X_PBLENDVB = VOP(1, 3, 0, 0x4c), X_PBLENDD = VOP(1, 3, 0, 0x02), X_PBLENDW = VOP(1, 3, 0, 0x0e),
	X_PBCASTD = VOP(1, 2, 0, 0x58), X_PBCASTQ = VOP(1, 2, 0, 0x59), X_PBCASTB = VOP(1, 2, 0, 0x78), X_PBCASTW = VOP(1, 2, 0, 0x79),
	X_BCAST128 = VOP(1, 2, 0, 0x5a),
	X_PMOVSXDQ = VOP(1, 2, 0, 0x25), X_PMOVZXDQ = VOP(1, 2, 0, 0x35), X_PMOVZXWD = VOP(1, 2, 0, 0x33), X_PMOVSXWD = VOP(1, 2, 0, 0x23),
	X_PMOVZXBD = VOP(1, 2, 0, 0x31), X_PMOVSXBD = VOP(1, 2, 0, 0x21),
	X_PMOVZXBQ = VOP(1, 2, 0, 0x32), X_PMOVSXBQ = VOP(1, 2, 0, 0x22), X_PMOVZXWQ = VOP(1, 2, 0, 0x34), X_PMOVSXWQ = VOP(1, 2, 0, 0x24),
	X_EXTRACT = VOP(1, 3, 0, 0x39), X_INSERT = VOP(1, 3, 0, 0x38), X_PERMQ = VOP(1, 3, 1, 0x00), X_PERM128 = VOP(1, 3, 0, 0x46),
	X_SHUFPS = VOP(0, 1, 0, 0xc6), X_PSHUFD = VOP(1, 1, 0, 0x70), X_PSHUFB = VOP(1, 2, 0, 0x00),
	X_PUNPCKLDQ = VOP(1, 1, 0, 0x62), X_PUNPCKHDQ = VOP(1, 1, 0, 0x6a), X_PUNPCKLQDQ = VOP(1, 1, 0, 0x6c),
	X_PUNPCKHQDQ = VOP(1, 1, 0, 0x6d), X_PACKUSDW = VOP(1, 2, 0, 0x2b), X_PACKUSWB = VOP(1, 1, 0, 0x67),
	X_PERMD = VOP(1, 2, 0, 0x36),
	X_MASKMOVD_ST = VOP(1, 2, 0, 0x8e), X_MASKMOVQ_ST = VOP(1, 2, 1, 0x8e),
	X_GATHERDD = VOP(1, 2, 0, 0x90), X_GATHERQD = VOP(1, 2, 0, 0x91), X_GATHERDQ = VOP(1, 2, 1, 0x90), X_GATHERQQ = VOP(1, 2, 1, 0x91),
	X_MOVQ_LD = VOP(2, 1, 0, 0x7e), X_MOVHPS = VOP(0, 1, 0, 0x16), X_PINSRB = VOP(1, 3, 0, 0x20), X_PINSRW = VOP(1, 1, 0, 0xc4),
	X_PINSRD = VOP(1, 3, 0, 0x22), X_PINSRQ = VOP(1, 3, 1, 0x22), X_PEXTRQ = VOP(1, 3, 1, 0x16), X_PADDB = VOP(1, 1, 0, 0xfc),
	X_PSADBW = VOP(1, 1, 0, 0xf6), X_PABSB = VOP(1, 2, 0, 0x1c), X_PSIGNB = VOP(1, 2, 0, 0x08), X_PMINSB = VOP(1, 2, 0, 0x38), X_PCMPEQB = VOP(1, 1, 0, 0x74),
};

/* the immediate of a shift's /r: 2 right, 4 right with the sign, 6 left */
enum { SH_RIGHT = 2, SH_SAR = 4, SH_LEFT = 6 };

#endif
