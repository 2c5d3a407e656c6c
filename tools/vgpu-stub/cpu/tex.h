/* SPDX-License-Identifier: MIT */
/* Textures and surfaces: between lower_tex.c and tex.c. */
#ifndef VGPU_TEX_H
#define VGPU_TEX_H

enum { GEOM_1D = 1, GEOM_2D, GEOM_3D, GEOM_A1D, GEOM_A2D, GEOM_CUBE, GEOM_ACUBE };
enum { LEVEL_LOD = 1, LEVEL_GRAD, LEVEL_BASE };
enum { SURF_B = 1, SURF_P };
enum { EDGE_TRAP = 1, EDGE_CLAMP, EDGE_ZERO };
enum { TLD_R = 1, TLD_G, TLD_B, TLD_A };
enum { TXQ_WIDTH = 1, TXQ_HEIGHT, TXQ_DEPTH, TXQ_LAYERS, TXQ_LEVELS };

#endif
