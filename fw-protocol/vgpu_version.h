/* SPDX-License-Identifier: MIT */
/*
 * The release, in one place: Semantic Versioning 2.0.0, of 0.x still. All programs and libraries of one build say it; install.sh,
 * debian/changelog and CHANGELOG.md are held to it by tests/system/version.sh.
 *
 * And the protocols: the number of both contracts' layouts together, the newest that this release speaks and the oldest. Two that meet
 * speak the older one's newest, where the newer one still speaks that. Only the newer one can know whether it does, so it decides;
 * otherwise it says which of the two is older. tests/abi/test_wire.sh sees to it that a released number's layouts stay.
 */
#ifndef VGPU_VERSION_H
#define VGPU_VERSION_H

#define VGPU_VERSION "0.1.0"

#ifndef VGPU_PROTOCOL_VERSION           /* tests build others */
#define VGPU_PROTOCOL_VERSION 2
#define VGPU_PROTOCOL_OLDEST 2
#endif
#define VGPU_PROTOCOL_SPEAKS(v) ((v) >= VGPU_PROTOCOL_OLDEST && (v) <= VGPU_PROTOCOL_VERSION)

#define VGPU_TEXT_(x) #x
#define VGPU_TEXT(x) VGPU_TEXT_(x)
#if VGPU_PROTOCOL_OLDEST == VGPU_PROTOCOL_VERSION
#define VGPU_PROTOCOLS "protocol " VGPU_TEXT(VGPU_PROTOCOL_VERSION)
#else
#define VGPU_PROTOCOLS "protocols " VGPU_TEXT(VGPU_PROTOCOL_OLDEST) " to " VGPU_TEXT(VGPU_PROTOCOL_VERSION)
#endif

#endif
