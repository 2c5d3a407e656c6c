/* SPDX-License-Identifier: MIT */
/*
 * The release, in one place: Semantic Versioning 2.0.0, of 0.x still. All programs and libraries of one build say it; install.sh,
 * debian/changelog and CHANGELOG.md are held to it by tests/system/version.sh.
 */
#ifndef VGPU_VERSION_H
#define VGPU_VERSION_H

#define VGPU_VERSION "0.1.0"

#endif
