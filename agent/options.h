/* SPDX-License-Identifier: MIT */
/* Command line; no configuration file. */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H

#include "agent.h"

/* 0: go on. 1: --help or --version was answered, exit 0. -1: wrong, said why, exit 2. */
int options_parse(struct options *o, int argc, char **argv);
void options_default(struct options *o);

#endif
